import type { Fault } from './app-error.ts';

/** What can be judged of a body in whose form something is wrong. */
export interface ReadablePart {
  /** Without what is not known, and without the members that something else is wrong with. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The members that are left out, or should be there. */
  readonly unread: readonly string[];
}

/** So that all is told at once: what its members mean is judged of those that can be read. Undefined: nothing can be. */
export function readablePart(body: unknown, faults: readonly Fault[]): ReadablePart | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const value = structuredClone(body) as Record<string, unknown>;
  const unread = new Set<string>();
  for (const { path, message } of faults) {
    const parts = path.split('/').slice(1).map(unescaped);
    const [member] = parts;
    if (member === undefined) return undefined;
    if (message.startsWith('is not known')) removeAt(value, parts);
    else unread.add(member);
  }
  for (const member of unread) delete value[member];
  return { value, unread: [...unread] };
}

function removeAt(root: Record<string, unknown>, parts: readonly string[]): void {
  const last = parts.at(-1) ?? '';
  const parent = parts.slice(0, -1).reduce<unknown>((node, part) => {
    return typeof node === 'object' && node !== null && Object.hasOwn(node, part)
      ? (node as Record<string, unknown>)[part]
      : undefined;
  }, root);
  if (typeof parent === 'object' && parent !== null) delete (parent as Record<string, unknown>)[last];
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
