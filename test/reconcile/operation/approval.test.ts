import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConsumedApprovals } from '../../../src/reconcile/consumed-approvals.ts';
import type { Operation } from '../../../src/resources/operation.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { NO_APPROVALS } from '../../../src/policy/cluster-policy.ts';
import { anOperation, approved, controlPlaneKey } from '../../policy/signed-approval.ts';
import { aPolicy, CLUSTER_ID } from '../manifests.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

const REF = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'job' };
const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
const KEYS = [new Secret('{"d":"first"}'), new Secret('{"d":"second"}')] as const;
const NOW = Math.floor(Date.now() / 1000);

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
  stage.policy = aPolicy({
    operationTemplates: ['run-job', 'rollout-restart'],
    signingKeys: [controlPlaneKey.publicJwk],
    approvals: { ...NO_APPROVALS, operationTemplates: ['run-job'] },
  });
  await withKeys(KEYS[0]);
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function withKeys(...ring: readonly Secret[]): Promise<void> {
  await stage.stop();
  const approvals = new ConsumedApprovals({
    api: stage.cluster.api,
    clock: systemClock,
    clusterId: () => CLUSTER_ID,
  });
  stage.options = { approvals, keyRing: () => ring };
  await stage.start();
}

async function anApproved(): Promise<Operation['spec']> {
  const spec = { template: 'run-job', parameters: { image: 'busybox' } };
  const plain = { ...anOperation({}, { name: 'job' }), spec };
  return (await approved(plain, { iat: NOW - 1, exp: NOW + 86_400 })).spec;
}

async function pause(value: string | null): Promise<void> {
  await stage.cluster.api.mergePatch(NAMESPACE, { metadata: { annotations: { 'ops.service.io/paused': value } } });
}

async function makeByHand(spec: Operation['spec']): Promise<void> {
  const { apiVersion, kind, namespace, name } = REF;
  await stage.cluster.api.create<Operation>({ apiVersion, kind, metadata: { namespace, name }, spec }, 'kubectl');
}

async function setStatus(status: Readonly<Record<string, unknown>> | null): Promise<void> {
  await stage.cluster.api.mergePatch(REF, { status }, { subresource: 'status', fieldManager: 'kubectl' });
}

function messageOf({ status }: Operation): string {
  return status?.conditions?.find(({ type }) => type === status.phase)?.message ?? '';
}

describe('the approval of an operation', () => {
  it('that was cancelled before its start is good for nothing any more', async () => {
    await pause('true');
    const spec = await anApproved();
    await stage.deliver(spec);
    await stage.until('Blocked', Reason.Paused);
    await stage.patch({ spec: { cancel: true } });
    await stage.until('Cancelled', Reason.OperationCancelled);
    await pause(null);
    await stage.cluster.api.delete(REF);
    await stage.untilGone();
    await makeByHand(spec);
    expect(messageOf(await stage.until('Blocked', Reason.ApprovalUsed))).toContain(
      'used already, by Operation shop/job',
    );
    expect(stage.runner.starts).toEqual([]);
  });

  it('is withdrawn with one that is cancelled at first sight', async () => {
    await stage.stop();
    const spec = await anApproved();
    await stage.deliver({ ...spec, cancel: true });
    await stage.start();
    await stage.until('Cancelled');
    await stage.cluster.api.delete(REF);
    await stage.untilGone();
    await makeByHand(spec);
    await stage.until('Blocked', Reason.ApprovalUsed);
    expect(stage.runner.starts).toEqual([]);
  });

  it('that is deleted while it is Blocked is no use to another of its name', async () => {
    await pause('true');
    const spec = await anApproved();
    await stage.deliver(spec);
    await stage.until('Blocked', Reason.Paused);
    await stage.cluster.api.delete(REF);
    await stage.untilGone();
    await makeByHand(spec);
    await stage.until('Blocked', Reason.Paused);
    await pause(null);
    expect(messageOf(await stage.until('Blocked', Reason.ApprovalUsed))).toContain('by Operation shop/job');
    expect(stage.runner.starts).toEqual([]);
  });

  it('does not let one run again whose status somebody takes away', async () => {
    stage.runner.first = { state: 'succeeded', reason: Reason.JobCompleted, message: 'done' };
    await stage.deliver(await anApproved());
    await stage.until('Succeeded');
    await stage.stop();
    await stage.cluster.api.mergePatch(
      REF,
      { status: { conditions: null, phase: null, attempts: null, finishedAt: null } },
      { subresource: 'status', fieldManager: 'kubectl' },
    );
    await stage.start();
    expect(messageOf(await stage.until('Blocked', Reason.ApprovalUsed))).toContain('which has ended');
    expect(stage.runner.starts).toEqual(['job-1']);
  });
});

describe('a status that says that an operation runs', () => {
  const startedAt = new Date().toISOString();
  const run = { template: 'rollout-restart', parameters: { name: 'other' }, deadlineSeconds: 600, retries: 3 };

  it('and was written by somebody else lets nothing run, approved or not', async () => {
    await stage.stop();
    await makeByHand({ template: 'run-job', parameters: { image: 'busybox' } });
    await setStatus({ phase: 'Running', startedAt, attempts: 1, run, seal: 'A'.repeat(43) });
    await stage.start();
    const live = await stage.until('Failed', Reason.StatusAltered);
    expect(messageOf(live)).toMatch(/somebody changed it, or the keypair of the cluster was lost since; .* ask for/);
    expect([stage.runner.starts, stage.runner.stops]).toEqual([[], []]);
  });

  it.each([
    ['what runs', { run: { ...run, template: 'run-job', parameters: { image: 'other' } } }],
    ['another try', { attempts: 7 }],
    ['a next try', { nextTryAt: startedAt }],
    ['a later start', { startedAt: '2999-01-01T00:00:00Z' }],
  ])('is not gone on with where somebody changed %s', async (_, change) => {
    await stage.deliver(await anApproved());
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
    await stage.stop();
    await setStatus(change);
    await stage.start();
    await stage.until('Failed', Reason.StatusAltered);
    expect(stage.runner.starts).toEqual(['job-1']);
  });

  it('is gone on with by a new key while the old one is kept, and not once it is lost', async () => {
    await stage.deliver(await anApproved());
    await vi.waitFor(async () => expect((await stage.read())?.status?.begun).toBe(1), 30_000);
    const before = (await stage.read())?.status?.seal;
    await withKeys(KEYS[1], KEYS[0]);
    await vi.waitFor(async () => expect((await stage.read())?.status?.seal).not.toBe(before), 30_000);
    await withKeys(KEYS[1]);
    await stage.cluster.api.mergePatch(REF, { metadata: { labels: { looked: 'at' } } });
    expect((await stage.until('Running')).status?.attempts).toBe(1);
    await withKeys(KEYS[0]);
    await stage.until('Failed', Reason.StatusAltered);
    expect([stage.runner.starts, stage.runner.stops]).toEqual([['job-1'], []]);
  });
});
