import { expect, it } from 'vitest';
import type { DesiredSet } from '../../../../src/delivery/delivery.ts';
import { GitRemote, manifest } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const APPS = 'clusters/eu/apps/shop';
const keys = (set: DesiredSet): readonly string[] => set.objects.map(({ key }) => key);

it('hands its directory over anew after the mode was left, as it stands, and misses nothing of before', async () => {
  using remote = new GitRemote();
  remote.push({ [`${APPS}/podinfo.yaml`]: manifest('podinfo'), [`${APPS}/old.yaml`]: manifest('old') });
  // What is applied is of an earlier epoch, and so of no file.
  await using run = new SourceRun(remote, { applied: () => [] });
  run.tell({ pruneOnRemoval: true });
  expect(keys(await run.next())).toHaveLength(2);
  await run.atRest();
  run.update(undefined);
  await run.settledWithoutTarget();
  run.tell({ pruneOnRemoval: true });
  const same = await run.next();
  expect([keys(same).length, same.scope, same.prunes]).toEqual([2, 'complete', undefined]);
  await run.atRest();
  run.update(undefined);
  await run.settledWithoutTarget();
  remote.push({ [`${APPS}/old.yaml`]: null });
  run.tell({ pruneOnRemoval: true });
  const less = await run.next();
  expect([keys(less), less.scope, less.prunes, less.faults]).toEqual([
    ['apps/shop/podinfo.yaml'],
    'complete',
    undefined,
    [],
  ]);
});

it('hands nothing over that was read for a mode that was left meanwhile', async () => {
  using remote = new GitRemote();
  remote.push({ [`${APPS}/podinfo.yaml`]: manifest('podinfo') });
  await using run = new SourceRun(remote);
  run.tell();
  run.ask();
  await new Promise((resolve) => setImmediate(resolve));
  run.update(undefined);
  remote.push({ [`${APPS}/second.yaml`]: manifest('second') });
  run.tell();
  expect(keys(await run.next())).toHaveLength(2);
});
