import type { Fault } from '../protocol/app-error.ts';

/** Deepest nesting of `run.parameters`. */
const MAX_DEPTH = 16;

/** A place of a skeleton that a parameter stands for. */
export interface Marker {
  /** JSON pointer from the skeleton's root. */
  readonly path: string;
  readonly parameter: string;
  /** The place is left out where the parameter is. */
  readonly isOptional: boolean;
}

/** Every `{$value: name}` and `{$optional: name}` of a skeleton, and what looks like one and is none. */
export function markersIn(skeleton: Readonly<Record<string, unknown>>): {
  readonly markers: readonly Marker[];
  readonly faults: readonly Fault[];
} {
  const markers: Marker[] = [];
  const faults: Fault[] = [];
  const visit = (node: unknown, path: string, isMember: boolean, depth: number): void => {
    if (typeof node !== 'object' || node === null) return;
    if (depth > MAX_DEPTH) {
      faults.push({ path, message: `is nested deeper than ${MAX_DEPTH} levels` });
      return;
    }
    if (Array.isArray(node)) {
      node.forEach((item, index) => visit(item, `${path}/${index}`, false, depth + 1));
      return;
    }
    const entries = Object.entries(node as Record<string, unknown>);
    const marks = entries.filter(([name]) => name === '$value' || name === '$optional');
    const [mark] = marks;
    if (mark === undefined) {
      for (const [name, member] of entries) visit(member, `${path}/${escape(name)}`, true, depth + 1);
      return;
    }
    const [name, parameter] = mark;
    const message = entries.length > 1 ? 'stands alone in its mapping' : badMark(name, parameter, path, isMember);
    if (message !== undefined) faults.push({ path: `${path}/${name}`, message });
    else markers.push({ path, parameter: String(parameter), isOptional: name === '$optional' });
  };
  visit(skeleton, '', false, 1);
  return { markers, faults };
}

function badMark(name: string, parameter: unknown, path: string, isMember: boolean): string | undefined {
  if (typeof parameter !== 'string') return 'must be the name of a parameter';
  if (path === '') return 'stands for one parameter of what is run; name which';
  if (name === '$optional' && !isMember) return 'leaves out a member of a mapping; an item of a list takes $value';
  return undefined;
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
