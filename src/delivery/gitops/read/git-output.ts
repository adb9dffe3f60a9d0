import { GitFault } from './git-fault.ts';

/** One file or directory of a commit, as `git ls-tree` lists it. */
export interface TreeEntry {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  /** From the repository's root. */
  readonly path: string;
}

/** Contents in memory at a time. */
const CHUNK_BYTES = 8 * 1024 * 1024;

/** Ids in groups whose contents are few enough to be in memory together. */
export function chunksOf(ids: readonly string[], sizes: ReadonlyMap<string, number>): readonly (readonly string[])[] {
  const chunks: string[][] = [];
  let room = 0;
  for (const id of ids) {
    const size = sizes.get(id) ?? 0;
    if (size > room || chunks.length === 0) {
      chunks.push([]);
      room = CHUNK_BYTES;
    }
    chunks.at(-1)?.push(id);
    room -= size;
  }
  return chunks;
}

/** Output of `ls-tree -z`. */
export function parseTree(text: string): readonly TreeEntry[] {
  return text.split('\0').flatMap((line) => {
    const match = /^(\d+) (\w+) ([0-9a-f]+)\t([^]+)$/.exec(line);
    if (match === null) return [];
    const [, mode = '', type = '', id = '', path = ''] = match;
    return [{ mode, type, id, path }];
  });
}

/** Output of `cat-file --batch`: `<id> blob <size>`, a newline, so many bytes, a newline. */
export function readBatch(output: Buffer, into: Map<string, Buffer | number>): void {
  let at = 0;
  while (at < output.length) {
    const end = output.indexOf(0x0a, at);
    const [id = '', type, size = ''] = output.toString('latin1', at, end === -1 ? output.length : end).split(' ');
    if (end === -1 || type !== 'blob') throw new GitFault('broken', `object ${id} cannot be read`);
    const start = end + 1;
    into.set(id, output.subarray(start, start + Number(size)));
    at = start + Number(size) + 1;
  }
}
