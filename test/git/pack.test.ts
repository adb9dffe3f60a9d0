import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objectId, type NewObject } from '../../src/git/git-object.ts';
import { spliceDelta } from '../../src/git/pack-delta.ts';
import { writePack } from '../../src/git/pack.ts';
import { git } from './git-server.ts';

let repository: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'git-pack-'));
  repository = join(folder, 'x.git');
  await git(folder, ['init', '--quiet', '--bare', repository]);
  return async () => rm(folder, { recursive: true, force: true });
});

afterAll(async () => {
  await git(repository, ['fsck', '--strict']);
});

/** Applies a delta as a receiver does (gitformat-pack). */
function applyDelta(base: Buffer, delta: Buffer): Buffer {
  let at = 0;
  const next = (): number => delta[at++] ?? 0;
  const varint = (): number => {
    let [value, shift, byte] = [0, 1, 0x80];
    while ((byte & 0x80) !== 0) {
      byte = next();
      value += (byte & 0x7f) * shift;
      shift *= 128;
    }
    return value;
  };
  expect(varint()).toBe(base.length);
  const size = varint();
  const parts: Buffer[] = [];
  while (at < delta.length) {
    const op = next();
    if ((op & 0x80) === 0) {
      parts.push(delta.subarray(at, at + op));
      at += op;
      continue;
    }
    let [offset, length] = [0, 0];
    for (let bit = 0; bit < 4; bit += 1) if ((op & (1 << bit)) !== 0) offset += next() * 256 ** bit;
    for (let bit = 0; bit < 3; bit += 1) if ((op & (16 << bit)) !== 0) length += next() * 256 ** bit;
    parts.push(base.subarray(offset, offset + (length === 0 ? 0x1_00_00 : length)));
  }
  const target = Buffer.concat(parts);
  expect(target.length).toBe(size);
  return target;
}

const blob = (bytes: Buffer): NewObject => ({ type: 'blob', id: objectId('blob', bytes), bytes });

describe('spliceDelta', () => {
  it('gives the target back, whatever differs', () => {
    const bytes = fc.uint8Array({ maxLength: 600 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes, bytes, bytes, bytes, (head, before, after, tail) => {
        const [base, target] = [Buffer.concat([head, before, tail]), Buffer.concat([head, after, tail])];
        expect(applyDelta(base, spliceDelta(base, target))).toEqual(target);
      }),
    );
  });

  it('is small for one change in much, also beyond the longest copy', () => {
    const base = Buffer.alloc(0x1_00_00_00 * 2 + 12_345, 'abcdefg');
    const target = Buffer.from(base);
    target.write('changed', 0x1_00_00_00 + 5);
    const delta = spliceDelta(base, target);
    expect(delta.length).toBeLessThan(60);
    expect(applyDelta(base, delta).equals(target)).toBe(true);
  });
});

describe('writePack', () => {
  it.each([0, 1, 15, 16, 1024, 1025, 16_384, 16_385, 300_000])(
    'holds an object of %i bytes that git reads back',
    async (size) => {
      const object = blob(Buffer.from(Array.from({ length: size }, (_, index) => (index * index * 31) % 251)));
      const pack = await writePack([object, object], { thin: false });
      await git(repository, ['unpack-objects', '-q', '--strict'], { input: pack });
      expect(await git(repository, ['cat-file', '-s', object.id])).toBe(String(size));
    },
  );

  it('sends a difference from what the receiver holds, and all of it to one that takes no thin pack', async () => {
    const base = blob(Buffer.alloc(50_000, 'some text that is long, '));
    await git(repository, ['unpack-objects', '-q'], { input: await writePack([base], { thin: false }) });
    const bytes = Buffer.concat([base.bytes, Buffer.from('and its end')]);
    const object: NewObject = { ...blob(bytes), base };
    const thin = await writePack([object], { thin: true });
    const whole = await writePack([{ ...object, bytes }], { thin: false });
    expect(thin.length).toBeLessThan(100);
    expect(whole.length).toBeGreaterThan(thin.length);
    await git(repository, ['unpack-objects', '-q', '--strict'], { input: thin });
    expect(await git(repository, ['cat-file', '-s', object.id])).toBe(String(bytes.length));
    await git(repository, ['index-pack', '--stdin'], { input: whole });
  });

  it('keeps a chain of differences short enough to read', async () => {
    const objects: NewObject[] = [];
    let base = blob(Buffer.alloc(20_000, 'x'));
    objects.push(base);
    for (let index = 0; index < 120; index += 1) {
      const bytes = Buffer.from(base.bytes);
      bytes.write(`change ${index}`, index * 20);
      const next = { ...blob(bytes), base: { id: base.id, bytes: base.bytes } };
      objects.push(next);
      base = next;
    }
    const pack = await writePack(objects, { thin: false });
    await git(repository, ['index-pack', '--stdin', '--strict'], { input: pack });
    const depths = await git(repository, ['cat-file', '--batch-check=%(deltabase)'], {
      input: objects.map(({ id }) => id).join('\n'),
    });
    expect(depths.split('\n').filter((base) => /^0+$/.test(base)).length).toBe(3);
  });
});
