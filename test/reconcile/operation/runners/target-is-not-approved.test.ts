import { afterEach, beforeEach, expect, it } from 'vitest';
import { NO_APPROVALS } from '../../../../src/policy/cluster-policy.ts';
import { releaseReconcileRunner } from '../../../../src/reconcile/operation/runners/release-reconcile.ts';
import { releaseRollbackRunner } from '../../../../src/reconcile/operation/runners/release-rollback.ts';
import type { OperationRun } from '../../../../src/reconcile/operation/template-runner.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import { setStage, type Stage } from '../../application-instance/stage.ts';
import { aNamespace, aPolicy } from '../../manifests.ts';
import { aRun, RunStage } from './run-stage.ts';

const keys = { ring: [new Secret('the current key')] };
const ALLOWED = { allowedNamespaces: ['shop', 'vault'], operationTemplates: ['release-rollback', 'release-reconcile'] };
const MISSING =
  /^failed ApprovalMissing \(final\): ApplicationInstance shop\/podinfo has its effect in namespace vault, where whatever is done needs an approval/;
let stage: Stage;
let runners: Readonly<Record<'back' | 'look', RunStage>>;

beforeEach(async () => {
  stage = await setStage();
  await stage.restart({ keys });
  const more = { keyRing: () => keys.ring };
  runners = {
    back: new RunStage(releaseRollbackRunner, stage.cluster.api, more),
    look: new RunStage(releaseReconcileRunner, stage.cluster.api, more),
  };
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function released(): Promise<void> {
  await stage.cluster.api.create(aNamespace('vault'), 'test');
  stage.operator.allow(aPolicy(ALLOWED));
  await stage.deliver({ spec: { targetNamespace: 'vault' } });
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
}

/** A release of other values, or a look at the present one. */
function toWork(approvals: Partial<typeof NO_APPROVALS>, values?: object): OperationRun {
  const parameters = { application: 'podinfo', ...(values && { chartVersion: '6.6.0', values }) };
  return { ...aRun({ parameters }), policy: aPolicy({ ...ALLOWED, approvals: { ...NO_APPROVALS, ...approvals } }) };
}

function approved(run: OperationRun): OperationRun {
  const spec = { ...run.operation.spec, approval: { required: true } };
  return { ...run, operation: { ...run.operation, spec } };
}

it('an application is left alone without the approval that the namespace of its effect asks for', async () => {
  await released();
  const listed = { namespaces: ['vault'] };
  await expect(runners.back.start(toWork(listed, { replicaCount: 66 }))).resolves.toMatch(MISSING);
  await expect(runners.look.start(toWork(listed))).resolves.toMatch(MISSING);
  await expect(runners.look.start(toWork({ namespaces: ['bank'] }))).resolves.toBeUndefined();
  await expect(runners.back.start(approved(toWork(listed, { replicaCount: 66 })))).resolves.toBeUndefined();
});

it('the annotation of that namespace counts as well', async () => {
  await released();
  const annotations = { 'ops.service.io/approval-required': 'true' };
  await stage.cluster.api.mergePatch(
    { apiVersion: 'v1', kind: 'Namespace', name: 'vault' },
    { metadata: { annotations } },
  );
  await expect(runners.back.start(toWork({}, { replicaCount: 66 }))).resolves.toMatch(MISSING);
  await expect(runners.look.start(approved(toWork({})))).resolves.toBeUndefined();
});
