/**
 * The three functions of the Reflect metadata proposal that `@peculiar/x509` looks for through tsyringe when it is imported,
 * and nothing more: neither uses decorators at run time. Import this module before it.
 */
const known = new WeakMap<object, Map<unknown, unknown>>();

const functions = {
  defineMetadata(key: unknown, value: unknown, target: object): void {
    const entries = known.get(target) ?? new Map<unknown, unknown>();
    known.set(target, entries.set(key, value));
  },
  getOwnMetadata: (key: unknown, target: object): unknown => known.get(target)?.get(key),
  getMetadata(key: unknown, target: object): unknown {
    for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at) as object | null) {
      const value = functions.getOwnMetadata(key, at);
      if (value !== undefined) return value;
    }
    return undefined;
  },
};

for (const [name, value] of Object.entries(functions)) {
  // A program that brings the whole proposal keeps it.
  if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value, configurable: true, writable: true });
}
