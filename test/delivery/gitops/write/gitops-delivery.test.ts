import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOMBSTONE_RETENTION_MS } from '../../../../src/delivery/gitops/layout.ts';
import { git, type GitServer } from '../../../git/git-server.ts';
import { apply, operate, uninstall } from './rendered-intent.ts';
import { commitByHand, deliver, delivered, instantClock, onServer, startAcme, subjects, writerOn } from './writer.ts';

let server: GitServer;

beforeEach(async () => {
  server = await startAcme();
});

afterEach(async () => {
  // Whatever a test did, plain git finds nothing wrong.
  await git(server.path('acme'), ['fsck', '--strict']);
  await server[Symbol.asyncDispose]();
});

const MANIFEST = 'main:clusters/prod-eu/apps/shop/podinfo.yaml';

describe('GitopsDelivery', () => {
  it('delivers an intent as one commit in one push, and says what the cluster must reach', async () => {
    await using delivery = writerOn(server);
    const intent = apply({ reason: 'First install' });
    const receipts = await deliver(delivery, [intent]);
    const commit = await onServer(server, 'rev-parse', 'main');
    const revision = await onServer(server, 'rev-parse', 'main:clusters/prod-eu');
    expect(receipts).toEqual([{ state: 'delivered', intentId: intent.intent.id, mode: 'gitops', commit, revision }]);
    expect(server.pushes()).toBe(1);
    expect(await onServer(server, 'show', MANIFEST)).toBe(intent.text.trimEnd());
    expect(await onServer(server, 'ls-tree', '-r', '--name-only', 'main')).toBe(
      'README.md\nclusters/prod-eu/README.md\nclusters/prod-eu/apps/shop/podinfo.yaml',
    );
    expect(await onServer(server, 'show', 'main:clusters/prod-eu/README.md')).toMatch(/^# Cluster prod-eu\n/);
  });

  it('writes a message that a reviewer reads', async () => {
    await using delivery = writerOn(server);
    const intent = apply({
      id: 'intent-1',
      reason: 'Needed by the shop.\nSee the ticket.',
      requestedBy: 'Alice <alice@example.test>',
    });
    await delivered(delivery, [intent]);
    expect(await onServer(server, 'log', '-1', '--format=%B%an <%ae>', 'main')).toBe(
      [
        'prod-eu: install shop/podinfo 6.5.0',
        '',
        'Needed by the shop.',
        'See the ticket.',
        '',
        'Intent-Id: intent-1',
        'Cluster-Id: c-prod-eu',
        'Idempotency-Key: apply/shop/podinfo@1',
        'Requested-By: Alice <alice@example.test>',
        'Control plane <control-plane@example.test>',
      ].join('\n'),
    );
  });

  it('tells in each subject what changes', async () => {
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({})]);
    await delivered(delivery, [apply({ generation: 2, version: '6.6.1' })]);
    await delivered(delivery, [apply({ generation: 3, version: '6.6.1', values: { replicas: 2 } })]);
    await delivered(delivery, [operate({ template: 'rollout-restart', name: 'restart-podinfo' })]);
    await delivered(delivery, [uninstall({ generation: 4 })]);
    await delivered(delivery, [apply({ generation: 5, version: '6.7.0' })]);
    expect(await subjects(server)).toEqual([
      'prod-eu: install shop/podinfo 6.5.0',
      'prod-eu: update shop/podinfo 6.5.0 → 6.6.1',
      'prod-eu: update shop/podinfo 6.6.1 (values)',
      'prod-eu: run rollout-restart on shop/restart-podinfo',
      'prod-eu: uninstall shop/podinfo',
      'prod-eu: install shop/podinfo 6.7.0',
    ]);
  });

  it('replaces a manifest by a tombstone on uninstall, and the tombstone by the manifest on the next install', async () => {
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({})]);
    const removal = uninstall({ generation: 2 });
    await delivered(delivery, [removal]);
    const files = async (): Promise<string> =>
      onServer(server, 'ls-tree', '-r', '--name-only', 'main:clusters/prod-eu');
    expect(await files()).toBe('README.md\ntombstones/shop/podinfo.json');
    expect(await onServer(server, 'show', 'main:clusters/prod-eu/tombstones/shop/podinfo.json')).toBe(
      removal.text.trimEnd(),
    );
    await delivered(delivery, [operate({ template: 'scale' })]);
    expect(await files()).toBe('README.md\noperations/shop/podinfo.yaml\ntombstones/shop/podinfo.json');
    await delivered(delivery, [apply({ generation: 3 })]);
    expect(await files()).toBe('README.md\napps/shop/podinfo.yaml\noperations/shop/podinfo.yaml');
  });

  it('writes a tombstone although the manifest has vanished', async () => {
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({})]);
    await commitByHand(server, 'clusters/prod-eu/apps/shop/podinfo.yaml', undefined);
    await delivered(delivery, [uninstall({ generation: 2 })]);
    expect(await onServer(server, 'ls-tree', '-r', '--name-only', 'main:clusters/prod-eu/tombstones')).toBe(
      'shop/podinfo.json',
    );
  });

  it('drops tombstones of the same cluster after 90 days, with its next commit', async () => {
    const clock = instantClock();
    await using delivery = writerOn(server, { clock });
    const day0 = new Date('2026-01-01T00:00:00Z');
    clock.at = day0;
    await delivered(delivery, [
      uninstall({ name: 'old', time: day0.toISOString() }),
      uninstall({ name: 'old', slug: 'prod-us', time: day0.toISOString() }),
    ]);
    const later = new Date(day0.getTime() + TOMBSTONE_RETENTION_MS - 1);
    clock.at = later;
    await delivered(delivery, [uninstall({ name: 'young', time: later.toISOString() })]);
    const tombstones = async (slug: string): Promise<string> =>
      onServer(server, 'ls-tree', '-r', '--name-only', `main:clusters/${slug}/tombstones/shop`);
    expect(await tombstones('prod-eu')).toBe('old.json\nyoung.json');
    clock.at = new Date(later.getTime() + 1);
    await delivered(delivery, [apply({ name: 'other', time: clock.at.toISOString() })]);
    expect(await tombstones('prod-eu')).toBe('young.json');
    expect(await tombstones('prod-us')).toBe('old.json');
  });

  it('makes no commit and no push for what is there already, and gives the same receipt', async () => {
    await using delivery = writerOn(server);
    const intents = [apply({}), operate({ template: 'scale', name: 'more' }), uninstall({ name: 'gone' })];
    const first = await deliver(delivery, intents);
    const again = await deliver(delivery, intents);
    const revision = await onServer(server, 'rev-parse', 'main:clusters/prod-eu');
    expect(again).toEqual(first.map((receipt) => ({ ...receipt, revision })));
    expect(server.pushes()).toBe(1);
    expect((await subjects(server)).length).toBe(3);
  });

  it('gives the same receipt after a crash between push and receipt', async () => {
    const intents = [apply({ name: 'one' }), apply({ name: 'two' }), uninstall({ name: 'three' })];
    let first: readonly string[];
    {
      await using crashed = writerOn(server);
      first = await delivered(crashed, intents);
    }
    await using restarted = writerOn(server);
    await delivered(restarted, [apply({ name: 'later' })]);
    expect(await delivered(restarted, intents)).toEqual(first);
    expect((await subjects(server)).length).toBe(4);
  });

  it('recognises an intent by its trailer when a newer generation has replaced it since', async () => {
    const [older, newer] = [apply({ generation: 1 }), apply({ generation: 2, version: '6.6.1' })];
    let first: readonly string[];
    {
      await using crashed = writerOn(server);
      first = await delivered(crashed, [older]);
      await delivered(crashed, [newer]);
    }
    await using restarted = writerOn(server);
    expect(await delivered(restarted, [older])).toEqual(first);
    expect(await onServer(server, 'show', MANIFEST)).toBe(newer.text.trimEnd());
  });

  it('is not fooled by a reason that quotes the id of another intent', async () => {
    await using delivery = writerOn(server);
    const lost = apply({ id: 'intent-lost', generation: 1 });
    await delivered(delivery, [
      apply({ generation: 2, reason: 'x\n\nIntent-Id: intent-lost\n\nIntent-Id: intent-lost' }),
    ]);
    const receipts = await deliver(delivery, [lost]);
    expect(receipts).toEqual([
      {
        state: 'refused',
        intentId: 'intent-lost',
        reason: 'Superseded',
        message: expect.stringContaining(
          'already holds a newer generation of this object; nothing was overwritten',
        ) as unknown,
      },
    ]);
  });

  it.each([
    ['an older generation', { generation: 3, epoch: 2 }],
    ['an older epoch with a higher generation', { generation: 9, epoch: 1 }],
  ])('never lets %s overwrite what is newer', async (_name, older) => {
    await using delivery = writerOn(server);
    const newest = apply({ generation: 4, epoch: 2 });
    await delivered(delivery, [newest]);
    for (const intent of [apply(older), uninstall(older)]) {
      const receipts = await deliver(delivery, [intent]);
      expect(receipts).toMatchObject([{ state: 'refused', reason: 'Superseded' }]);
    }
    await delivered(delivery, [uninstall({ generation: 5, epoch: 2 })]);
    expect(await deliver(delivery, [apply(older)])).toMatchObject([{ state: 'refused', reason: 'Superseded' }]);
    expect(server.pushes()).toBe(2);
  });

  it('restores what a person has changed or broken, when it is asked to deliver it again', async () => {
    const intent = apply({});
    {
      await using before = writerOn(server);
      await delivered(before, [intent]);
    }
    await commitByHand(server, 'clusters/prod-eu/apps/shop/podinfo.yaml', `${intent.text}# edited\n`);
    await using delivery = writerOn(server);
    await delivered(delivery, [intent]);
    expect(await onServer(server, 'show', MANIFEST)).toBe(intent.text.trimEnd());
    await commitByHand(server, 'clusters/prod-eu/apps/shop/podinfo.yaml', '{ not: [yaml');
    await delivered(delivery, [apply({ generation: 2, version: '6.6.1' })]);
    expect((await subjects(server)).filter((subject) => subject.startsWith('prod-eu'))).toEqual([
      'prod-eu: install shop/podinfo 6.5.0',
      'prod-eu: restore shop/podinfo 6.5.0',
      'prod-eu: update shop/podinfo 6.6.1',
    ]);
  });

  it('delivers several intents for one object in their order, one commit each', async () => {
    await using delivery = writerOn(server);
    const batch = [apply({ generation: 1 }), apply({ generation: 2, version: '6.6.1' }), uninstall({ generation: 3 })];
    const receipts = await deliver(delivery, batch);
    const revision = await onServer(server, 'rev-parse', 'main:clusters/prod-eu');
    expect(receipts.map((receipt) => receipt.state === 'delivered' && receipt.revision)).toEqual([
      revision,
      revision,
      revision,
    ]);
    expect(server.pushes()).toBe(1);
    expect(await subjects(server)).toEqual([
      'prod-eu: install shop/podinfo 6.5.0',
      'prod-eu: update shop/podinfo 6.5.0 → 6.6.1',
      'prod-eu: uninstall shop/podinfo',
    ]);
  });

  it('delivers 200 intents for 200 clusters in one push, a commit and a receipt each', async () => {
    await using delivery = writerOn(server);
    const batch = Array.from({ length: 200 }, (_, index) => apply({ slug: `cluster-${index}` }));
    const commits = await delivered(delivery, batch);
    expect(new Set(commits).size).toBe(200);
    expect(server.pushes()).toBe(1);
    expect(await onServer(server, 'rev-list', '--count', 'main')).toBe('201');
    const log = (
      await onServer(server, 'log', '--format=%H %(trailers:key=Intent-Id,valueonly,separator=)', 'main')
    ).split('\n');
    expect(log.slice(0, 200).toReversed()).toEqual(batch.map(({ intent }, index) => `${commits[index]} ${intent.id}`));
    const updates = batch.map(({ target }) => apply({ slug: target.slug, generation: 2, version: '6.6.1' }));
    await delivered(delivery, updates);
    expect(server.pushes()).toBe(2);
  });

  it('parts a larger batch, as the settings say', async () => {
    await using delivery = writerOn(server, { maxBatch: 3 });
    await delivered(
      delivery,
      Array.from({ length: 7 }, (_, index) => apply({ name: `app-${index}` })),
    );
    expect(server.pushes()).toBe(3);
  });

  it('writes the sharded layout', async () => {
    await using delivery = writerOn(server, {
      repository: { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'sharded' },
    });
    await delivered(delivery, [apply({})]);
    expect(await onServer(server, 'ls-tree', '-r', '--name-only', 'main')).toContain(
      'clusters/33/prod-eu/apps/shop/podinfo.yaml',
    );
  });

  it('writes the first commit of a branch that does not exist yet', async () => {
    await onServer(server, 'update-ref', '-d', 'refs/heads/main');
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({})]);
    await delivered(delivery, [apply({ generation: 2, version: '6.6.1' })]);
    expect(await onServer(server, 'rev-list', '--count', 'main')).toBe('2');
  });

  it('changes nothing outside the cluster’s directory', async () => {
    await commitByHand(server, 'docs/notes.md', 'notes of a person\n');
    await commitByHand(server, 'clusters/prod-us/apps/shop/podinfo.yaml', 'x: y\n');
    await using delivery = writerOn(server);
    await delivered(delivery, [apply({}), apply({ generation: 2, version: '6.6.1' }), uninstall({ generation: 3 })]);
    expect(await onServer(server, 'diff', '--name-only', 'main~3', 'main')).toBe(
      'clusters/prod-eu/README.md\nclusters/prod-eu/tombstones/shop/podinfo.json',
    );
  });
});
