import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DeliveryItem } from '../../../../src/delivery/delivery.ts';
import { pushesOf } from '../../../../src/delivery/gitops/write/pushes-of.ts';
import { apply } from './rendered-intent.ts';
import { deliver, delivered, onServer, startAcme, writerOn } from './writer.ts';

const huge = (slug: string, name: string): DeliveryItem => apply({ slug, name, values: { text: 'x'.repeat(400_000) } });

it('gives a huge cluster no more than its turns: the small one is in the first push', async () => {
  await using server = await startAcme();
  await using delivery = writerOn(server);
  const small = apply({ slug: 'small' });
  const batch = [...Array.from({ length: 24 }, (_, index) => huge('huge', `app-${index}`)), small];
  const receipts = await deliver(delivery, batch);
  expect(receipts.every(({ state }) => state === 'delivered')).toBe(true);
  // Some ten of 400 KB in each.
  expect(server.pushes()).toBe(3);
  expect(receipts.findIndex(({ intentId }) => intentId === small.intent.id)).toBeLessThan(11);
});

it('keeps each cluster in its order, and one push where one is enough', () => {
  const items = ['a', 'a', 'b', 'a', 'b'].map((slug, index) => apply({ slug, name: `app-${index}` }));
  expect(pushesOf(items, 200)).toEqual([items]);
  expect(pushesOf([], 200)).toEqual([]);
  const names = pushesOf(items, 2).map((push) => push.map(({ target, intent }) => `${target.slug} ${intent.name}`));
  expect(names).toEqual([['a app-0', 'b app-2'], ['a app-1', 'b app-4'], ['a app-3']]);
});

it('finds the receipts of a whole batch again in one git process', async () => {
  await using server = await startAcme();
  const batch = Array.from({ length: 60 }, (_, index) => apply({ slug: `cluster-${index}` }));
  const mirrorPath = join(server.folder, 'mirror.git');
  let commits: readonly string[];
  {
    await using crashed = writerOn(server, { mirrorPath });
    commits = await delivered(crashed, batch);
  }
  const trace = join(server.folder, 'trace');
  await using restarted = writerOn(server, { mirrorPath });
  const before = process.env['PATH'];
  // Every git process of this test says so in a file.
  await withWrapper(server.folder, trace, async () => {
    expect(await delivered(restarted, batch)).toEqual(commits);
  });
  expect(process.env['PATH']).toBe(before);
  const logs = (await readFile(trace, 'utf8')).split('\n').filter((line) => line === 'log');
  expect(logs.length).toBe(1);
  expect(server.pushes()).toBe(1);
});

it('lets only the cluster wait whose directory lacks an object at the host', async () => {
  await using server = await startAcme();
  const localPath = server.path('acme');
  const repository = { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'flat' as const, localPath };
  await using delivery = writerOn(server, { repository });
  await delivered(
    delivery,
    ['bad', 'one', 'two'].map((slug) => apply({ slug })),
  );
  const blob = await onServer(server, 'rev-parse', 'main:clusters/bad/apps/shop/podinfo.yaml');
  await rm(join(localPath, 'objects', blob.slice(0, 2), blob.slice(2)));
  const batch = ['one', 'bad', 'two'].map((slug) => apply({ slug, generation: 2, version: '6.6.1' }));
  const receipts = await deliver(delivery, batch);
  expect(batch.map(({ intent }) => receipts.find(({ intentId }) => intentId === intent.id))).toMatchObject([
    { state: 'delivered' },
    { state: 'retry', message: `the local copy of the branch has no object ${blob}` },
    { state: 'delivered' },
  ]);
});

/** A `git` first in the path that notes its command and runs the real one. */
async function withWrapper(folder: string, trace: string, work: () => Promise<void>): Promise<void> {
  const before = process.env['PATH'] ?? '';
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh\necho "$1" >> '${trace}'\nPATH='${before}' exec git "$@"\n`;
  await writeFile(join(bin, 'git'), script, { mode: 0o755 });
  process.env['PATH'] = `${bin}:${before}`;
  try {
    await work();
  } finally {
    process.env['PATH'] = before;
  }
}
