import type { Hunk, PatchLine } from './parse-patch.ts';

/** A field of a YAML text that has another value afterwards. Absent `before`: it is new; absent `after`: it is gone. */
export interface ChangedField {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

/** More than these are read in the diff itself. */
export const MAX_FIELDS = 12;

interface Parent {
  readonly indent: number;
  readonly name: string;
}

/** What the control plane writes of its own accord with each change, signatures among it. */
const BOOKKEEPING = /\b(?:annotations|labels)\.(?:app|ops)\.service\.io\//;

const FIELD = /^(\s*(?:- )?)([^\s:#][^:]*):(?:\s+(.*))?$/;

/**
 * Which fields a patch of a YAML text changes, as far as its lines tell: a summary above the diff, never in its place. Fields
 * with a mapping or a list below them are told by what is in them.
 */
export function changedFields(hunks: readonly Hunk[]): readonly ChangedField[] {
  const found = new Map<string, { before?: string; after?: string }>();
  for (const { lines } of hunks) {
    const sides = { before: [] as Parent[], after: [] as Parent[] };
    for (const line of lines) {
      for (const side of sidesOf(line)) {
        const field = fieldOf(line.text, sides[side]);
        if (field === undefined || line.kind === 'same' || field.value === undefined) continue;
        found.set(field.path, { ...found.get(field.path), [side]: field.value });
      }
    }
  }
  return [...found]
    .filter(([path, { before, after }]) => before !== after && !BOOKKEEPING.test(path))
    .map(([path, sides]) => ({ path, ...sides }));
}

function sidesOf({ kind }: PatchLine): readonly ('before' | 'after')[] {
  if (kind === 'same') return ['before', 'after'];
  return kind === 'added' ? ['after'] : ['before'];
}

/** The field that a line sets, with where it stands; `parents` is brought up to it. */
function fieldOf(text: string, parents: Parent[]): { readonly path: string; readonly value?: string } | undefined {
  const match = FIELD.exec(text);
  if (match === null) return undefined;
  const [, lead = '', key = '', value] = match;
  const indent = lead.length;
  while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop();
  const name = lead.endsWith('- ') ? `[].${unquoted(key)}` : unquoted(key);
  const path = [...parents.map((parent) => parent.name), name].join('.').replaceAll('.[]', '[]');
  if (value === undefined || value === '' || /^[|>]/.test(value)) {
    parents.push({ indent, name });
    return { path };
  }
  return { path, value };
}

function unquoted(key: string): string {
  return key.replace(/^(['"])(.*)\1$/, '$2');
}
