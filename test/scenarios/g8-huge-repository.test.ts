import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FetchLike } from '../../src/git/receive-pack.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { delivered, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';
import { git, type GitServer } from '../git/git-server.ts';

const DIRECTORIES = 10_000;
const COMMITS = 5000;

/** A deep history, then a large tree: input of `git fast-import`, which would rewrite that tree for each commit after it. */
function hugeRepository(): string {
  const parts: string[] = [];
  const commit = (index: number): void => {
    const when = 1_760_000_000 + index;
    parts.push(`commit refs/heads/main\ncommitter x <x@example.test> ${when} +0000\ndata 7\nchange\n\n`);
    if (index === 0) parts.push('from refs/heads/main^0\n');
  };
  const write = (directory: number, text: string): void => {
    parts.push(`M 100644 inline clusters/cluster-${directory}/apps/shop/podinfo.yaml\ndata ${text.length}\n${text}\n`);
  };
  for (let index = 0; index < COMMITS; index += 1) {
    commit(index);
    write((index * 7) % 50, `generation: ${index}\n`);
  }
  commit(COMMITS);
  for (let directory = 0; directory < DIRECTORIES; directory += 1) write(directory, `first: ${directory}\n`);
  return parts.join('');
}

let server: GitServer;

beforeAll(async () => {
  server = await startAcme();
  await git(server.path('acme'), ['fast-import', '--quiet'], { input: hugeRepository() });
}, 120_000);

afterAll(async () => await server[Symbol.asyncDispose]());

/** What a push sends: bytes, and the objects in its pack. */
function countingPushes(): { readonly fetchLike: FetchLike; readonly pushes: { bytes: number; objects: number }[] } {
  const pushes: { bytes: number; objects: number }[] = [];
  const fetchLike: FetchLike = async (url, init) => {
    if (init.body instanceof Uint8Array) {
      const body = Buffer.from(init.body);
      pushes.push({ bytes: body.length, objects: body.readUInt32BE(body.indexOf('PACK') + 8) });
    }
    return await fetch(url, init);
  };
  return { fetchLike, pushes };
}

/** Buffers in memory beyond what was there before, in MiB. */
function buffers(): number {
  return process.memoryUsage().arrayBuffers / 1024 / 1024;
}

it.each([
  ['by a mirror', undefined, 5],
  ['in place', 'acme', 1],
])(
  'G8: the first write into a huge, deep repository, %s, sends what is new and holds little in memory',
  { timeout: 120_000 },
  async (_name, inPlace, requests) => {
    const localPath = inPlace === undefined ? {} : { localPath: server.path(inPlace) };
    const { fetchLike, pushes } = countingPushes();
    const repository = { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat' as const };
    await using delivery = writerOn(server, {
      fetchLike,
      mirrorPath: join(server.folder, 'first.git'),
      repository: { ...repository, ...localPath },
    });
    const [asked, held] = [server.requests.length, buffers()];
    const [commit] = await delivered(delivery, [apply({ slug: `new-${inPlace ?? 'mirror'}` })]);
    // Asked for the tip, one fetch in three requests, and the push; nothing at all is asked for in place.
    expect(server.requests.length - asked).toBeLessThanOrEqual(requests);
    // The commit, its two files, and the directories above them; the one of 10,000 only as what differs.
    expect(pushes).toEqual([{ bytes: expect.any(Number) as number, objects: 8 }]);
    expect(pushes[0]?.bytes).toBeLessThan(4096);
    expect(buffers() - held).toBeLessThan(24);
    expect(await onServer(server, 'rev-parse', 'main')).toBe(commit);
    expect(
      await onServer(server, 'ls-tree', '--name-only', `main:clusters/`).then((names) => names.split('\n').length),
    ).toBeGreaterThan(DIRECTORIES);
  },
);
