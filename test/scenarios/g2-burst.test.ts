import { expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { delivered, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';

it('G2: 200 intents of 200 clusters are one push, and one fetch of what is new', { timeout: 60_000 }, async () => {
  await using server = await startAcme();
  await using delivery = writerOn(server);
  await delivered(delivery, [apply({ slug: 'first' })]);
  const before = server.requests.length;
  const batch = Array.from({ length: 200 }, (_, index) => apply({ slug: `cluster-${index}` }));
  const commits = await delivered(delivery, batch);
  expect(new Set(commits).size).toBe(200);
  expect(await onServer(server, 'rev-list', '--reverse', '--max-count=200', 'main')).toBe(commits.join('\n'));
  // The tip was known: nothing is asked for, and nothing fetched.
  expect(server.requests.slice(before).map(({ url }) => url)).toEqual(['/git/acme.git/git-receive-pack']);
});

it(
  'G2: 200 intents accepted at once are few pushes, with one commit and one receipt each',
  { timeout: 90_000 },
  async () => {
    await using plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    const clusters = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => plane.newCluster(`cluster-${index}`)),
    );
    const accepted = await Promise.all(
      clusters.flatMap((id) =>
        Array.from({ length: 10 }, async (_, index) =>
          plane.call('POST', `/clusters/${id}/intents`, { ...INSTALL, name: `app-${index}` }),
        ),
      ),
    );
    expect(new Set(accepted.map(({ status }) => status))).toEqual(new Set([202]));
    const ids = accepted.map(({ body }) => String(body['id']));
    await expect
      .poll(() => plane.query("SELECT count(*) AS n FROM intents WHERE state = 'delivered'")[0]?.['n'], {
        timeout: 60_000,
      })
      .toBe(200);
    expect((await plane.committedIntents()).toSorted()).toEqual(ids.toSorted());
    const receipts = plane.query('SELECT commit_id FROM receipts').map(({ commit_id: id }) => id);
    expect(new Set(receipts).size).toBe(200);
    // Each move of the branch is one push; the first is the repository's start.
    const moves = (await plane.git('reflog', '--format=%H', 'main')).trim().split('\n').length;
    // Two where nothing else is at work: how many depends on how long it takes to accept them all.
    expect(moves - 1).toBeLessThanOrEqual(10);
  },
);
