import { expect, it } from 'vitest';
import { DIRECTORY, fileOf, GitStage } from '../scenarios/git-stage.ts';

const MARK = 'app.service.io/tombstone';
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const INSTANCE = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name: 'a' };
const DENIED = JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'denied: not today' });

/** Every DELETE of an instance is answered so from now on; the answer ends that. */
function refuseDeletes(stage: GitStage, answer: 'denied' | 'no answer'): () => void {
  return stage.world.cluster.sandbox.faults.add({
    match: ({ method, path }) => method === 'DELETE' && path.includes('applicationinstances'),
    ...(answer === 'denied' ? { respond: { status: 403, body: DENIED } } : { respond: { status: 500, body: '{}' } }),
  });
}

const markOf = async (stage: GitStage): Promise<string | undefined> =>
  (await stage.read('a'))?.metadata.annotations?.[MARK];

/** A person deletes it; resolves once it is there again, as another incarnation. */
async function deleteByHand(stage: GitStage): Promise<void> {
  const uid = (await stage.read('a'))?.metadata.uid;
  stage.deletes.length = 0;
  await stage.world.cluster.api.delete(INSTANCE);
  const again = async (): Promise<boolean> => {
    const now = (await stage.read('a'))?.metadata.uid;
    return now !== undefined && now !== uid;
  };
  await expect.poll(again, { timeout: 20_000, interval: 20 }).toBe(true);
}

it.each(['prune', 'tombstone'] as const)(
  'a delete (%s) that was denied leaves no mark, and a later deletion by hand keeps the release',
  async (way) => {
    await using stage = await GitStage.start(NAMES, { prune_on_removal: true });
    const allow = refuseDeletes(stage, 'denied');
    const tombstone = `${DIRECTORY}/tombstones/shop/a.json`;
    stage.push({
      [fileOf('a')]: null,
      ...(way === 'prune' ? {} : Object.fromEntries([stage.tombstone({ name: 'a' })])),
    });
    expect(await stage.untilHeld('DeleteFailed')).toContain('not today');
    // At once, and not only when the file is back.
    await expect.poll(async () => await markOf(stage), { timeout: 30_000 }).toBeUndefined();
    const back = stage.file({ name: 'a', ...(way === 'prune' ? {} : { source: '1.10' }) });
    stage.remote.push(way === 'prune' ? {} : { [tombstone]: null });
    await stage.untilAppliedAgain(Object.fromEntries([back]));
    allow();
    const release = (await stage.read('a', 'HelmRelease'))?.metadata.uid;
    await deleteByHand(stage);
    await stage.untilReady('a');
    expect((await stage.read('a', 'HelmRelease'))?.metadata.uid).toBe(release);
    expect(stage.deletes).toEqual(['applicationinstances/a']);
  },
  60_000,
);

it.each([
  ['the file is put back while the operator is away', true],
  ['pruning is turned off while the operator is away', false],
])(
  'a mark that a crash left before its delete is taken off when %s',
  async (_what, isWanted) => {
    await using stage = await GitStage.start(NAMES, { prune_on_removal: true });
    // The delete fails, and so does what takes the mark back: what a process that ends in between leaves.
    const allow = refuseDeletes(stage, 'no answer');
    const keep = stage.world.cluster.sandbox.faults.add({
      match: ({ method, path, query }) =>
        method === 'PATCH' &&
        path.endsWith('/applicationinstances/a') &&
        query.get('fieldManager') === 'service-operator-meta' &&
        stage.deletes.length > 0,
      respond: { status: 500, body: '{}' },
    });
    stage.push({ [fileOf('a')]: null });
    await expect.poll(() => stage.deletes.length, { timeout: 15_000 }).toBeGreaterThan(0);
    await stage.world.stopAll();
    allow();
    keep();
    expect(await markOf(stage)).toMatch(/^pruned:/);
    const release = (await stage.read('a', 'HelmRelease'))?.metadata.uid;
    if (isWanted) stage.push(Object.fromEntries([stage.file({ name: 'a' })]));
    else stage.tell({ prune_on_removal: false });
    stage.deletes.length = 0;
    // A person deletes it before the operator is back, which then finds the mark on an object that goes.
    await stage.world.cluster.api.delete(INSTANCE);
    await stage.world.start();
    if (isWanted) await stage.untilReady('a');
    else await stage.untilGone('a');
    expect((await stage.read('a', 'HelmRelease'))?.metadata.uid).toBe(release);
    expect(stage.deletes).toEqual(['applicationinstances/a']);
  },
  60_000,
);

it('a mark that a person sets is believed as ever, on an object that is wanted too', async () => {
  await using stage = await GitStage.start(NAMES, { prune_on_removal: true });
  const metadata = { annotations: { [MARK]: 'yes' } };
  await stage.world.cluster.api.mergePatch(INSTANCE, { metadata }, { fieldManager: 'kubectl-annotate' });
  stage.push({
    [`${DIRECTORY}/README.md`]: 'an ordinary commit\n',
    ...Object.fromEntries([stage.file({ name: 'f' })]),
  });
  await stage.untilReady('f');
  expect(await markOf(stage)).toBe('yes');
  await deleteByHand(stage);
  expect(stage.deletes).toContain('helmreleases/a');
}, 60_000);
