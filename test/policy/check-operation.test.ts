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
    const operation = anOperation({ template: 'run-job', parameters: { image: 'busybox' } });
    await expect(judge(operation, { namespace: allowing('run-job') })).resolves.toEqual([
      `TemplateNotAllowed: operation template run-job is not allowed on this cluster; allowed: velero-backup, scale; an admin of the control plane adds to allowedOperationTemplates with: PATCH /api/v1/clusters/${CLUSTER_ID}`,
    ]);
  });

  it('is refused that is about an object in a namespace that is not allowed', async () => {
    const targetRef = { kind: 'Deployment', name: 'web', namespace: 'kube-system' };
    const scaled = (target: typeof targetRef) =>
      anOperation({ template: 'scale', parameters: { replicas: 2 }, targetRef: target });
    const [refusal = '', ...more] = await judge(scaled(targetRef));
    expect(more).toEqual([]);
    expect(refusal).toMatch(/^NamespaceNotAllowed: targetRef\.namespace kube-system is not allowed for this cluster/);
    await expect(judge(scaled({ ...targetRef, namespace: 'shop' }))).resolves.toEqual([]);
  });

  it('is told of everything at once, the namespace first', async () => {
    const operation = anOperation({ template: 'run-job', approval: { required: true } }, { namespace: 'bank' });
    const reasons = await judge(operation, { namespace: undefined });
    expect(reasons.map((line) => line.replace(/:.*$/, ''))).toEqual([
      'NamespaceNotAllowed',
      'NamespaceNotLabelled',
      'TemplateNotAllowed',
      'ParametersInvalid',
      'ParametersInvalid',
      'ApprovalMissing',
    ]);
  });

  it('of a template that nobody has is told which there are', async () => {
    const violations = await checkOperation(anOperation({ template: 'reboot' }), {
      namespace: aNamespace(),
      policy: {
        ...policy,
        operationTemplates: ['scale', 'reboot', 'nightly'],
        templateDefinitions: [{ name: 'nightly' }],
      },
      now: NOW,
    });
    const message = 'there is no operation template reboot here; those that are allowed: scale, nightly';
    expect(violations).toEqual([
      { reason: 'TemplateNotSupported', message, fault: { path: '/template', message, allowed: ['scale', 'nightly'] } },
    ]);
  });

  it("of an admin's template that runs what this version has not got is told that", async () => {
    const nightly = { name: 'nightly', run: { template: 'velero-export' } };
    const allowed = aPolicy({ operationTemplates: ['nightly', 'scale'], templateDefinitions: [nightly] });
    await expect(judge(anOperation({ template: 'nightly' }), { policy: allowed })).resolves.toEqual([
      'TemplateNotSupported: operation template nightly runs velero-export, which this version does not have; those that are allowed: scale',
    ]);
  });

  it('is told of everything that is wrong with its parameters, each with its place', async () => {
    const parameters = { replicas: -1, name: 'web', kind: 'Pod', speed: 'fast' };
    const violations = await checkOperation(anOperation({ template: 'scale', parameters }), {
      namespace: aNamespace(),
      policy,
      now: NOW,
    });
    expect(violations.map(({ reason, fault }) => [reason, fault?.path, fault?.message])).toEqual([
      ['ParametersInvalid', '/parameters/speed', 'is not known; the known fields are kind, name, replicas'],
      ['ParametersInvalid', '/parameters/kind', 'must be one of Deployment, StatefulSet, DaemonSet'],
      ['ParametersInvalid', '/parameters/replicas', 'must be from 0 to 10000'],
    ]);
    expect(violations[1]?.message).toBe(
      '/parameters/kind must be one of Deployment, StatefulSet, DaemonSet; operation template scale says so',
    );
  });

  it('is told of the first fifty of them', async () => {
    const parameters = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`x${index}`, 1]));
    const told = await judge(anOperation({ parameters }));
    expect(told).toHaveLength(50);
    expect(told[49]).toContain('(and 10 more like it)');
  });

  it("is blocked by an admin's template that hands on what nobody gave", async () => {
    const nightly = { name: 'nightly', run: { template: 'scale', parameters: { replicas: { $value: 'size' } } } };
    const allowed = aPolicy({ operationTemplates: ['nightly'], templateDefinitions: [nightly] });
    await expect(judge(anOperation({ template: 'nightly', parameters: {} }), { policy: allowed })).resolves.toEqual([
      'ParametersInvalid: /parameters template nightly needs the input size; operation template nightly says so',
    ]);
  });
});
