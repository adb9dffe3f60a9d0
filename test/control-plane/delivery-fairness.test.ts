import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from './running-control-plane.ts';

it('lets a cluster that alone cannot be written for wait alone, and tries it again', { timeout: 90_000 }, async () => {
  await using plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  const good = await plane.newCluster('good');
  const bad = await plane.newCluster('bad', { git: { review: 'proposal' } });
  const accept = async (id: string, name: string): Promise<string> =>
    String((await plane.call('POST', `/clusters/${id}/intents`, { ...INSTALL, name })).body['id']);
  await plane.until(await accept(good, 'first'), 'delivered');
  // Something that no push can write around stands where the cluster's proposals go.
  const proposals = join(plane.folder, 'git/fleet.git/refs/heads/proposals');
  await mkdir(proposals, { recursive: true });
  await writeFile(join(proposals, 'bad'), `${(await plane.git('rev-parse', 'main')).trim()}\n`);
  const waiting = await Promise.all(Array.from({ length: 20 }, async (_, index) => accept(bad, `app-${index}`)));
  for (let count = 0; count < 20; count += 1) await plane.until(await accept(good, `app-${count}`), 'delivered');
  const states = async (): Promise<ReadonlySet<unknown>> =>
    new Set(plane.query('SELECT state FROM intents WHERE cluster_id = ?', bad).map(({ state }) => state));
  expect(await states()).toEqual(new Set(['accepted']));
  await rm(join(proposals, 'bad'));
  await expect.poll(states, { timeout: 60_000 }).toEqual(new Set(['proposed']));
  expect(
    (await plane.git('for-each-ref', '--format=%(refname:lstrip=4)', 'refs/heads/proposals'))
      .trim()
      .split('\n')
      .toSorted(),
  ).toEqual(waiting.toSorted());
});
