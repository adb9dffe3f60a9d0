import { describe, expect, it } from 'vitest';
import { operatorAccounts } from '../../src/policy/operator-accounts.ts';
import { operatorFieldIsChanged } from '../../src/policy/operator-field-is-changed.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance, live } from '../reconcile/manifests.ts';
import { anOperation } from './signed-approval.ts';

const OPERATOR = 'system:serviceaccount:service-system:service-operator';
const PUSH = 'system:serviceaccount:service-system:service-control-plane';
const accounts = operatorAccounts('service-system', OPERATOR);
const stored = live(anInstance());

function judge(after: KubeObject, before: KubeObject | undefined = stored, username = 'alice'): readonly string[] {
  const write = { username, before, after, subresource: undefined };
  return operatorFieldIsChanged(write, accounts).map(({ message }) => message);
}

function change(metadata: Partial<KubeObject['metadata']>): KubeObject {
  return { ...stored, metadata: { ...stored.metadata, ...metadata } };
}

function annotated(annotations: Record<string, string>): KubeObject {
  return change({ annotations: { ...stored.metadata.annotations, ...annotations } });
}

describe('a field that only the operator may set', () => {
  const changes: readonly [string, KubeObject, string][] = [
    ['the source pair', annotated({ 'app.service.io/source': '9.9' }), 'metadata.annotations[app.service.io/source]'],
    ['the intent', annotated({ 'app.service.io/intent-id': 'x' }), 'metadata.annotations[app.service.io/intent-id]'],
    ['the fingerprint', annotated({ 'app.service.io/applied': 'x' }), 'metadata.annotations[app.service.io/applied]'],
    ['the signature', annotated({ 'app.service.io/signature': 'x' }), 'metadata.annotations[app.service.io/signature]'],
    [
      'all annotations, by leaving them out',
      change({ annotations: {} }),
      'metadata.annotations[app.service.io/source], metadata.annotations[app.service.io/intent-id]',
    ],
    [
      'the labels',
      change({ labels: { 'app.service.io/managed-by': 'me' } }),
      'metadata.labels[app.service.io/managed-by], metadata.labels[app.service.io/cluster-id]',
    ],
    [
      'the finalizer',
      change({ finalizers: ['app.service.io/release'] }),
      'metadata.finalizers[app.service.io/release]',
    ],
  ];

  it.each(changes)('is not changed by a person: %s', (_, after, fields) => {
    expect(judge(after)).toEqual([
      `only the operator sets ${fields}; leave that as it is, see: kubectl get applicationinstance podinfo -n shop -o yaml. To hand an object over to the control plane: kubectl label applicationinstance podinfo -n shop app.service.io/managed-by=control-plane --as=${OPERATOR}`,
    ]);
  });

  it.each([OPERATOR, PUSH])('is changed by %s', (username) => {
    for (const [, after] of changes) expect(judge(after, stored, username)).toEqual([]);
    expect(judge(anInstance(), undefined, username)).toEqual([]);
  });

  it('is not brought along by a person who creates an object', () => {
    const write = { username: 'alice', before: undefined, after: anInstance(), subresource: undefined };
    expect(operatorFieldIsChanged(write, accounts)).toEqual([
      {
        reason: 'ReservedFieldChanged',
        message:
          'only the operator sets metadata.labels[app.service.io/managed-by], metadata.labels[app.service.io/cluster-id], metadata.annotations[app.service.io/source], metadata.annotations[app.service.io/intent-id]; leave that out, and create it again: an object that a person makes needs none of it',
      },
    ]);
  });

  it('is none of what people set: the tombstone, the pause, labels of their own, the spec', () => {
    expect(judge(annotated({ 'app.service.io/tombstone': 'by hand', 'ops.service.io/paused': 'true' }))).toEqual([]);
    expect(
      judge(change({ labels: { ...stored.metadata.labels, team: 'web' }, finalizers: ['example.com/x'] })),
    ).toEqual([]);
    expect(judge({ ...stored, spec: { values: {} } })).toEqual([]);
  });

  it('is not a finalizer that is taken off, whatever else the write does', () => {
    const held = change({ finalizers: ['app.service.io/release'] });
    expect(
      judge(change({ finalizers: ['example.com/x'], labels: { ...stored.metadata.labels, team: 'web' } }), held),
    ).toEqual([]);
  });

  it('is the status as a whole, through its subresource alone', () => {
    const after = { ...stored, status: { conditions: [] } };
    const judgeStatus = (subresource: 'status' | undefined, username = 'alice') =>
      operatorFieldIsChanged({ username, before: stored, after, subresource }, accounts).map(({ message }) => message);
    expect(judgeStatus('status')).toEqual([
      'only the operator sets status; change spec, or stop the operator here with: kubectl annotate applicationinstance podinfo -n shop ops.service.io/paused=true',
    ]);
    expect(judgeStatus(undefined)).toEqual([]);
    expect(judgeStatus('status', OPERATOR)).toEqual([]);
  });

  it('is that an operation needs an approval: nobody takes that back by editing it', () => {
    const asked = anOperation({ approval: { required: true } });
    const message = 'only the operator sets spec.approval.required; leave that as it is';
    expect(judge(anOperation({ approval: { required: false } }), asked)[0]).toContain(message);
    expect(judge(anOperation(), asked)[0]).toContain(message);
    expect(judge(asked, anOperation())).toEqual([]);
    expect(judge(anOperation(), asked, PUSH)).toEqual([]);
  });

  it('is not looked after where nobody knows what the operator itself runs as', () => {
    const unknown = operatorAccounts('service-system', undefined);
    for (const [, after] of changes) {
      const write = { username: 'alice', before: stored, after, subresource: undefined };
      expect(operatorFieldIsChanged(write, unknown)).toEqual([]);
    }
  });

  it('is changed by whatever account the operator runs as', () => {
    const own = operatorAccounts('service-system', 'admin');
    const after = annotated({ 'app.service.io/source': '9.9' });
    const by = (username: string) =>
      operatorFieldIsChanged({ username, before: stored, after, subresource: undefined }, own).length;
    expect(['admin', OPERATOR, PUSH, 'alice'].map(by)).toEqual([0, 0, 0, 1]);
  });
});
