import { expect, it, vi } from 'vitest';
import type { KubeObject, ObjectRef } from '../../../src/resources/kube-object.ts';
import { OPS_API_VERSION } from '../../../src/resources/labels.ts';
import { PAYLOAD_MANAGERS } from './delivering.ts';
import { SHOP } from './transport-cluster.ts';
import { WITHIN } from './transport-member.ts';
import type { TransportWorld } from './transport-world.ts';

/** A Job that does not end by itself. */
const HANGS = { image: 'registry.test/tool:1', command: ['sleep', 'infinity'] };

const operationRef = (name: string): ObjectRef => ({
  apiVersion: OPS_API_VERSION,
  kind: 'Operation',
  namespace: SHOP,
  name,
});
const jobRef = (name: string): ObjectRef => ({ apiVersion: 'batch/v1', kind: 'Job', namespace: SHOP, name });
const workloadRef = (name: string): ObjectRef => ({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: SHOP, name });

function deployment(name: string): KubeObject {
  const labels = { app: name };
  const containers = [{ name: 'main', image: 'registry.test/web:1' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: SHOP },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}

export function describeOperations(current: () => TransportWorld): void {
  it('runs once however often it is delivered, and is told to its end', async () => {
    const world = current();
    const { member } = world;
    await member.cluster.admin.create(deployment('restarted'), 'kubectl');
    const parameters = { name: 'restarted' };
    const operate = { action: 'operate', name: 'restart', operationTemplate: 'rollout-restart', parameters };
    const { id, generation } = await member.bring(operate, 'ready');
    const { metadata, status } = await member.read(operationRef('restart'));
    expect(status).toMatchObject({ phase: 'Succeeded', attempts: 1 });
    expect(metadata.labels).toMatchObject({ 'app.service.io/cluster-id': member.id });
    expect(metadata.annotations?.['app.service.io/source']).toMatch(new RegExp(String.raw`^\d+\.${generation}$`));
    const owners = (metadata.managedFields ?? []).map(({ manager }) => manager);
    expect(owners.filter((owner = '') => PAYLOAD_MANAGERS.includes(owner))).toEqual([world.transport.manager]);
    const before = await world.marks('restart');
    const restarted = (await member.read(workloadRef('restarted'))).metadata.generation;
    await world.loseReceipt(String(id));
    await member.until(String(id), 'ready');
    expect((await world.marks('restart')).writes).toEqual(before.writes);
    expect((await member.read(operationRef('restart'))).metadata.uid).toBe(metadata.uid);
    expect((await member.read(workloadRef('restarted'))).metadata.generation).toBe(restarted);
    // Each transition that counts is one entry, however often the operation was delivered.
    const entries = world.plane.query(
      "SELECT reason FROM audit WHERE cluster_id = ? AND source = 'agent' AND summary LIKE '%restart%' ORDER BY id",
      member.id,
    );
    expect(entries).toEqual([{ reason: 'OperationRunning' }, { reason: 'WorkloadRestarted' }]);
  });

  it('is cleared away after its time, and not run again when it is delivered again', async () => {
    const world = current();
    const { member } = world;
    await member.cluster.admin.create(deployment('cleared'), 'kubectl');
    const parameters = { name: 'cleared' };
    const operate = { action: 'operate', operationTemplate: 'rollout-restart', parameters, ttlSecondsAfterFinished: 0 };
    const { id } = await member.bring({ ...operate, name: 'clear-away' }, 'ready');
    await member.untilGone(operationRef('clear-away'));
    const restarted = (await member.read(workloadRef('cleared'))).metadata.generation;
    await world.loseReceipt(String(id));
    await vi.waitFor(async () => expect((await member.intent(String(id)))['state']).not.toBe('accepted'), WITHIN);
    await member.install('beside-the-cleared');
    expect(await member.find(operationRef('clear-away'))).toBeUndefined();
    expect((await member.read(workloadRef('cleared'))).metadata.generation).toBe(restarted);
  });

  it('is stopped by a cancel of its intent', async () => {
    const { member, plane } = current();
    const operate = { action: 'operate', operationTemplate: 'run-job', parameters: HANGS };
    const id = await member.accept({ ...operate, name: 'cancelled' });
    await member.untilSays(operationRef('cancelled'), 'Running', 'True OperationRunning');
    await vi.waitFor(async () => expect(await member.uidOf(jobRef('cancelled-1'))).toBeDefined(), WITHIN);
    const asked = await plane.call('POST', `/intents/${id}/cancel`, { reason: 'no longer wanted' });
    expect(asked.status).toBe(202);
    expect((await member.until(id, 'failed'))['reason']).toMatch(/Cancelled/);
    await member.untilSays(operationRef('cancelled'), 'Cancelled', 'True OperationCancelled');
    await member.untilGone(jobRef('cancelled-1'));
  });

  it('fails at its deadline, and what it had begun is stopped', async () => {
    const { member } = current();
    const operate = { action: 'operate', operationTemplate: 'run-job', parameters: HANGS };
    const late = await member.bring({ ...operate, name: 'late', deadlineSeconds: 1 }, 'failed');
    expect(late['reason']).toMatch(/^DeadlineExceeded: it had not ended 1 s after its start/);
    await member.untilGone(jobRef('late-1'));
  });
}
