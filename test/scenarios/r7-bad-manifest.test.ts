import { expect, it } from 'vitest';
import { DIRECTORY, fileOf, GitStage } from './git-stage.ts';

const GOOD = Array.from({ length: 40 }, (_, n) => `app-${n}`);

it('R7: one bad manifest in a directory does not stop the other forty; it is named in a condition', async () => {
  await using stage = await GitStage.start(['app-0'], { prune_on_removal: true });
  const files = Object.fromEntries(GOOD.map((name) => stage.file({ name })));
  stage.push({
    ...files,
    [fileOf('broken')]: 'apiVersion: apps.service.io/v1alpha1\nkind: [',
    [`${DIRECTORY}/README.md`]: 'hello',
  });
  const said = await stage.untilHeld('ManifestInvalid');
  expect(said).toMatch(/: 1 of 41 not applied: apps\/shop\/broken\.yaml: ManifestInvalid: .*line 2/);
  await expect.poll(async () => Object.keys(await stage.identities()).length, { timeout: 20_000 }).toBe(40);
  // What is judged of the whole is judged before anything is written, and each fault is named: two files for one object,
  // a tombstone with its manifest, a wrong place, a circle.
  stage.push({
    [fileOf('broken')]: null,
    [fileOf('copy')]: files[fileOf('app-1')] ?? null,
    ...Object.fromEntries([
      stage.file({ name: 'x', spec: { dependsOn: [{ name: 'y' }] } }),
      stage.file({ name: 'y', spec: { dependsOn: [{ name: 'x' }] } }),
      stage.file({ name: 'app-2', source: '1.2', version: '6.6.1' }),
      // Older than the manifest beside it: it stays in Git for 90 days, and asks for nothing.
      stage.tombstone({ name: 'app-3', generation: 1 }),
    ]),
  });
  const all = await stage.untilHeld('PartlyApplied');
  expect(all).toContain('3 of ');
  expect(all).toContain(
    'apps/shop/copy.yaml: holds ApplicationInstance shop/app-1, whose place is apps/shop/app-1.yaml',
  );
  expect(all.match(/dependsOn goes in a circle[^;]*: shop\/x, shop\/y/g)).toHaveLength(2);
  await expect
    .poll(async () => (await stage.read('app-2'))?.status?.release?.chartVersion, { timeout: 10_000 })
    .toBe('6.6.1');
  // Nothing goes while a file cannot be read, however sure the vanishing of another looks.
  stage.push({ [fileOf('app-39')]: null });
  await expect
    .poll(async () => await stage.untilHeld('PartlyApplied'), { timeout: 15_000 })
    .toContain(
      'nothing is removed for apps/shop/app-39.yaml while a file of the directory cannot be read: apps/shop/copy.yaml',
    );
  expect([Object.keys(await stage.identities()).length, stage.deletes]).toEqual([40, []]);
  stage.push({ [fileOf('copy')]: null, [fileOf('x')]: null, [fileOf('y')]: null });
  await stage.untilGone('app-39');
  expect(stage.deletes.filter((path) => path.startsWith('applicationinstances/'))).toEqual([
    'applicationinstances/app-39',
  ]);
}, 90_000);
