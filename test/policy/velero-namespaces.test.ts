import { describe, expect, it } from 'vitest';
import { checkOperation } from '../../src/policy/check-operation.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { aNamespace, aPolicy } from '../reconcile/manifests.ts';
import { anOperation, NOW } from './signed-approval.ts';

const NIGHTLY = {
  name: 'nightly',
  parameters: { type: 'object', properties: { of: { type: 'array' }, to: { type: 'string' } } },
  run: { template: 'velero-backup', parameters: { includedNamespaces: { $value: 'of' } } },
};
const policy = aPolicy({
  allowedNamespaces: ['shop', 'yard'],
  operationTemplates: ['velero-backup', 'velero-restore', 'nightly', 'run-job'],
  templateDefinitions: [NIGHTLY],
});

async function judge(template: string, parameters: Record<string, unknown>): Promise<readonly string[]> {
  const violations = await checkOperation(anOperation({ template, parameters }), {
    namespace: aNamespace(),
    policy,
    now: NOW,
  });
  return violations
    .filter(({ reason }) => reason === 'NamespaceNotAllowed')
    .map(({ reason, message }) => `${reason}: ${message.replace(/ is not allowed for this cluster.*/, '')}`);
}

describe('a backup', () => {
  it('may hold what is allowed for the cluster', async () => {
    await expect(judge('velero-backup', {})).resolves.toEqual([]);
    await expect(judge('velero-backup', { includedNamespaces: ['shop', 'yard'] })).resolves.toEqual([]);
  });

  it('may hold nothing else: every namespace is named with its place', async () => {
    await expect(judge('velero-backup', { includedNamespaces: ['kube-system', 'shop', '*'] })).resolves.toEqual([
      'NamespaceNotAllowed: parameters.includedNamespaces[0] kube-system',
      'NamespaceNotAllowed: parameters.includedNamespaces[2] *',
    ]);
  });

  it("by an admin's template is held to the same", async () => {
    await expect(judge('nightly', { of: ['yard', 'bank'] })).resolves.toEqual([
      'NamespaceNotAllowed: parameters.includedNamespaces[1] bank',
    ]);
    await expect(judge('nightly', {})).resolves.toEqual([]);
  });

  it('is judged as far as its parameters can be read', async () => {
    await expect(judge('velero-backup', { includedNamespaces: [7, 'bank'], nonsense: true })).resolves.toEqual([
      'NamespaceNotAllowed: parameters.includedNamespaces[0] bank',
    ]);
    await expect(judge('velero-backup', { includedNamespaces: 'bank' })).resolves.toEqual([]);
  });
});

describe('a restore', () => {
  it('may restore into what is allowed, from what is allowed', async () => {
    const namespaceMapping = { shop: 'yard' };
    await expect(judge('velero-restore', { backup: 'b', namespaceMapping })).resolves.toEqual([]);
  });

  it('may neither take from nor write to anything else', async () => {
    const namespaceMapping = { bank: 'shop', shop: 'kube-system', constructor: 'shop' };
    const included = { includedNamespaces: ['shop', 'vault'] };
    await expect(judge('velero-restore', { backup: 'b', ...included, namespaceMapping })).resolves.toEqual([
      'NamespaceNotAllowed: parameters.includedNamespaces[1] vault',
      'NamespaceNotAllowed: parameters.namespaceMapping, source bank',
      'NamespaceNotAllowed: parameters.namespaceMapping.shop kube-system',
      'NamespaceNotAllowed: parameters.namespaceMapping, source constructor',
    ]);
  });
});

describe('a namespace that is named, and is there', () => {
  const operations = { 'ops.service.io/allowed-operations': 'scale, run-job' };
  const all = async (
    parameters: Record<string, unknown>,
    elsewhere: readonly KubeObject[],
    template = 'velero-backup',
  ) =>
    (
      await checkOperation(anOperation({ template, parameters }), {
        namespace: aNamespace(),
        elsewhere,
        policy,
        now: NOW,
      })
    ).map(({ reason, message }) => `${reason}: ${message}`);

  it("lets through what its own annotation lists, be the operation another namespace's", async () => {
    const narrow = aNamespace('yard', { annotations: operations });
    await expect(all({ includedNamespaces: ['yard'] }, [narrow])).resolves.toEqual([
      'TemplateNotAllowed: operation template velero-backup is not allowed in namespace yard; allowed: scale, run-job; ' +
        'a cluster admin runs: kubectl annotate --overwrite namespace yard ' +
        'ops.service.io/allowed-operations=scale,run-job,velero-backup',
    ]);
    const wide = aNamespace('yard', { annotations: { 'ops.service.io/allowed-operations': 'velero-backup' } });
    await expect(all({ includedNamespaces: ['yard'] }, [wide])).resolves.toEqual([]);
  });

  it('must be given to the operator, as source and as target', async () => {
    const yard = aNamespace('yard', { labels: {} });
    for (const namespaceMapping of [{ yard: 'shop' }, { shop: 'yard' }]) {
      await expect(all({ backup: 'b', namespaceMapping }, [yard], 'velero-restore')).resolves.toEqual([
        'NamespaceNotLabelled: namespace yard is not labelled for the operator; a cluster admin runs: ' +
          'kubectl label namespace yard managed-by=service',
      ]);
    }
  });
});

it('an operation of another template may name its parameters alike', async () => {
  await expect(judge('run-job', { includedNamespaces: ['kube-system'] })).resolves.toEqual([]);
});
