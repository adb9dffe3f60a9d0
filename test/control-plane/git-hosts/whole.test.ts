import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { SshServer } from '../../git/remote/ssh-server.ts';
import { OperatorWorld } from '../../operator/operator-world.ts';
import { playReleases } from '../../operator/play-releases.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';
import { FakeGitHost } from './fake-git-host.ts';

const INSTANCE = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop' };
const WRITE = 'a-token-that-writes';
const READ = 'a-token-that-reads';

/** A repository as an admin registers it, and where its bare one is. */
interface Registered {
  readonly body: Record<string, unknown>;
  readonly path: string;
}

async function overHttps(): Promise<Registered> {
  const host = await FakeGitHost.start();
  onTestFinished(async () => await host[Symbol.asyncDispose]());
  host.tokens.set(WRITE, { access: 'write' });
  host.tokens.set(READ, { access: 'read' });
  const url = host.newRepository();
  const read = { kind: 'token', username: 'reader', token: READ };
  return {
    body: { url, host: 'git', caCertificate: host.ca, write: { kind: 'token', token: WRITE }, read },
    path: join(host.folder, 'acme/fleet.git'),
  };
}

async function overSsh(): Promise<Registered> {
  const server = await SshServer.start();
  onTestFinished(async () => await server[Symbol.asyncDispose]());
  const { url, path } = await server.newRepository('fleet.git');
  const { privateKey, knownHosts } = await server.newKey('writer');
  const reader = await server.newKey('reader', 'read');
  const write = { kind: 'ssh', privateKey: privateKey.expose(), knownHosts };
  const read = { kind: 'ssh', privateKey: reader.privateKey.expose(), knownHosts: reader.knownHosts };
  return { body: { url, host: 'git', write, read }, path };
}

test.each([
  { over: 'HTTPS with an own certificate authority and a token', register: overHttps },
  { over: 'SSH with deploy keys', register: overSsh },
])(
  'an intent goes to another Git host over $over, the operator reads it there, and it is ready, and gone again',
  async ({ register }) => {
    const { body, path } = await register();
    const plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
    onTestFinished(async () => await plane[Symbol.asyncDispose]());
    const world = await OperatorWorld.start();
    onTestFinished(async () => await world[Symbol.asyncDispose]());
    const releases = playReleases(world, demoCharts());
    onTestFinished(async () => await releases[Symbol.asyncDispose]());
    await plane.putPodinfo();
    const put = await plane.call('PUT', '/repositories/plain', body);
    expect(put.body['repository']).toMatchObject({ probe: { state: 'ready' } });
    const clusterId = await plane.newCluster('prod-eu', { git: { repository: 'plain' } });
    const registration = await plane.call('POST', `/clusters/${clusterId}/registration-token`);
    await plane.call('PATCH', `/clusters/${clusterId}`, { intervals: { eventBatchMs: 20 } });
    await world.join(plane.url, String(registration.body['registrationToken']));
    await world.start();
    await world.until('ControllersHealthy', 'True', 'ControllersRunning');

    const asked = await plane.call('POST', `/clusters/${clusterId}/intents`, INSTALL);
    const ready = await plane.until(String(asked.body['id']), 'ready');
    const tip = execFileSync('git', ['-C', path, 'rev-parse', 'main'], { encoding: 'utf8' }).trim();
    expect(ready['receipt']).toMatchObject({ mode: 'gitops', commit: tip });
    const instance = await world.cluster.api.get({ ...INSTANCE, name: 'podinfo' });
    expect(instance?.metadata.annotations?.['app.service.io/intent-id']).toBe(asked.body['id']);
    await world.until('Synced', 'True', 'Applied');

    const gone = { action: 'uninstall', namespace: 'shop', name: 'podinfo' };
    const removed = await plane.call('POST', `/clusters/${clusterId}/intents`, gone);
    await plane.until(String(removed.body['id']), 'removed');
    expect(await world.cluster.api.get({ ...INSTANCE, name: 'podinfo' })).toBeUndefined();
  },
  90_000,
);
