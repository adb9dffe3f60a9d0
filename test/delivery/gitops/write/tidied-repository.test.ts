import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { git, type GitServer } from '../../../git/git-server.ts';
import { apply } from './rendered-intent.ts';
import { delivered, onServer, startAcme, writerOn } from './writer.ts';

let server: GitServer;

beforeEach(async () => {
  server = await startAcme();
});

afterEach(async () => {
  // Whatever a test did, plain git finds nothing wrong.
  await git(server.path('acme'), ['fsck', '--strict']);
  await server[Symbol.asyncDispose]();
});

describe('GitopsDelivery into a repository that is tidied', () => {
  it('goes on while the host tidies its repository', async () => {
    await using delivery = writerOn(server, {
      repository: {
        name: 'acme',
        url: server.remote('acme'),
        branch: 'main',
        layout: 'flat',
        localPath: server.path('acme'),
      },
    });
    const tidying = async (): Promise<void> => server.host.tidy('acme', AbortSignal.timeout(60_000));
    for (let generation = 1; generation <= 4; generation += 1) {
      await Promise.all([tidying(), delivered(delivery, [apply({ generation, version: `6.5.${generation}` })])]);
    }
    const [commit] = await delivered(delivery, [apply({ slug: 'prod-us' })]);
    await tidying();
    expect(await onServer(server, 'count-objects')).toMatch(/^0 objects/);
    expect(await onServer(server, 'rev-parse', 'main')).toBe(commit);
    expect(await onServer(server, 'rev-list', '--count', 'main')).toBe('6');
  });
});
