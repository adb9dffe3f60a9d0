import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, deflateSync } from 'node:zlib';
import type { NewObject, ObjectType } from './git-object.ts';
import { spliceDelta } from './pack-delta.ts';

const deflateAsync = promisify(deflate);

/** Object types in a pack (gitformat-pack). */
const TYPE_NUMBER: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3 };
const REF_DELTA = 7;
/** Longest chain of deltas on deltas, as `git repack` keeps it: a longer one is slow to read. */
const MAX_DELTA_DEPTH = 48;

/** One object as it lies in a pack: where it starts, and its bytes there. */
export interface PackEntry {
  readonly id: string;
  readonly offset: number;
  readonly bytes: readonly Buffer[];
}

/**
 * A pack of exactly these objects. One with a `base` is sent as the difference from it, often 30 bytes instead of the
 * whole directory. `thin` allows a base that the receiver has and the pack does not hold (off when it said `no-thin`).
 */
export async function writePack(objects: readonly NewObject[], options: { readonly thin: boolean }): Promise<Buffer> {
  return (await writePackEntries(objects, options)).pack;
}

/** The same pack, with where each object lies in it. */
export async function writePackEntries(
  objects: readonly NewObject[],
  options: { readonly thin: boolean },
): Promise<{ readonly pack: Buffer; readonly entries: readonly PackEntry[] }> {
  const depths = new Map<string, number>();
  const unique = new Map<string, NewObject>();
  for (const object of objects) if (!unique.has(object.id)) unique.set(object.id, object);
  const parts: Promise<readonly Buffer[]>[] = [];
  for (const object of unique.values()) {
    const delta = deltaOf(object, options.thin, depths);
    if (delta === undefined) {
      depths.set(object.id, 0);
      parts.push(packed(entryHead(TYPE_NUMBER[object.type], object.bytes.length), object.bytes));
    } else {
      depths.set(object.id, (depths.get(delta.baseId) ?? 0) + 1);
      const head = Buffer.concat([entryHead(REF_DELTA, delta.bytes.length), Buffer.from(delta.baseId, 'hex')]);
      parts.push(packed(head, delta.bytes));
    }
  }
  const header = Buffer.alloc(12);
  header.write('PACK', 0, 'latin1');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(unique.size, 8);
  const written = await Promise.all(parts);
  let offset = header.length;
  const entries = [...unique.keys()].map((id, index): PackEntry => {
    const entry = { id, offset, bytes: written[index] ?? [] };
    for (const { length } of entry.bytes) offset += length;
    return entry;
  });
  const body = Buffer.concat([header, ...written.flat()]);
  return { pack: Buffer.concat([body, hash('sha1', body, 'buffer')]), entries };
}

function deltaOf(
  object: NewObject,
  thin: boolean,
  depths: ReadonlyMap<string, number>,
): { readonly baseId: string; readonly bytes: Buffer } | undefined {
  const { base } = object;
  if (base === undefined) return undefined;
  const depth = depths.get(base.id);
  if (depth === undefined ? !thin : depth >= MAX_DELTA_DEPTH) return undefined;
  const bytes = spliceDelta(base.bytes, object.bytes);
  return bytes.length < object.bytes.length / 2 ? { baseId: base.id, bytes } : undefined;
}

async function packed(head: Buffer, bytes: Buffer): Promise<readonly Buffer[]> {
  return [head, await compress(bytes)];
}

const SMALL_BYTES = 1024;
const LARGE_BYTES = 16 * 1024;

/**
 * Most objects are a few hundred bytes. For those the state that zlib sets up costs twenty times the compression: a
 * window of their own size does, and no thread is worth waking. Only what is large goes to one.
 */
async function compress(bytes: Buffer): Promise<Buffer> {
  const level = constants.Z_BEST_SPEED;
  if (bytes.length > LARGE_BYTES) return deflateAsync(bytes, { level });
  return bytes.length > SMALL_BYTES
    ? deflateSync(bytes, { level, windowBits: 14, memLevel: 6 })
    : deflateSync(bytes, { level, windowBits: 10, memLevel: 2 });
}

/** Type and size: four bits of size in the first byte, then seven a byte, low bits first. */
function entryHead(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(size / 16);
  let byte = (type << 4) | (size % 16);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest % 128;
    rest = Math.floor(rest / 128);
  }
  bytes.push(byte);
  return Buffer.from(bytes);
}
