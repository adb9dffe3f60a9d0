import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { NewObject } from './git-object.ts';
import { writePackEntries, type PackEntry } from './pack.ts';

const CHECKSUM_BYTES = 20;

/** A pack that can be put into a repository as it is, without a process that indexes it. */
export interface IndexedPack {
  /** Hex checksum of the pack: its files are `pack-<name>.pack` and `pack-<name>.idx`. */
  readonly name: string;
  readonly pack: Buffer;
  readonly index: Buffer;
}

/** A pack of exactly these objects, whole by itself, with its index (gitformat-pack, version 2). */
export async function writeIndexedPack(objects: readonly NewObject[]): Promise<IndexedPack> {
  const { pack, entries } = await writePackEntries(objects, { thin: false });
  const checksum = pack.subarray(pack.length - CHECKSUM_BYTES);
  return { name: checksum.toString('hex'), pack, index: indexOf(entries, checksum) };
}

function indexOf(entries: readonly PackEntry[], packChecksum: Buffer): Buffer {
  const sorted = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const header = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
  const fanout = Buffer.alloc(256 * 4);
  const [ids, sums, offsets] = [20, 4, 4].map((bytes) => Buffer.alloc(sorted.length * bytes)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  sorted.forEach(({ id, offset, bytes }, at) => {
    ids.write(id, at * 20, 'hex');
    sums.writeUInt32BE(
      bytes.reduce((sum, part) => crc32(part, sum), 0),
      at * 4,
    );
    offsets.writeUInt32BE(offset, at * 4);
    fanout.writeUInt32BE(at + 1, Number.parseInt(id.slice(0, 2), 16) * 4);
  });
  // How many ids start with this byte or a lower one.
  for (let byte = 1; byte < 256; byte += 1) {
    if (fanout.readUInt32BE(byte * 4) === 0) fanout.writeUInt32BE(fanout.readUInt32BE((byte - 1) * 4), byte * 4);
  }
  const body = Buffer.concat([header, fanout, ids, sums, offsets, packChecksum]);
  return Buffer.concat([body, hash('sha1', body, 'buffer')]);
}
