/**
 * Sets an own, enumerable member whatever its name: plain assignment to `__proto__` would replace the object's prototype
 * instead. Use it wherever a member's name comes from outside.
 */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[name] = value;
  }
}
