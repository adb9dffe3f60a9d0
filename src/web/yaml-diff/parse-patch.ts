/** One line of a unified patch. `before` and `after` are its numbers in the two texts, where it stands in them. */
export interface PatchLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
  readonly before?: number;
  readonly after?: number;
  /** The text ends here without a line feed. */
  readonly hasNoNewline?: true;
}

/** A changed place with what stands around it. */
export interface Hunk {
  readonly before: number;
  readonly after: number;
  /** What the patch says of where it is. */
  readonly heading: string;
  readonly lines: readonly PatchLine[];
}

export interface Patch {
  readonly hunks: readonly Hunk[];
  readonly added: number;
  readonly removed: number;
  /** Lines that were not read, being past the bound. */
  readonly cut: number;
}

/** A browser shows so many at once without getting slow. */
export const MAX_LINES = 5000;

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

interface OpenHunk extends Hunk {
  readonly lines: PatchLine[];
}

/** Reads a unified patch of one file; what stands before its first hunk is left out. */
export function parsePatch(text: string, maxLines = MAX_LINES): Patch {
  const hunks: OpenHunk[] = [];
  const count = { added: 0, removed: 0, cut: 0, read: 0 };
  let [before, after] = [0, 0];
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const head = HEAD.exec(line);
    const open = hunks.at(-1);
    if (head !== null) {
      [before, after] = [Number(head[1]), Number(head[2])];
      hunks.push({ before, after, heading: head[3] ?? '', lines: [] });
    } else if (open !== undefined) {
      const sign = line.charAt(0);
      if (sign === '+') count.added += 1;
      if (sign === '-') count.removed += 1;
      if (sign === '\\') markLast(open.lines);
      else if (count.read >= maxLines) count.cut += 1;
      else {
        count.read += 1;
        open.lines.push(lineOf(sign, line.slice(1), before, after));
        if (sign !== '+') before += 1;
        if (sign !== '-') after += 1;
      }
    }
  }
  return { hunks: hunks.filter(({ lines }) => lines.length > 0), ...countsOf(count) };
}

function countsOf({ added, removed, cut }: { added: number; removed: number; cut: number }) {
  return { added, removed, cut };
}

function lineOf(sign: string, text: string, before: number, after: number): PatchLine {
  if (sign === '+') return { kind: 'added', text, after };
  if (sign === '-') return { kind: 'removed', text, before };
  return { kind: 'same', text, before, after };
}

function markLast(lines: PatchLine[]): void {
  const last = lines.pop();
  if (last !== undefined) lines.push({ ...last, hasNoNewline: true });
}
