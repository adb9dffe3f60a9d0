import { describe, expect, it } from 'vitest';
import { checkOperation } from '../../src/policy/check-operation.ts';
import type { PolicySituation } from '../../src/policy/policy-violation.ts';
import type { Operation } from '../../src/resources/operation.ts';
import { aNamespace, aPolicy, CLUSTER_ID } from '../reconcile/manifests.ts';
import { anOperation, NOW } from './signed-approval.ts';

const policy = aPolicy({ operationTemplates: ['velero-backup', 'scale'] });
const allowing = (list: string) => aNamespace('shop', { annotations: { 'ops.service.io/allowed-operations': list } });

async function judge(operation: Operation, situation: Partial<PolicySituation> = {}): Promise<readonly string[]> {
  const violations = await checkOperation(operation, { namespace: aNamespace(), policy, now: NOW, ...situation });
  return violations.map(({ reason, message }) => `${reason}: ${message}`);
}

describe('an operation', () => {
  it("is allowed by the cluster's list where the namespace has none of its own", async () => {
    await expect(judge(anOperation())).resolves.toEqual([]);
  });

  it("is allowed by the namespace's list, spaces and all", async () => {
    await expect(judge(anOperation(), { namespace: allowing(' scale , velero-backup,') })).resolves.toEqual([]);
  });

  it("is refused that is not in the namespace's list", async () => {
    await expect(judge(anOperation(), { namespace: allowing('scale') })).resolves.toEqual([
      'TemplateNotAllowed: operation template velero-backup is not allowed in namespace shop; allowed: scale; a cluster admin runs: kubectl annotate --overwrite namespace shop ops.service.io/allowed-operations=scale,velero-backup',
    ]);
  });

  it('is refused everywhere where the list is empty', async () => {
    const [refusal = '', ...more] = await judge(anOperation(), { namespace: allowing('') });
    expect(more).toEqual([]);
    expect(refusal).toContain('is not allowed in namespace shop; allowed: none; a cluster admin runs: ');
  });

  it("is not let through by the namespace's list where the cluster's has not got it", async () => {
    const operation = anOperation({ template: 'run-job' });
    await expect(judge(operation, { namespace: allowing('run-job') })).resolves.toEqual([
      `TemplateNotAllowed: operation template run-job is not allowed on this cluster; allowed: velero-backup, scale; an admin of the control plane adds to allowedOperationTemplates with: PATCH /api/v1/clusters/${CLUSTER_ID}`,
    ]);
  });

  it('is refused that is about an object in a namespace that is not allowed', async () => {
    const targetRef = { kind: 'Deployment', name: 'web', namespace: 'kube-system' };
    const [refusal = '', ...more] = await judge(anOperation({ targetRef }));
    expect(more).toEqual([]);
    expect(refusal).toMatch(/^NamespaceNotAllowed: targetRef\.namespace kube-system is not allowed for this cluster/);
    await expect(judge(anOperation({ targetRef: { ...targetRef, namespace: 'shop' } }))).resolves.toEqual([]);
  });

  it('is told of everything at once, the namespace first', async () => {
    const operation = anOperation({ template: 'run-job', approval: { required: true } }, { namespace: 'bank' });
    const reasons = await judge(operation, { namespace: undefined });
    expect(reasons.map((line) => line.replace(/:.*$/, ''))).toEqual([
      'NamespaceNotAllowed',
      'NamespaceNotLabelled',
      'TemplateNotAllowed',
      'ApprovalMissing',
    ]);
  });
});
