import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { NO_APPROVALS, type ApprovalPolicy } from '../../../src/policy/cluster-policy.ts';
import { generateSigningKey } from '../../../src/protocol/signing-key.ts';
import type { ApprovalStatement } from '../../../src/protocol/approval-statement.ts';
import { approvedInstance, claimsFor, controlPlaneKey, sign } from '../../policy/signed-approval.ts';
import { anInstance, aPolicy, type InstanceOptions } from '../manifests.ts';
import { conditionsOf, instance, release, setStage, type Stage } from './stage.ts';

const USES = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'service-system', name: 'service-operator-approvals' };
const NOW = Math.floor(Date.now() / 1000);
const FROM_NOW = { iat: NOW - 60, exp: NOW + 3600 };
const [FIRST, SECOND] = [{ replicaCount: 1 }, { replicaCount: 2 }];

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function asking(approvals: Partial<ApprovalPolicy> = { catalogEntries: ['podinfo'] }, key = controlPlaneKey) {
  return aPolicy({ signingKeys: [key.publicJwk], approvals: { ...NO_APPROVALS, ...approvals } });
}

function wanted(values: object, more: InstanceOptions = {}) {
  return anInstance({ ...more, spec: { values: { ...values } } });
}

async function deliver(object: KubeObject): Promise<void> {
  await stage.cluster.api.apply(object, { fieldManager: 'service-operator', force: true });
}

async function deliverApproved(values: object, more: InstanceOptions, change: Partial<ApprovalStatement> = {}) {
  await deliver(await approvedInstance(wanted(values, more), { ...FROM_NOW, jti: more.intentId ?? 'a', ...change }));
}

async function released(): Promise<unknown> {
  return (await stage.cluster.api.get<HelmRelease>(release))?.spec.values;
}

async function uses(): Promise<readonly unknown[]> {
  const found = await stage.cluster.api.get<KubeObject & { data?: Record<string, string> }>(USES);
  return Object.values(found?.data ?? {}).map((text): unknown => JSON.parse(text));
}

it('waits for its approval, uses it once before the release, and goes on with it when it is there', async () => {
  stage.operator.allow(asking());
  await deliver(wanted(FIRST));
  const waiting = await stage.until('int-1', 'Stalled', 'ApprovalMissing');
  expect(conditionsOf(waiting)).toMatchObject({ Ready: 'False ApprovalMissing' });
  expect(JSON.stringify(waiting.status)).toContain('servicectl operations approve int-1');
  expect([await released(), await uses()]).toEqual([undefined, []]);

  await deliverApproved(FIRST, { intentId: 'int-1' });
  const live = await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  expect(await released()).toEqual(FIRST);
  const { uid } = live.metadata;
  expect(await uses()).toEqual([{ uid, about: 'ApplicationInstance shop/podinfo', exp: FROM_NOW.exp, order: 1 }]);
  const annotations = (await stage.cluster.api.get<HelmRelease>(release))?.metadata.annotations;
  const noted = annotations?.['app.service.io/released-spec'] ?? '';
  expect(noted.split('.')).toEqual([claimsFor(wanted(FIRST)).specHash, expect.stringMatching(/^[\w-]{43}$/)]);
  const order = stage.operator.recording.writes.filter((write) => /approvals|apply HelmRelease/.test(write));
  expect(order.slice(0, 2)).toEqual([
    'create ConfigMap service-system/service-operator-approvals',
    'apply HelmRelease shop/podinfo',
  ]);
});

it('takes an approval that came apart from it, as soon as that is there', async () => {
  stage.operator.allow(asking());
  await deliver(wanted(FIRST));
  await stage.until('int-1', 'Stalled', 'ApprovalMissing');
  const statement = await sign({ ...claimsFor(wanted(FIRST)), ...FROM_NOW });
  stage.operator.allow(asking({ catalogEntries: ['podinfo'], statements: [statement] }));
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
});

it('stays released when its approval does not count any more, and comes again where somebody deletes the release', async () => {
  stage.operator.allow(asking());
  await deliverApproved(FIRST, { intentId: 'int-1' });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  stage.operator.allow(asking({ catalogEntries: ['podinfo'] }, generateSigningKey()));
  const { uid } = (await stage.cluster.api.get(release))?.metadata ?? {};
  await stage.cluster.api.mergePatch(release, { spec: { values: { replicaCount: 9 } } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect(await released()).toEqual(FIRST), 30_000);
  await stage.cluster.api.delete(release);
  await vi.waitFor(async () => {
    const again = await stage.cluster.api.get<HelmRelease>(release);
    expect([again?.spec.values, again?.metadata.uid === uid]).toEqual([FIRST, false]);
  }, 8000);
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await stage.restart();
  stage.operator.allow(asking({ catalogEntries: ['podinfo'] }, generateSigningKey()));
  await stage.cluster.api.mergePatch(release, { spec: { values: { replicaCount: 9 } } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect(await released()).toEqual(FIRST), 30_000);
});

it('releases no other spec by the approval of one, by hand or by intent', async () => {
  stage.operator.allow(asking());
  await deliverApproved(FIRST, { intentId: 'int-1' });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await stage.cluster.api.mergePatch(instance, { spec: { values: SECOND } }, { fieldManager: 'kubectl-edit' });
  const live = await stage.until('int-1', 'Stalled', 'ApprovalInvalid');
  expect(JSON.stringify(live.status)).toContain('is for another spec');
  await stage.cluster.api.mergePatch(instance, { spec: { values: FIRST } }, { fieldManager: 'kubectl-edit' });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  expect(await released()).toEqual(FIRST);
});

it('goes back to an earlier spec by another approval alone, not by the one that was used before a later one', async () => {
  stage.operator.allow(asking());
  await deliverApproved(FIRST, { intentId: 'int-1', source: '1.1' });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await deliverApproved(SECOND, { intentId: 'int-2', source: '1.2' });
  await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
  await deliverApproved(FIRST, { intentId: 'int-3', source: '1.3' }, { jti: 'int-1' });
  const live = await stage.until('int-3', 'Stalled', 'ApprovalUsed');
  expect(JSON.stringify(live.status)).toContain('by ApplicationInstance shop/podinfo before a later approval');
  expect(await released()).toEqual(SECOND);
  await deliverApproved(FIRST, { intentId: 'int-4', source: '1.4' });
  await stage.until('int-4', 'Ready', 'HelmReleaseUpgraded');
});

it('made anew under its name has no use of the approval that was used', async () => {
  stage.operator.allow(asking());
  await deliverApproved(FIRST, { intentId: 'int-1' });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  await stage.uninstall('int-2');
  await stage.untilGone(instance);
  await deliverApproved(FIRST, { intentId: 'int-3', source: '1.3' }, { jti: 'int-1' });
  await stage.until('int-3', 'Stalled', 'ApprovalUsed');
  expect(await released()).toBeUndefined();
});

it('stays released where approvals are asked for from now on; the next change waits for one', async () => {
  await deliver(wanted(FIRST));
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  stage.operator.allow(asking({ namespaces: ['shop'] }));
  await stage.cluster.api.mergePatch(release, { spec: { values: { replicaCount: 9 } } }, { fieldManager: 'kubectl' });
  await vi.waitFor(async () => expect(await released()).toEqual(FIRST), 30_000);
  await deliver(wanted(SECOND, { intentId: 'int-2', source: '1.2' }));
  await stage.until('int-2', 'Stalled', 'ApprovalMissing');
  expect(await released()).toEqual(FIRST);
});

it('goes on after a crash between the use of its approval and the release', async () => {
  await stage.restart({
    beforeWrite: ({ verb, about }) => {
      if (verb === 'apply' && about.startsWith('HelmRelease')) throw new Error('killed');
    },
  });
  stage.operator.allow(asking());
  await deliverApproved(FIRST, { intentId: 'int-1' });
  await vi.waitFor(async () => expect(await uses()).toHaveLength(1), 8000);
  await stage.restart();
  stage.operator.allow(asking());
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  expect(await uses()).toHaveLength(1);
});
