import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { INSTALL } from '../../control-plane/running-control-plane.ts';
import { WholeSystem } from '../whole-system.ts';

describe('an intent on its way to a cluster in pull mode and back', () => {
  it('becomes a job, is applied, released and reported ready; an upgrade keeps the object; an uninstall removes it', async () => {
    await using system = await WholeSystem.start(systemClock, 'pull');
    await system.bring(INSTALL, 'ready');
    const installed = await system.instance('podinfo');
    expect(installed?.metadata.labels).toMatchObject({
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': system.clusterId,
    });
    // A job is no revision: an empty one was refused by some API servers, with all of the status.
    expect((installed as { status?: { source?: unknown } } | undefined)?.status?.source).toEqual({
      mode: 'pull',
      intentId: expect.stringMatching(/^int-/),
    });
    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
    expect((await system.instance('podinfo'))?.metadata.uid).toBe(installed?.metadata.uid);
    await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.2', values: { replicaCount: -1 } }, 'failed');
    await system.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
    expect(await system.instance('podinfo')).toBeUndefined();

    await expect
      .poll(
        async () => {
          const { body } = await system.plane.call('GET', `/clusters/${system.clusterId}/jobs`);
          const items = body['items'] as readonly { kind: string; state: string; outcome?: string }[];
          return items.map(({ kind, state, outcome }) => `${kind} ${state} ${outcome}`).toSorted();
        },
        { timeout: 10_000 },
      )
      .toEqual(['apply closed failed', 'apply closed succeeded', 'apply closed succeeded', 'delete closed succeeded']);
  });

  it('travels as an intent that the operator renders to the very same object, signed and encrypted', async () => {
    await using system = await WholeSystem.start(systemClock, 'pull', {
      security: { requireSignedPayloads: true, requireEncryptedSecretPayloads: true },
    });
    const { plane } = system;
    const patched = await plane.call('PATCH', `/clusters/${system.clusterId}`, { deliverIntents: true });
    expect(patched.status).toBe(200);
    const { body: entry } = await plane.call('GET', '/catalog/podinfo');
    const { chart, versions } = entry as { chart: unknown; versions: unknown };
    await plane.call('PUT', '/catalog/podinfo', { chart, versions, defaultValues: { ui: { color: 'blue' }, b: 1 } });
    await system.bring({ ...INSTALL, values: { b: 2, a: 'x' } }, 'ready');
    expect((await system.instance('podinfo'))?.['spec']).toMatchObject({
      values: { ui: { color: 'blue' }, b: 2, a: 'x' },
    });
    const { body } = await plane.call('GET', `/clusters/${system.clusterId}/jobs`);
    expect((body['items'] as readonly { kind: string }[]).map(({ kind }) => kind)).toEqual(['intent']);
    await system.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
  });
});
