import { markWords, type Piece } from './mark-words.ts';
import type { Hunk, PatchLine } from './parse-patch.ts';

/** A line as it is shown: its text in pieces, where it stands. */
export interface ShownLine {
  readonly number: number;
  readonly pieces: readonly Piece[];
  readonly hasNoNewline?: true;
}

/** What stands beside each other. A `fold` is a run of unchanged lines that is closed at first. */
export type Row =
  | { readonly kind: 'same'; readonly before: ShownLine; readonly after: ShownLine }
  | { readonly kind: 'changed'; readonly before?: ShownLine; readonly after?: ShownLine }
  | { readonly kind: 'fold'; readonly rows: readonly Row[] }
  /** Lines between two hunks, which the patch does not hold. */
  | { readonly kind: 'gap'; readonly lines: number };

/** Unchanged lines that stay open on either side of a change. */
const KEPT = 3;
/** A fold of fewer lines would take as much room as they do. */
const LEAST_FOLDED = 4;

/** Rows of all hunks, with the gaps between them. */
export function diffRows(hunks: readonly Hunk[]): readonly Row[] {
  const rows: Row[] = [];
  let next = 1;
  for (const hunk of hunks) {
    const missing = hunk.after === 0 || hunk.before === 0 ? 0 : hunk.before - next;
    if (missing > 0) rows.push({ kind: 'gap', lines: missing });
    rows.push(...folded(rowsOf(hunk.lines)));
    next = (hunk.lines.findLast(({ before }) => before !== undefined)?.before ?? next - 1) + 1;
  }
  return rows;
}

/** Added lines beside those that they took the place of. */
function rowsOf(lines: readonly PatchLine[]): Row[] {
  const rows: Row[] = [];
  let removed: PatchLine[] = [];
  let added: PatchLine[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      rows.push(changedRow(removed[index], added[index]));
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === 'same') {
      flush();
      rows.push({ kind: 'same', before: plain(line, line.before), after: plain(line, line.after) });
    } else if (line.kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(line);
    } else added.push(line);
  }
  flush();
  return rows;
}

function changedRow(removed: PatchLine | undefined, added: PatchLine | undefined): Row {
  const marks = removed === undefined || added === undefined ? undefined : markWords(removed.text, added.text);
  return {
    kind: 'changed',
    ...(removed === undefined ? {} : { before: plain(removed, removed.before, marks?.before) }),
    ...(added === undefined ? {} : { after: plain(added, added.after, marks?.after) }),
  };
}

function plain(line: PatchLine, number: number | undefined, pieces?: readonly Piece[]): ShownLine {
  return {
    number: number ?? 0,
    pieces: pieces ?? [{ text: line.text, isChanged: false }],
    ...(line.hasNoNewline === true ? { hasNoNewline: true } : {}),
  };
}

function folded(rows: readonly Row[]): Row[] {
  const shown: Row[] = [];
  for (let at = 0; at < rows.length;) {
    const first = rows[at];
    if (first?.kind !== 'same') {
      if (first !== undefined) shown.push(first);
      at += 1;
      continue;
    }
    const end = rows.findIndex(({ kind }, index) => index > at && kind !== 'same');
    const run = rows.slice(at, end === -1 ? undefined : end);
    const [head, tail] = [at === 0 ? 0 : KEPT, end === -1 ? 0 : KEPT];
    const inside = run.slice(head, run.length - tail);
    if (inside.length < LEAST_FOLDED) shown.push(...run);
    else shown.push(...run.slice(0, head), { kind: 'fold', rows: inside }, ...run.slice(run.length - tail));
    at += run.length;
  }
  return shown;
}
