import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { findCondition } from '../../src/resources/conditions.ts';
import { createLoopbackCertificate } from '../../src/sandbox/loopback-certificate.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { fileOf, GitStage } from './git-stage.ts';

it('R5: a delete before the first write is done at once, is said, and holds nothing up', async () => {
  await using stage = await GitStage.start(['a']);
  const revision = stage.push(Object.fromEntries([stage.tombstone({ name: 'never' }), stage.file({ name: 'b' })]));
  await stage.untilApplied(revision);
  await stage.untilReady('b');
  const told = (): unknown =>
    stage.plane.events.find(({ resourceRef, source }) => resourceRef.name === 'never' && source?.intentId === 'int-9');
  await expect
    .poll(told, { timeout: 30_000 })
    .toMatchObject({ conditions: [{ type: 'Ready', reason: 'Uninstalled' }] });
  expect(stage.deletes).toEqual([]);
}, 60_000);

it('R5: a delete without rights says which and how to give them, the rest goes on, and it goes once they are back', async () => {
  await using stage = await GitStage.start(['a', 'b']);
  const message =
    'applicationinstances.apps.service.io "a" is forbidden: User "x" cannot delete resource in the namespace "shop"';
  const restore = stage.world.cluster.sandbox.faults.add({
    match: ({ method, path }) => method === 'DELETE' && path.endsWith('/applicationinstances/a'),
    respond: {
      status: 403,
      body: JSON.stringify({ kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message }),
    },
  });
  const revision = stage.push({
    [fileOf('a')]: null,
    ...Object.fromEntries([stage.tombstone({ name: 'a' }), stage.file({ name: 'b', source: '1.2', version: '6.6.1' })]),
  });
  const said = await stage.untilHeld('NamespaceNotGranted');
  expect(said).toContain('tombstones/shop/a.json');
  expect(said).toContain('servicectl namespaces add shop');
  await expect
    .poll(async () => (await stage.read('b'))?.status?.release?.chartVersion, { timeout: 10_000 })
    .toBe('6.6.1');
  restore();
  await stage.untilGone('a');
  await stage.untilApplied(revision);
}, 60_000);

it('R5: a delete whose webhook has no server any more fails bounded, is named, and goes once that is mended', async () => {
  await using stage = await GitStage.start(['a', 'b']);
  const name = 'gone.example.com';
  const rules = [{ apiGroups: ['apps.service.io'], apiVersions: ['*'], operations: ['DELETE'], resources: ['*'] }];
  const caBundle = Buffer.from(createLoopbackCertificate().cert).toString('base64');
  const hook = {
    name,
    clientConfig: { url: `https://127.0.0.1:${await closedPort()}/x`, caBundle },
    rules,
    failurePolicy: 'Fail',
    sideEffects: 'None',
    timeoutSeconds: 1,
    admissionReviewVersions: ['v1'],
  };
  const ref = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
  await stage.world.cluster.api.create({ ...ref, metadata: { name }, webhooks: [hook] }, 'test');
  const started = performance.now();
  const revision = stage.push({
    [fileOf('a')]: null,
    ...Object.fromEntries([stage.tombstone({ name: 'a' }), stage.file({ name: 'c' })]),
  });
  const said = await stage.untilHeld('DeleteFailed');
  expect(said).toContain(name);
  await stage.untilReady('c');
  expect(performance.now() - started).toBeLessThan(15_000);
  await stage.world.cluster.api.delete({ ...ref, name });
  await stage.untilGone('a');
  await stage.untilApplied(revision);
}, 60_000);

it('R5: a release that does not go is waited for ten minutes, then what is left is listed with the way out of it', async () => {
  const clock = new SkippingClock();
  await using stage = await GitStage.start(['a', 'b'], {}, { clock });
  const release = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', namespace: 'shop', name: 'a' };
  // Whoever runs Flux, or its account, is gone: its finalizer stays.
  const { api } = stage.world.cluster;
  const held = await stage.read('a', 'HelmRelease');
  await api.mergePatch(release, {
    metadata: { finalizers: [...(held?.metadata.finalizers ?? []), 'example.com/nobody'] },
  });
  const revision = stage.push({
    [fileOf('a')]: null,
    ...Object.fromEntries([stage.tombstone({ name: 'a' }), stage.file({ name: 'c' })]),
  });
  // The directory is not held up by what goes on in the cluster.
  await stage.untilApplied(revision);
  await stage.untilReady('c');
  await stage.untilReady('a', 'False', 'Uninstalling');
  const stalled = async (): Promise<string | undefined> =>
    findCondition((await stage.read('a'))?.status?.conditions ?? [], 'Stalled')?.message;
  for (let minute = 0; minute < 11; minute += 1) {
    clock.skip(60_000);
    await stage.world.until('ControllersHealthy', 'True', 'ControllersRunning');
  }
  await expect.poll(stalled, { timeout: 15_000 }).toContain('is not gone after 10 minutes');
  const left = await stalled();
  expect(left).toContain('Left: HelmRelease shop/a (finalizers: ');
  expect(left).toContain('ApplicationInstance shop/a');
  expect(left).toContain(
    `kubectl -n shop patch applicationinstance a --type=merge -p '{"spec":{"deletionPolicy":"Orphan"}}'`,
  );
  // Never stuck: the way that is named is one.
  await api.mergePatch(
    { ...release, apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' },
    { spec: { deletionPolicy: 'Orphan' } },
  );
  await stage.untilGone('a');
  expect(await stage.read('a', 'HelmRelease')).toBeDefined();
}, 90_000);

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  return port;
}
