/** A piece of a line; `isChanged` where the other line has something else there. */
export interface Piece {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Comparing takes the product of both lengths. */
const MAX_TOKENS = 400;
/** Lines that share less are not one line that was changed, but two. */
const LEAST_IN_COMMON = 0.3;

/**
 * Where two lines differ, word by word.
 *
 * @returns undefined where they have too little in common, or are too long, to be told as one line that was changed
 */
export function markWords(
  before: string,
  after: string,
): { readonly before: readonly Piece[]; readonly after: readonly Piece[] } | undefined {
  const [a, b] = [tokensOf(before), tokensOf(after)];
  if (a.length > MAX_TOKENS || b.length > MAX_TOKENS) return undefined;
  const common = commonTokens(a, b);
  const shared = sum(common.map(([index]) => a[index] ?? ''));
  const longest = Math.max(sum(a), sum(b));
  if (longest > 0 && shared / longest < LEAST_IN_COMMON) return undefined;
  return {
    before: piecesOf(a, new Set(common.map(([index]) => index))),
    after: piecesOf(b, new Set(common.map(([, index]) => index))),
  };
}

/** Words, runs of blanks, and each other character by itself. */
function tokensOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** The length of what can be read. */
function sum(tokens: readonly string[]): number {
  return tokens.reduce((length, token) => length + token.trim().length, 0);
}

/** Longest common subsequence, as pairs of indexes. */
function commonTokens(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      pairs.push([i, j]);
      [i, j] = [i + 1, j + 1];
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

function piecesOf(tokens: readonly string[], common: ReadonlySet<number>): Piece[] {
  const pieces: Piece[] = [];
  tokens.forEach((text, index) => {
    const isChanged = !common.has(index);
    const last = pieces.at(-1);
    if (last?.isChanged === isChanged) pieces.splice(-1, 1, { text: last.text + text, isChanged });
    else pieces.push({ text, isChanged });
  });
  return pieces;
}
