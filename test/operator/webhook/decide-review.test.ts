import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReviewAnswer } from '../../../src/operator/webhook/admission-review.ts';
import { decideReview, type ReviewView } from '../../../src/operator/webhook/decide-review.ts';
import { policyVerdict } from '../../../src/reconcile/application-instance/policy-verdict.ts';
import { checkOperation } from '../../../src/policy/check-operation.ts';
import { operatorAccounts, serviceAccountName } from '../../../src/policy/operator-accounts.ts';
import { refusalText } from '../../../src/policy/policy-violation.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { anInstance, aNamespace, aPolicy } from '../../reconcile/manifests.ts';
import { anOperation, approved, approvedInstance, controlPlaneKey, NOW } from '../../policy/signed-approval.ts';

const OPERATOR = serviceAccountName('service-system', 'service-operator');
const policy = aPolicy({ operationTemplates: ['velero-backup'], signingKeys: [controlPlaneKey.publicJwk] });

function view(change: Partial<ReviewView> & { readonly namespace?: KubeObject } = {}): ReviewView {
  const { namespace = aNamespace(), ...rest } = change;
  return {
    accounts: operatorAccounts('service-system', OPERATOR),
    policy: () => policy,
    namespaces: () => (name) => (name === namespace.metadata.name ? namespace : undefined),
    now: () => NOW,
    ...rest,
  };
}

interface Write {
  readonly after?: KubeObject;
  readonly before?: KubeObject;
  readonly username?: string;
  readonly operation?: string;
  readonly subResource?: string;
  readonly fieldManager?: string;
}

async function review(write: Write, by: ReviewView = view()): Promise<ReviewAnswer> {
  const { after, before, username = 'alice', operation = before === undefined ? 'CREATE' : 'UPDATE' } = write;
  const kind = (after ?? before)?.kind === 'Operation' ? 'operations.ops' : 'applicationinstances.apps';
  const [resource = '', group = ''] = kind.split('.');
  return await decideReview(
    {
      uid: 'r-1',
      operation,
      resource: { group: `${group}.service.io`, version: 'v1alpha1', resource },
      userInfo: { username },
      ...(after === undefined ? {} : { object: after }),
      ...(before === undefined ? {} : { oldObject: before }),
      ...(write.fieldManager === undefined ? {} : { options: { fieldManager: write.fieldManager } }),
      ...(write.subResource === undefined ? {} : { subResource: write.subResource }),
    },
    by,
  );
}

/** As a person writes it: nothing of what the operator sets. */
function byHand(object: KubeObject): KubeObject {
  const { name, namespace = 'shop' } = object.metadata;
  return { ...object, metadata: { name, namespace } };
}

const bad = byHand(anInstance({ version: '7.0.0' }));
const good = byHand(anInstance());
const refused = { allowed: false };
const allowed = { allowed: true };

describe('a review', () => {
  it('admits what is allowed without a word', async () => {
    expect(await review({ after: good })).toEqual({ allowed: true, warnings: [] });
  });

  it('refuses an operation that another namespace which it names does not allow', async () => {
    const yard = aNamespace('yard', { labels: {}, annotations: { 'ops.service.io/allowed-operations': 'scale' } });
    const by = view({
      policy: () => ({ ...policy, allowedNamespaces: ['shop', 'yard'] }),
      namespaces: () => (name) => [aNamespace(), yard].find(({ metadata }) => metadata.name === name),
    });
    const after = byHand(anOperation({ template: 'velero-backup', parameters: { includedNamespaces: ['yard'] } }));
    const answer = await review({ after }, by);
    expect(answer).toMatchObject({ ...refused, reasons: ['NamespaceNotLabelled', 'TemplateNotAllowed'] });
    const own = byHand(anOperation({ template: 'velero-backup', parameters: {} }));
    expect(await review({ after: own }, by)).toMatchObject(allowed);
  });

  it('refuses what is not, with everything that is wrong', async () => {
    const answer = await review({ after: bad }, view({ namespace: aNamespace('shop', { labels: {} }) }));
    expect(answer).toMatchObject({ ...refused, reasons: ['NamespaceNotLabelled', 'ChartNotAllowed'] });
    expect(answer.message?.split('\n')).toHaveLength(2);
  });

  it('refuses to change what cannot be changed, on a server without CEL too, and only that', async () => {
    const named = byHand(anInstance({ spec: { releaseName: 'a' } }));
    const renamed = byHand(anInstance({ spec: { releaseName: 'b' } }));
    const answer = await review({ before: named, after: renamed });
    expect(answer).toMatchObject({ ...refused, reasons: ['SpecInvalid'] });
    expect(answer.message).toContain('releaseName cannot be changed');
    const upgraded = byHand(anInstance({ version: '6.6.1', spec: { releaseName: 'a' } }));
    expect(await review({ before: named, after: upgraded })).toMatchObject(allowed);
  });

  it('never refuses a deletion, what is being deleted, or that a finalizer is taken off', async () => {
    const gone = { ...bad, metadata: { ...bad.metadata, deletionTimestamp: '2026-03-01T09:00:00Z' } };
    const held = { ...bad, metadata: { ...bad.metadata, finalizers: ['a/b', 'app.service.io/release'] } };
    expect(await review({ before: bad, operation: 'DELETE' })).toMatchObject(allowed);
    expect(await review({ before: gone, after: { ...gone, spec: {}, status: {} } })).toMatchObject(allowed);
    expect(await review({ before: held, after: bad })).toMatchObject(allowed);
    expect(
      await review({ before: held, after: { ...bad, spec: anInstance({ version: '8.0.0' }).spec } }),
    ).toMatchObject(refused);
  });

  it('lets the operator write whatever it writes, and judges the push account by everything but its fields', async () => {
    const after = anInstance({ version: '7.0.0' });
    expect(await review({ after, username: OPERATOR })).toEqual({ allowed: true, warnings: [] });
    const push = await review({ after, username: serviceAccountName('service-system', 'service-control-plane') });
    expect(push).toMatchObject({ ...refused, reasons: ['ChartNotAllowed'] });
    expect(await review({ after })).toMatchObject({ reasons: ['ReservedFieldChanged', 'ChartNotAllowed'] });
  });

  it('refuses a create of the control plane that comes after the uninstall or the switch, and warns a person', async () => {
    const gone = { apiVersion: good.apiVersion, kind: good.kind, namespace: 'shop', name: 'podinfo', at: '' };
    const uninstalled = view({ deleted: () => ({ ...gone, epoch: 1, generation: 2 }) });
    const push = { username: serviceAccountName('service-system', 'service-control-plane') };
    const late = { ...push, after: anInstance(), fieldManager: 'service-control-plane' };
    const isStale = { ...refused, reasons: ['StaleSource'] };
    expect(await review(late)).toMatchObject(allowed);
    expect(await review(late, uninstalled)).toMatchObject(isStale);
    expect(await review({ ...late, after: anInstance({ source: '1.3' }) }, uninstalled)).toMatchObject(allowed);
    expect(await review({ ...late, before: anInstance() }, uninstalled)).toMatchObject(allowed);
    const switched = view({ policy: () => ({ ...policy, deliveryEpoch: 2 }) });
    expect(await review(late, switched)).toMatchObject(isStale);
    expect(await review({ ...push, after: anInstance() }, switched)).toEqual({ allowed: true, warnings: [] });
    const restored = await review({ ...push, after: anInstance() }, uninstalled);
    expect(restored).toMatchObject({ allowed: true, warnings: [expect.stringContaining('ask for it anew')] });
  });

  it('admits with a warning while there is nothing to judge by', async () => {
    const warnings = [
      'service-operator does not know yet what is allowed here; the object is judged when it is reconciled',
    ];
    expect(await review({ after: bad }, view({ policy: () => undefined }))).toEqual({ allowed: true, warnings });
    expect(await review({ after: bad }, view({ namespaces: () => undefined }))).toEqual({ allowed: true, warnings });
  });

  it('lets an object that is blocked be paused, stopped and mended step by step, with the same words as warnings', async () => {
    const paused = { ...bad, metadata: { ...bad.metadata, annotations: { 'ops.service.io/paused': 'true' } } };
    const answer = await review({ before: bad, after: paused });
    expect(answer.allowed).toBe(true);
    expect(answer.warnings[0]).toContain('spec.chart.version 7.0.0 is outside');
    expect(
      await review({ before: bad, after: { ...bad, spec: { ...(bad['spec'] as object), suspend: true } } }),
    ).toEqual(expect.objectContaining(allowed));
    const chart = { type: 'oci', url: 'oci://elsewhere.test/x', name: 'podinfo', version: '7.0.0' };
    const worse = { ...bad, spec: { ...(bad['spec'] as object), chart } };
    expect(await review({ before: worse, after: bad })).toMatchObject(allowed);
    expect(await review({ before: bad, after: worse })).toMatchObject(refused);
    const other = byHand(anInstance({ version: '8.0.0' }));
    expect(await review({ before: bad, after: other })).toMatchObject(refused);
  });

  it('lets what was approved be suspended and go on although its approval ended, and nothing else be changed', async () => {
    const approvals = { namespaces: ['shop'], operationTemplates: [], catalogEntries: [], statements: [] };
    const asking = view({ policy: () => ({ ...policy, approvals }) });
    const late = await approvedInstance(anInstance(), { exp: NOW.getTime() / 1000 });
    const held = { ...late, spec: { ...late.spec, suspend: true } };
    const going = { ...late, spec: { ...late.spec, suspend: false } };
    expect(await review({ before: late, after: held }, asking)).toMatchObject(allowed);
    expect(await review({ before: held, after: going }, asking)).toMatchObject(allowed);
    const changed = { ...going, spec: { ...going.spec, values: { replicas: 9 } } };
    expect(await review({ before: held, after: changed }, asking)).toMatchObject({
      ...refused,
      reasons: ['ApprovalInvalid'],
    });
  });

  it('lets an operation be cancelled whatever else is not allowed any more', async () => {
    const operation = anOperation({ template: 'run-job', approval: { required: true } });
    const cancelled = { ...operation, spec: { ...operation.spec, cancel: true } };
    expect(await review({ before: operation, after: cancelled })).toMatchObject(allowed);
  });

  it('refuses a status that somebody else writes, and only that', async () => {
    const after = { ...bad, status: { conditions: [] } };
    expect(await review({ before: bad, after, subResource: 'status' })).toMatchObject({
      ...refused,
      reasons: ['ReservedFieldChanged'],
    });
    expect(await review({ before: bad, after: bad, subResource: 'status' })).toEqual({ allowed: true, warnings: [] });
    expect(await review({ before: bad, after, subResource: 'status', username: OPERATOR })).toMatchObject(allowed);
  });

  it('admits what it cannot read, and what is none of its kinds, and says so', async () => {
    const unread = await review({ after: { ...good, spec: { chart: 7 } } });
    expect(unread).toEqual({
      allowed: true,
      warnings: ['service-operator cannot read this spec, so it was not judged'],
    });
    const other = { group: '', version: 'v1', resource: 'pods' };
    const request = { uid: 'r', operation: 'CREATE', resource: other, userInfo: {}, object: good };
    expect(await decideReview(request, view())).toEqual({
      allowed: true,
      warnings: ['service-operator does not judge pods.'],
    });
  });

  it('warns of a pause', async () => {
    const paused = aNamespace('shop', { annotations: { 'ops.service.io/paused': 'true' } });
    const answer = await review({ after: await approved(anOperation()) }, view({ namespace: paused }));
    expect(answer.allowed).toBe(true);
    expect(answer.warnings.map((line) => line.slice(0, 38))).toEqual(['writes are paused by ops.service.io/pa']);
  });
});

const names = fc.constantFrom('shop', 'bank', 'kube-system');
const label = fc.constantFrom<Record<string, string>>({}, { 'managed-by': 'service' }, { 'managed-by': 'me' });
const instances = fc.record({
  namespace: names,
  label,
  target: fc.option(names, { nil: undefined }),
  entry: fc.constantFrom('podinfo', 'redis'),
  type: fc.constantFrom<('oci' | 'helm')[]>('oci', 'helm'),
  url: fc.constantFrom('oci://registry.test/charts/podinfo', 'oci://evil.test/x'),
  version: fc.constantFrom('6.5.0', '6.9.1', '7.0.0', 'latest'),
});

describe('webhook and reconcile', () => {
  it('come to the same verdict about any instance, in the same words', async () => {
    await fc.assert(
      fc.asyncProperty(instances, async ({ namespace, label, target, entry, type, url, version }) => {
        const instance = anInstance({
          namespace,
          spec: {
            catalogEntry: entry,
            chart: { type, url, name: 'podinfo', version },
            ...(target === undefined ? {} : { targetNamespace: target }),
          },
        });
        const inside = aNamespace(namespace, { labels: label });
        const answer = await review({ after: byHand(instance) }, view({ namespace: inside }));
        const verdict = await policyVerdict(instance, { namespace: inside, policy, now: NOW });
        expect(answer.message).toBe(verdict?.stalled?.message);
        expect(answer.reasons?.[0]).toBe(verdict?.stalled?.reason);
      }),
      { numRuns: 300 },
    );
  });

  it('come to the same verdict about any operation', async () => {
    const operations = fc.record({
      namespace: names,
      label,
      list: fc.option(fc.constantFrom('', 'scale', 'velero-backup, scale'), { nil: undefined }),
      template: fc.constantFrom('velero-backup', 'scale'),
      required: fc.boolean(),
      statement: fc.constantFrom('none', 'right', 'of another', 'late'),
    });
    await fc.assert(
      fc.asyncProperty(operations, async ({ namespace, label, list, template, required, statement }) => {
        const plain = anOperation({ template }, { namespace });
        const change = { right: {}, 'of another': { name: 'x' }, late: { exp: 1 }, none: {} }[statement];
        const signed = statement === 'none' ? plain : await approved(plain, change);
        const operation = { ...signed, spec: { ...signed.spec, approval: { ...signed.spec.approval, required } } };
        const annotations = list === undefined ? {} : { 'ops.service.io/allowed-operations': list };
        const inside = aNamespace(namespace, { labels: label, annotations });
        const answer = await review({ after: operation }, view({ namespace: inside }));
        const violations = await checkOperation(operation, { namespace: inside, policy, now: NOW });
        expect(answer.message ?? '').toBe(refusalText(violations));
      }),
      { numRuns: 200 },
    );
  });
});
