/** Of one fault. A request may have many faults, and each names what would be taken in its place. */
const MAX_CHARACTERS = 1000;

export interface ListedValues {
  /** `a, b, c`, or `a, b and 7 more`. */
  readonly text: string;
  /** Those that the text names in full. */
  readonly values: readonly unknown[];
}

/** As many values as can be told in one fault, from the first on. */
export function listedValues(all: readonly unknown[]): ListedValues {
  const values: unknown[] = [];
  let length = 0;
  for (const value of all) {
    length += String(value).length + 2;
    if (length > MAX_CHARACTERS) break;
    values.push(value);
  }
  const more = all.length - values.length;
  if (more === 0) return { text: values.join(', '), values };
  const [first] = all;
  const text = values.length === 0 ? `${String(first).slice(0, MAX_CHARACTERS)}…` : values.join(', ');
  const others = values.length === 0 ? more - 1 : more;
  return { text: others === 0 ? text : `${text} and ${others} more`, values };
}
