import { expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { delivered, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';
import { git } from '../git/git-server.ts';

it(
  'G10: twenty writers at once on one branch all land, without force, merge or rewritten history',
  { timeout: 60_000 },
  async () => {
    await using server = await startAcme();
    const before = await onServer(server, 'rev-parse', 'main');
    await using stack = new AsyncDisposableStack();
    const writers = Array.from({ length: 20 }, (_, index) => {
      // Most read the repository in place, as they can where the host is embedded; the others have a mirror.
      const place = index % 4 === 0 ? {} : { localPath: server.path('acme') };
      const repository = {
        name: 'acme',
        url: server.remote('acme'),
        branch: 'main',
        layout: 'flat' as const,
        ...place,
      };
      const delivery = stack.use(writerOn(server, { clock: systemClock, repository }));
      return {
        delivery,
        batch: [apply({ slug: `cluster-${index}` }), apply({ slug: `cluster-${index}`, name: 'second' })],
      };
    });
    const commits = await Promise.all(writers.map(async ({ delivery, batch }) => delivered(delivery, batch)));
    const history = (await onServer(server, 'rev-list', 'main')).split('\n');
    expect(history.length).toBe(41);
    expect(history.at(-1)).toBe(before);
    expect(commits.flat().toSorted()).toEqual(history.slice(0, -1).toSorted());
    // A straight line: nobody merged.
    expect(await onServer(server, 'rev-list', '--min-parents=2', 'main')).toBe('');
    await git(server.path('acme'), ['fsck', '--strict']);
  },
);
