import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NO_APPROVALS } from '../../../src/policy/cluster-policy.ts';
import { Reason } from '../../../src/resources/reasons.ts';
import { aNamespace } from '../manifests.ts';
import { setOperationStage, type OperationStage } from './stage.ts';

const VAULT = { apiVersion: 'v1', kind: 'Namespace', name: 'vault' } as const;
const TO_VAULT = {
  template: 'velero-restore',
  parameters: { backup: 'nightly-1', namespaceMapping: { shop: 'vault' } },
} as const;

const WAIT = { timeout: 30_000 };

let stage: OperationStage;

beforeEach(async () => {
  stage = await setOperationStage();
  stage.options = { runners: (['velero-backup', 'velero-restore'] as const).map((name) => stage.runner.as(name)) };
  stage.allow({ allowedNamespaces: ['shop', 'vault'] });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

async function said(phase: string, reason: string): Promise<string> {
  const { status } = await stage.until(phase, reason);
  return status?.conditions?.find(({ type }) => type === phase)?.message ?? '';
}

async function annotate(annotations: Record<string, string | null>): Promise<void> {
  await stage.cluster.api.mergePatch(VAULT, { metadata: { annotations } });
}

it.for([
  ['into it', TO_VAULT],
  ['out of it', { ...TO_VAULT, parameters: { backup: 'nightly-1', namespaceMapping: { vault: 'shop' } } }],
  ['of it', { template: 'velero-backup', parameters: { includedNamespaces: ['vault'] } }],
] as const)('a paused namespace holds what another one asks %s, until it goes on', async ([, spec]) => {
  await stage.cluster.api.create(aNamespace('vault', { annotations: { 'ops.service.io/paused': 'true' } }), 'test');
  await stage.start();
  await stage.deliver(spec);
  expect(await said('Blocked', Reason.Paused)).toContain(
    'writes are paused by ops.service.io/paused on Namespace vault',
  );
  expect(stage.runner.starts).toEqual([]);
  await annotate({ 'ops.service.io/paused': null });
  await stage.until('Running');
  expect(stage.runner.starts).toEqual(['job-1']);
});

it('the operations that a namespace allows, and whose it is, hold for those of other namespaces', async () => {
  const annotations = { 'ops.service.io/allowed-operations': 'velero-backup' };
  await stage.cluster.api.create(aNamespace('vault', { labels: {}, annotations }), 'test');
  await stage.start();
  await stage.deliver(TO_VAULT);
  expect(await said('Blocked', Reason.NamespaceNotLabelled)).toContain('namespace vault is not labelled');
  await stage.cluster.api.mergePatch(VAULT, { metadata: { labels: { 'managed-by': 'service' } } });
  expect(await said('Blocked', Reason.TemplateNotAllowed)).toContain('is not allowed in namespace vault');
  await annotate({ 'ops.service.io/allowed-operations': 'velero-backup,velero-restore' });
  await stage.until('Running');
});

it('the approval that another namespace asks for is waited for', async () => {
  const annotations = { 'ops.service.io/approval-required': 'true' };
  await stage.cluster.api.create(aNamespace('vault', { annotations }), 'test');
  await stage.start();
  await stage.deliver(TO_VAULT);
  expect(await said('Blocked', Reason.ApprovalMissing)).toContain('namespace vault asks for approvals');
  await annotate({ 'ops.service.io/approval-required': null });
  await stage.until('Running');
  stage.allow({ approvals: { ...NO_APPROVALS, namespaces: ['vault'] } });
  await stage.deliver(TO_VAULT, { name: 'second', source: '1.2' });
  await stage.until('Blocked', Reason.ApprovalMissing, 'second');
  expect(stage.runner.starts).toEqual(['job-1']);
});

it('another try is held to the namespaces that its first one named, whatever the template names since', async () => {
  await stage.cluster.api.create(aNamespace('vault'), 'test');
  const template = (name: string) => ({
    name: 'nightly',
    parameters: { type: 'object' },
    run: { template: 'velero-backup' as const, parameters: { includedNamespaces: [name] } },
    retries: 5,
  });
  const allowed = { operationTemplates: ['nightly'], templateDefinitions: [template('vault')] };
  stage.allow(allowed);
  stage.runner.first = { state: 'failed', reason: Reason.VeleroBackupFailed, message: 'no room', isFinal: false };
  await stage.start();
  await stage.deliver({ template: 'nightly', parameters: {} });
  await stage.until('Running', Reason.OperationRetrying);
  stage.allow({ allowedNamespaces: ['shop'], templateDefinitions: [template('shop')] });
  stage.later(300);
  await vi.waitFor(async () => {
    expect(await said('Running', Reason.OperationRetrying)).toContain('includedNamespaces[0] vault is not allowed');
  }, WAIT);
  expect(stage.runner.starts).toEqual(['job-1']);
  // And not to those that it has nothing to do with.
  stage.allow({ allowedNamespaces: ['shop', 'vault'], templateDefinitions: [template('kube-system')] });
  stage.later(300);
  await vi.waitFor(() => expect(stage.runner.starts.slice(0, 2)).toEqual(['job-1', 'job-2']), WAIT);
});
