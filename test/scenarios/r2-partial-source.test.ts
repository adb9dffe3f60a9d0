import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acceptanceIn, DIRECTORY, fileOf, GitStage } from './git-stage.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const gone = (...names: string[]): Record<string, null> =>
  Object.fromEntries(names.map((name) => [fileOf(name), null]));

describe.each([
  ['that prunes', true],
  ['that does not prune', false],
])('R2: a partial source, on a cluster %s,', (_, prunes) => {
  it('is held while its directory is missing, empty, unreadable or has lost most of its objects; nothing is deleted', async () => {
    await using stage = await GitStage.start(NAMES, { prune_on_removal: prunes });
    const before = await stage.identities();
    const files = Object.fromEntries(NAMES.map((name) => stage.file({ name })));

    stage.push(gone(...NAMES));
    expect(await stage.untilHeld('RemovalsHeld')).toContain(`${DIRECTORY} has no manifest any more`);
    stage.push({ [`${DIRECTORY}/README.md`]: 'an empty directory' });
    expect(await stage.untilHeld('RemovalsHeld')).toContain('nothing is taken for removed');
    await stage.untilAppliedAgain(files);

    stage.push(gone('a', 'b', 'c', 'd'));
    expect(await stage.untilHeld('RemovalsHeld')).toContain(
      'has lost 4 of 6 applied manifests and no tombstone says so (apps/shop/a.yaml, apps/shop/b.yaml, apps/shop/c.yaml, apps/shop/d.yaml)',
    );
    await stage.untilAppliedAgain(files);

    stage.host.refuse = (_request, response) => {
      response.writeHead(500).end('broken');
      return true;
    };
    stage.push(gone('a'));
    await stage.untilHeld('SourceUnreachable');
    stage.host.refuse = () => false;
    await stage.untilAppliedAgain(files);

    // Objects of the repository itself are lost at the host: what is left of the directory cannot be listed.
    stage.push({ ...gone('a'), [fileOf('z')]: files[fileOf('a')]?.replaceAll('name: a\n', 'name: z\n') ?? '' });
    rmSync(join(stage.remote.bare, 'objects'), { recursive: true });
    await stage.untilHeld('SourceUnreachable');
    await stage.world.restart();
    await stage.untilHeld('SourceUnreachable');
    expect([await stage.identities(), stage.deletes]).toEqual([before, []]);
  }, 90_000);
});

it('R2: what is held goes once a person accepts the revision, exactly that, and the operator may have restarted', async () => {
  await using stage = await GitStage.start(NAMES, { prune_on_removal: true });
  const revision = stage.push(gone('a', 'b', 'c', 'd'));
  const message = await stage.untilHeld('RemovalsHeld');
  expect(message).toContain(`--revision ${revision}@`);
  await stage.world.restart();
  await stage.untilHeld('RemovalsHeld');
  expect(stage.deletes).toEqual([]);
  stage.tell({ accepted_removals: acceptanceIn(message) });
  await stage.untilApplied(revision);
  for (const name of ['a', 'b', 'c', 'd']) await stage.untilGone(name);
  expect(Object.keys(await stage.identities())).toEqual(['e', 'f']);
  // Their releases went with them, and nothing else did.
  const released = stage.deletes.filter((path) => path.startsWith('helmreleases/')).sort();
  expect(released).toEqual(['a', 'b', 'c', 'd'].map((name) => `helmreleases/${name}`));
  // By the cluster's own admin, where no control plane can be asked: the two that are left are all.
  stage.push(gone('e', 'f'));
  const last = acceptanceIn(await stage.untilHeld('RemovalsHeld'));
  await stage.world.annotate({ 'ops.service.io/accept-removals': last });
  for (const name of ['e', 'f']) await stage.untilGone(name);
}, 90_000);
