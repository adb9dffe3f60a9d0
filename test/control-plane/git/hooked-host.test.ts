import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { FakeGitHost } from '../git-hosts/fake-git-host.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const TOKEN = 'a-token-of-the-fleet';
const HOOK = join(import.meta.dirname, '../../../examples/git-hooks/update');

it('a move that the hook of another host refuses says what the hook said and what to do', async () => {
  await using plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  await using host = await FakeGitHost.start();
  host.tokens.set(TOKEN, { access: 'write' });
  const url = host.newRepository();
  await plane.putPodinfo();
  const body = { url, host: 'git', caCertificate: host.ca, write: { kind: 'token', token: TOKEN } };
  expect((await plane.call('PUT', '/repositories/lab', body)).status).toBe(201);
  const id = await plane.newCluster('prod-eu', { git: { repository: 'lab' } });
  const installed = join(host.folder, 'acme/fleet.git/hooks/update');
  copyFileSync(HOOK, installed);
  chmodSync(installed, 0o755);
  host.git(['config', 'scope.writer', 'somebody']);
  host.git(['config', 'scope.directory', `${id} clusters/prod-eu`]);
  const { body: asked } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  await plane.until(String(asked['id']), 'delivered');
  const moved = await plane.call('POST', '/repositories/lab/layout', { layout: 'sharded' });
  expect(moved).toMatchObject({
    status: 409,
    body: {
      message: expect.stringMatching(
        /^repository lab keeps the flat layout: the Git host refused it: .*Cluster-Id.*take it away for this one push$/s,
      ),
    },
  });
}, 60_000);
