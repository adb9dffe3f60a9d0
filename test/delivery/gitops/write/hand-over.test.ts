import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryItem } from '../../../../src/delivery/delivery.ts';
import { SUPERSEDED } from '../../../../src/delivery/refusal-reasons.ts';
import { clusterDirectory } from '../../../../src/delivery/gitops/layout.ts';
import type { GitServer } from '../../../git/git-server.ts';
import { apply, operate, uninstall, type Wanted } from './rendered-intent.ts';
import { commitByHand, deliver, delivered, onServer, startAcme, subjects, writerOn } from './writer.ts';

let server: GitServer;
beforeEach(async () => {
  server = await startAcme();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

const MANIFEST = 'clusters/prod-eu/apps/shop/podinfo.yaml';

/** The intent as a switch of mode brings it: what it was, under the epoch of now. */
function handedOver(wanted: Wanted): DeliveryItem {
  return { ...apply(wanted), isHandover: true };
}

async function tip(): Promise<string> {
  return await onServer(server, 'rev-parse', 'main');
}

describe('what is handed over to Git', () => {
  const first = { id: 'int-1', version: '6.6.1', time: '2026-01-01T00:00:00Z' };

  it.each(['the writer of the earlier stay', 'another process'])(
    'is a commit of its own though an earlier stay brought the same intent, by %s',
    async (who) => {
      await using writer = writerOn(server);
      await using other = writerOn(server);
      const [before] = await delivered(writer, [apply(first)]);
      const item = handedOver({ ...first, epoch: 4 });
      const by = who === 'another process' ? other : writer;
      const [after] = await delivered(by, [item]);
      expect(after).not.toBe(before);
      expect(after).toBe(await tip());
      expect(await onServer(server, 'show', `main:${MANIFEST}`)).toBe(item.text.trimEnd());
      expect(await subjects(server)).toEqual([
        'prod-eu: install shop/podinfo 6.6.1',
        'prod-eu: hand over shop/podinfo 6.6.1 (epoch 4)',
      ]);
    },
  );

  it('is recognised by what this epoch rendered, and by nothing else', async () => {
    await using writer = writerOn(server);
    await delivered(writer, [apply(first)]);
    const [commit] = await delivered(writer, [handedOver({ ...first, epoch: 4 })]);
    await using other = writerOn(server);
    for (const again of [writer, other]) {
      expect(await delivered(again, [handedOver({ ...first, epoch: 4 })])).toEqual([commit]);
    }
    expect(await tip()).toBe(commit);
    const [back] = await delivered(writer, [handedOver({ ...first, epoch: 6 })]);
    expect(back).not.toBe(commit);
    expect(await tip()).toBe(back);
  });

  it('is refused where something newer stands, though its id is in the history', async () => {
    await using writer = writerOn(server);
    await delivered(writer, [apply(first)]);
    await delivered(writer, [apply({ id: 'int-2', generation: 2, epoch: 4 })]);
    const receipts = await deliver(writer, [handedOver({ ...first, epoch: 4 })]);
    expect(receipts).toEqual([
      expect.objectContaining({ state: 'refused', intentId: 'int-1', reason: SUPERSEDED }) as unknown,
    ]);
  });

  it('names the file and the annotation that somebody gave a source above that of the switch', async () => {
    await using writer = writerOn(server);
    await delivered(writer, [apply(first)]);
    const text = await onServer(server, 'show', `main:${MANIFEST}`);
    await commitByHand(server, MANIFEST, text.replace(/(source: "?)\d+\./, '$1900.'));
    const receipts = await deliver(writer, [handedOver({ ...first, epoch: 4 })]);
    const message = expect.stringContaining(`correct the annotation app.service.io/source in ${MANIFEST}`) as unknown;
    expect(receipts).toEqual([expect.objectContaining({ state: 'refused', reason: SUPERSEDED, message }) as unknown]);
  });

  it('overwrites what a person made of its file since, and leaves the files of others alone', async () => {
    await using writer = writerOn(server);
    await delivered(writer, [apply(first)]);
    await commitByHand(server, MANIFEST, 'kind: [nonsense\n');
    await commitByHand(server, 'clusters/prod-eu/apps/shop/notes.txt', 'mine\n');
    const item = handedOver({ ...first, epoch: 4 });
    await delivered(writer, [item]);
    expect(await onServer(server, 'show', `main:${MANIFEST}`)).toBe(item.text.trimEnd());
    expect(await onServer(server, 'show', 'main:clusters/prod-eu/apps/shop/notes.txt')).toBe('mine');
  });

  it('takes the file of an earlier stay back where the object was uninstalled in another mode', async () => {
    await using writer = writerOn(server);
    await delivered(writer, [apply(first), apply({ ...first, id: 'int-3', name: 'stays' })]);
    const removal: DeliveryItem = { ...uninstall({ id: 'int-2', generation: 2, epoch: 4 }), isHandover: true };
    await delivered(writer, [removal]);
    expect(await onServer(server, 'ls-tree', '-r', '--name-only', 'main:clusters/prod-eu')).toBe(
      'README.md\napps/shop/stays.yaml\ntombstones/shop/podinfo.json',
    );
    expect((await subjects(server)).at(-1)).toBe('prod-eu: hand over the uninstall of shop/podinfo (epoch 4)');
  });

  it('comes as one commit for each intent in one push, into a repository that is new and in any layout', async () => {
    let tips = 0;
    await using writer = writerOn(server, {
      repository: { name: 'acme', url: server.remote('acme'), branch: 'main', layout: 'sharded' },
      fetchLike: async (url, init) => {
        if (url.endsWith('git-receive-pack') && init?.method === 'POST') tips += 1;
        return await fetch(url, init);
      },
    });
    const run: DeliveryItem = {
      ...operate({ template: 'rollout-restart', name: 'restart', epoch: 4 }),
      isHandover: true,
    };
    const items = ['a', 'b', 'c'].map((name) => handedOver({ name, epoch: 4, version: '6.5.0' }));
    const commits = await delivered(writer, [...items, run]);
    expect(new Set(commits).size).toBe(4);
    expect(tips).toBe(1);
    expect(await subjects(server)).toEqual([
      'prod-eu: hand over shop/a 6.5.0 (epoch 4)',
      'prod-eu: hand over shop/b 6.5.0 (epoch 4)',
      'prod-eu: hand over shop/c 6.5.0 (epoch 4)',
      'prod-eu: hand over rollout-restart on shop/restart (epoch 4)',
    ]);
    const directory = clusterDirectory('sharded', 'prod-eu');
    expect(await onServer(server, 'ls-tree', '-r', '--name-only', `main:${directory}`)).toBe(
      'README.md\napps/shop/a.yaml\napps/shop/b.yaml\napps/shop/c.yaml\noperations/shop/restart.yaml',
    );
  });
});
