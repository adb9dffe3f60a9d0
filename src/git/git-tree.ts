/** File modes as they stand in a tree. */
export const MODE_DIRECTORY = '40000';
export const MODE_FILE = '100644';
export const MODE_EXECUTABLE = '100755';
export const MODE_SYMLINK = '120000';
export const MODE_SUBMODULE = '160000';

export interface TreeEntry {
  readonly mode: string;
  readonly id: string;
}

interface Slot {
  readonly mode: string;
  /** Offset of the entry's first byte; its 20 id bytes end at `end`. */
  readonly start: number;
  readonly end: number;
}

const ID_BYTES = 20;

/**
 * One directory as Git stores it: `<mode> <name>\0<20 bytes>` per entry, sorted. It is edited as bytes: giving an entry
 * another id copies the bytes and keeps the index, so a directory of 10,000 costs a copy and not a rebuild.
 */
export class GitTree {
  static readonly EMPTY = new GitTree(Buffer.alloc(0));

  readonly bytes: Buffer;
  #slots: ReadonlyMap<string, Slot> | undefined;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get(name: string): TreeEntry | undefined {
    const slot = this.#index().get(bytesKey(name));
    return slot === undefined ? undefined : { mode: slot.mode, id: this.#idOf(slot) };
  }

  /** Name and entry of all, in Git's order. */
  *entries(): IterableIterator<readonly [string, TreeEntry]> {
    for (const [key, slot] of this.#index()) yield [nameOf(key), { mode: slot.mode, id: this.#idOf(slot) }];
  }

  /** As `entries`, the names one character a byte: one that is not UTF-8 stays whole. Plain ASCII is the same in both. */
  *rawEntries(): IterableIterator<readonly [string, TreeEntry]> {
    for (const [key, slot] of this.#index()) yield [key, { mode: slot.mode, id: this.#idOf(slot) }];
  }

  /** A directory of these entries, whose names are as `rawEntries` gives them. */
  static of(entries: ReadonlyMap<string, TreeEntry>): GitTree {
    const sorted = [...entries]
      .map(([name, entry]) => ({ name, entry, key: sortKey(name, entry.mode) }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    return new GitTree(
      Buffer.concat(
        sorted.flatMap(({ name, entry }) => [
          Buffer.from(`${entry.mode} ${name}\0`, 'latin1'),
          Buffer.from(entry.id, 'hex'),
        ]),
      ),
    );
  }

  get size(): number {
    return this.#index().size;
  }

  /** The same directory with `name` set to `entry`. */
  with(name: string, entry: TreeEntry): GitTree {
    const slot = this.#index().get(bytesKey(name));
    if (slot !== undefined && slot.mode === entry.mode) {
      const bytes = Buffer.from(this.bytes);
      bytes.write(entry.id, slot.end - ID_BYTES, ID_BYTES, 'hex');
      const edited = new GitTree(bytes);
      edited.#slots = this.#slots;
      return edited;
    }
    const rest = slot === undefined ? this : this.without(name);
    const at = rest.#placeOf(name, entry.mode);
    const head = Buffer.from(`${entry.mode} ${name}\0`, 'utf8');
    const id = Buffer.from(entry.id, 'hex');
    return new GitTree(Buffer.concat([rest.bytes.subarray(0, at), head, id, rest.bytes.subarray(at)]));
  }

  /** The same directory without `name`. */
  without(name: string): GitTree {
    const slot = this.#index().get(bytesKey(name));
    if (slot === undefined) return this;
    return new GitTree(Buffer.concat([this.bytes.subarray(0, slot.start), this.bytes.subarray(slot.end)]));
  }

  /** A name in this directory that a case-folding file system would take for `name`, and that is not it. */
  twinOf(name: string): string | undefined {
    const own = bytesKey(name);
    const folded = foldedName(own);
    for (const key of this.#index().keys()) if (key !== own && foldedName(key) === folded) return nameOf(key);
    return undefined;
  }

  #idOf(slot: Slot): string {
    return this.bytes.toString('hex', slot.end - ID_BYTES, slot.end);
  }

  /** Offset at which an entry of that name belongs: Git sorts bytes, a directory as if its name ended in `/`. */
  #placeOf(name: string, mode: string): number {
    const key = sortKey(bytesKey(name), mode);
    for (const [other, slot] of this.#index()) if (sortKey(other, slot.mode) > key) return slot.start;
    return this.bytes.length;
  }

  #index(): ReadonlyMap<string, Slot> {
    if (this.#slots !== undefined) return this.#slots;
    const slots = new Map<string, Slot>();
    let start = 0;
    while (start < this.bytes.length) {
      const space = this.bytes.indexOf(0x20, start);
      const zero = this.bytes.indexOf(0, space + 1);
      const end = zero + 1 + ID_BYTES;
      if (space < 0 || zero < 0 || end > this.bytes.length) throw new Error(`a tree is damaged at byte ${start}`);
      slots.set(this.bytes.toString('latin1', space + 1, zero), {
        mode: this.bytes.toString('latin1', start, space),
        start,
        end,
      });
      start = end;
    }
    this.#slots = slots;
    return slots;
  }
}

/** Names are kept one character a byte: such strings compare as Git compares, and a name that is not UTF-8 stays whole. */
function bytesKey(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1');
}

function nameOf(key: string): string {
  return Buffer.from(key, 'latin1').toString('utf8');
}

function sortKey(key: string, mode: string): string {
  return mode === MODE_DIRECTORY ? `${key}/` : key;
}

const FOLDED_ALREADY = /^(?:[a-z0-9._-]*[a-z0-9_-])?$/;
/** Code points that HFS+ does not see in a name (`next_hfs_char` in git's utf8.c). */
// eslint-disable-next-line no-misleading-character-class -- the joiners are listed one by one on purpose
const UNSEEN = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * What a name is to a file system that sees no difference of case, of composition, of characters without a width, of dots
 * and spaces at the end, or of a stream: two names that fold to one are one file there. `key` is one character a byte.
 */
export function foldedName(key: string): string {
  if (FOLDED_ALREADY.test(key)) return key;
  const seen = nameOf(key)
    .replace(UNSEEN, '')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '');
  // Upper case first: `ß` and `ſ` have no lower case that others share.
  return bytesKey(seen.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC'));
}
