import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { commitByHand, delivered, onServer, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';
import { git, gitFailure } from '../git/git-server.ts';

const SCOPE = [{ clusterId: 'c-prod-eu', directory: 'clusters/prod-eu' }];

it('G5: a push from a shallow copy adds exactly its commits, and the whole history stays', async () => {
  await using server = await startAcme();
  for (let count = 0; count < 20; count += 1) await commitByHand(server, 'README.md', `${count}\n`);
  const before = await onServer(server, 'rev-parse', 'main');
  server.tokens.set('eu', { repository: 'acme', access: { access: 'write', scope: SCOPE } });
  const shallow = join(server.folder, 'shallow');
  await git(server.folder, ['clone', '--quiet', '--depth=1', server.remote('acme', 'eu'), shallow]);
  const file = join(shallow, 'clusters/prod-eu/apps/shop/podinfo.yaml');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'a: b\n');
  await git(shallow, ['add', '-A']);
  await git(shallow, ['commit', '--quiet', '-m', 'shallow', '-m', 'Cluster-Id: c-prod-eu']);
  await git(shallow, ['push', '--quiet', 'origin', 'HEAD:main']);
  expect(await onServer(server, 'rev-list', '--count', `${before}..main`)).toBe('1');
  expect(await onServer(server, 'rev-list', '--count', 'main')).toBe('22');
  expect(await onServer(server, 'rev-parse', '--is-shallow-repository')).toBe('false');
  // A shallow copy that was left behind cannot take the others' commits away, not by force either.
  await commitByHand(server, 'README.md', 'moved\n');
  const moved = await onServer(server, 'rev-parse', 'main');
  await git(shallow, ['commit', '--quiet', '--amend', '-m', 'again', '-m', 'Cluster-Id: c-prod-eu']);
  expect(await gitFailure(shallow, ['push', '--force', 'origin', 'HEAD:main'])).toMatch(/non-fast-forward|fetch first/);
  expect(await onServer(server, 'rev-parse', 'main')).toBe(moved);
});

it('G5: the writer adds exactly the commits of its receipts, from the tip that the host is at', async () => {
  await using server = await startAcme();
  for (let count = 0; count < 20; count += 1) await commitByHand(server, 'README.md', `${count}\n`);
  const before = await onServer(server, 'rev-parse', 'main');
  const commands: string[] = [];
  await using delivery = writerOn(server, {
    fetchLike: async (url, init) => {
      const { body } = init;
      if (body instanceof Uint8Array) commands.push(Buffer.from(body).toString('latin1', 4, 85));
      return await fetch(url, init);
    },
  });
  const commits = await delivered(delivery, [apply({ name: 'one' }), apply({ name: 'two' })]);
  expect(await onServer(server, 'rev-list', '--reverse', `${before}..main`)).toBe(commits.join('\n'));
  await onServer(server, 'merge-base', '--is-ancestor', before, 'main');
  // Old and new tip: the host moves the branch only from there.
  expect(commands).toEqual([`${before} ${commits[1]}`]);
});
