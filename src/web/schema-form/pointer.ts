/** A place in a JSON document by its steps. */
export type Path = readonly (string | number)[];

/** RFC 6901. */
export function pointerOf(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function valueAt(document: unknown, path: Path): unknown {
  let value = document;
  for (const step of path) {
    if (Array.isArray(value)) value = value[Number(step)];
    else if (isObject(value) && Object.hasOwn(value, step)) value = value[step];
    else return undefined;
  }
  return value;
}

/**
 * The document with another value at a place; `undefined` takes it away, with the objects that it leaves empty. An item that
 * is taken out of a list moves those behind it up.
 */
export function withValueAt(document: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list: readonly unknown[] = Array.isArray(document) ? document : [];
    const item = withValueAt(list[step], rest, value);
    return item === undefined ? list.toSpliced(step, 1) : list.toSpliced(step, 1, item);
  }
  const object = isObject(document) ? document : {};
  const member = withValueAt(Object.hasOwn(object, step) ? object[step] : undefined, rest, value);
  if (member !== undefined) return { ...object, [step]: member };
  const { [step]: _gone, ...others } = object;
  return Object.keys(others).length === 0 ? undefined : others;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
