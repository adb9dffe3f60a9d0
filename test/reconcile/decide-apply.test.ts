import { describe, expect, it } from 'vitest';
import { decideApply, type ApplySituation } from '../../src/reconcile/decide-apply.ts';
import type { InventoryRecord } from '../../src/reconcile/inventory-record.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID, live } from './manifests.ts';

const base: ApplySituation = {
  desired: anInstance({ source: '1.2' }),
  live: live(anInstance({ source: '1.1' })),
  namespace: aNamespace(),
  policy: aPolicy(),
  record: undefined,
  lastPair: undefined,
  signature: { state: 'valid' },
};

function recordOf(situation: ApplySituation): InventoryRecord {
  const decision = decideApply(situation);
  if (decision.kind !== 'write') throw new Error('not written');
  return {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
    uid: 'uid-1',
    epoch: 1,
    generation: 2,
    sourceKey: 'apps/shop/podinfo.yaml',
    fingerprint: decision.fingerprint,
  };
}

describe('decideApply', () => {
  const refusals: readonly [
    string,
    Partial<ApplySituation>,
    { state: string; reason: string; message: string; newer?: object; isPast?: true },
  ][] = [
    [
      'refuses what a rule of the kind forbids to change, on a server without CEL either',
      {
        desired: anInstance({ source: '1.2', spec: { targetNamespace: 'shop' } }),
        live: live(anInstance({ source: '1.1', spec: { targetNamespace: 'bank' } })),
      },
      {
        state: 'refused',
        reason: 'SpecInvalid',
        message:
          'targetNamespace cannot be changed: a Helm release does not move, it would be uninstalled where it is; ' +
          'uninstall this instance, or make a second one for the other namespace',
      },
    ],
    [
      'refuses a namespace that is not allowed',
      { desired: anInstance({ namespace: 'bank' }) },
      {
        state: 'refused',
        reason: 'NamespaceNotAllowed',
        message: 'namespace bank is not allowed for this cluster; allowed: shop',
      },
    ],
    [
      'refuses a kind that no source may bring',
      { desired: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', namespace: 'shop' } } },
      {
        state: 'refused',
        reason: 'ManifestRefused',
        message: 'v1 Secret is not taken from a source; only ApplicationInstance and Operation are',
      },
    ],
    [
      'refuses a manifest of another cluster',
      { policy: aPolicy({ clusterId: 'c-zzzzzzzzzzzzzzzz' }) },
      {
        state: 'refused',
        reason: 'ManifestRefused',
        message:
          'the manifest is for cluster c-0123456789abcdef (label app.service.io/cluster-id); this is c-zzzzzzzzzzzzzzzz',
      },
    ],
    [
      'names a missing source annotation',
      { desired: anInstance({ source: 'latest' }) },
      {
        state: 'failed',
        reason: 'ManifestInvalid',
        message:
          'annotation app.service.io/source is missing or not <delivery epoch>.<generation>; restore the file, or deliver it anew',
      },
    ],
    [
      'keeps an object that is newer than the manifest',
      { live: live(anInstance({ source: '1.3' })) },
      {
        state: 'stale',
        reason: 'StaleSource',
        message: 'source 1.2 is older than 1.3, which is applied',
        newer: { epoch: 1, generation: 3 },
      },
    ],
    [
      'does not bring back what was deleted by a newer tombstone',
      { live: undefined, lastPair: { epoch: 1, generation: 4 } },
      {
        state: 'stale',
        reason: 'StaleSource',
        message: 'source 1.2 is older than 1.4, which is applied',
        newer: { epoch: 1, generation: 4 },
      },
    ],
    [
      'lets work of an earlier delivery epoch change nothing',
      { policy: aPolicy({ deliveryEpoch: 2 }) },
      {
        state: 'stale',
        reason: 'StaleSource',
        message: 'source 1.2 is of delivery epoch 1; the cluster is at 2',
        isPast: true,
      },
    ],
    [
      'lets work of an earlier delivery epoch start nothing',
      { policy: aPolicy({ deliveryEpoch: 2 }), live: undefined },
      {
        state: 'stale',
        reason: 'StaleSource',
        message: 'source 1.2 is of delivery epoch 1; the cluster is at 2',
        isPast: true,
      },
    ],
    [
      'stops at the pause of the Cluster',
      { policy: aPolicy({ paused: true }) },
      { state: 'refused', reason: 'Paused', message: 'writes are paused by ops.service.io/paused on the Cluster' },
    ],
    [
      'stops where the operator is known to have no rights',
      { isDenied: true },
      {
        state: 'refused',
        reason: 'NamespaceNotGranted',
        message:
          "the operator has no rights in namespace shop; a cluster admin applies what 'servicectl namespaces add shop' prints, which is noticed within 15 s",
      },
    ],
    [
      'stops at the pause of the namespace',
      { namespace: aNamespace('shop', { annotations: { 'ops.service.io/paused': 'true' } }) },
      {
        state: 'refused',
        reason: 'Paused',
        message:
          'writes are paused by ops.service.io/paused on Namespace shop; to go on: kubectl annotate namespace shop ops.service.io/paused-',
      },
    ],
    [
      'stops at the pause of the object',
      { live: live(anInstance(), { annotations: { 'ops.service.io/paused': 'true' } }) },
      {
        state: 'refused',
        reason: 'Paused',
        message:
          'writes are paused by ops.service.io/paused on ApplicationInstance podinfo; to go on: kubectl annotate -n shop applicationinstance.apps.service.io podinfo ops.service.io/paused-',
      },
    ],
    [
      'says how to make a namespace that is missing',
      { namespace: undefined },
      {
        state: 'failed',
        reason: 'ApplyFailed',
        message: 'namespace shop does not exist; create it and label it managed-by=service',
      },
    ],
    [
      'touches no namespace that is not labelled',
      { namespace: aNamespace('shop', { labels: {} }) },
      {
        state: 'refused',
        reason: 'NamespaceNotLabelled',
        message:
          'namespace shop is not labelled for the operator; a cluster admin runs: kubectl label namespace shop managed-by=service',
      },
    ],
    [
      'waits for a namespace that is being deleted',
      { namespace: aNamespace('shop', { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      {
        state: 'failed',
        reason: 'ApplyFailed',
        message: 'namespace shop is being deleted; nothing is applied in it',
      },
    ],
    [
      'waits for the end of the object before',
      { live: live(anInstance(), { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      {
        state: 'failed',
        reason: 'ApplyFailed',
        message: 'the object is still being deleted; it is applied once that has finished',
      },
    ],
    [
      'does not take over an object that a person made',
      { live: live(anInstance(), { labels: {} }) },
      {
        state: 'conflict',
        reason: 'ApplyConflict',
        message:
          'the object exists and was not brought by the control plane; delete it, or hand it over with: ' +
          'kubectl label applicationinstance podinfo -n shop app.service.io/managed-by=control-plane',
      },
    ],
  ];

  it.each(refusals)('%s', (_, change, outcome) => {
    expect(decideApply({ ...base, ...change })).toMatchObject({ kind: 'refuse', outcome });
  });

  it('wants an object that is being deleted, but not by a manifest of before the last switch, nor by one that is refused', () => {
    const going = live(anInstance({ source: '1.1' }), { deletionTimestamp: '2026-01-01T00:00:00Z' });
    const isWanted = (change: Partial<ApplySituation>): boolean => {
      const decision = decideApply({ ...base, live: going, ...change });
      return decision.kind === 'refuse' && decision.isWanted === true;
    };
    expect(isWanted({})).toBe(true);
    expect(isWanted({ desired: anInstance({ source: '1.1' }), policy: aPolicy({ deliveryEpoch: 2 }) })).toBe(false);
    const { annotations, ...rest } = going.metadata;
    const marked = { ...annotations, 'app.service.io/tombstone-source': '1.3' };
    expect(isWanted({ live: { ...going, metadata: { ...rest, annotations: marked } } })).toBe(false);
    expect(isWanted({ signature: { state: 'invalid', message: 'no' } })).toBe(false);
  });

  it('writes a newer manifest with both labels and the resourceVersion that was compared', () => {
    const { labels: _, ...bare } = anInstance({ source: '1.2' }).metadata;
    const decision = decideApply({
      ...base,
      desired: { ...anInstance({ source: '1.2' }), metadata: bare, status: {} },
    });
    expect(decision).toMatchObject({ kind: 'write', pair: { epoch: 1, generation: 2 } });
    expect(decision.kind === 'write' && decision.manifest).toEqual({
      ...anInstance({ source: '1.2' }),
      metadata: { ...anInstance({ source: '1.2' }).metadata, resourceVersion: '7' },
    });
  });

  it('keeps what was applied before and still stands', () => {
    const situation = { ...base, live: live({ ...anInstance({ source: '1.2' }), status: { conditions: [] } }) };
    const record = recordOf(situation);
    expect(decideApply({ ...situation, record })).toEqual({
      kind: 'keep',
      pair: { epoch: 1, generation: 2 },
      fingerprint: record.fingerprint,
    });
  });

  it('applies the same manifest again where the object differs from it', () => {
    const situation = { ...base, live: live(anInstance({ source: '1.2', version: '6.6.0' })) };
    expect(decideApply({ ...situation, record: recordOf(situation) }).kind).toBe('write');
  });

  it('applies again what it no longer knows to have applied, since a field may have left the manifest', () => {
    expect(decideApply({ ...base, live: live(anInstance({ source: '1.2' })) }).kind).toBe('write');
  });

  it('leaves what is in the cluster of an earlier epoch as it is, whatever has become of it', () => {
    const situation = { ...base, live: live(anInstance({ source: '1.2' })), policy: aPolicy({ deliveryEpoch: 3 }) };
    expect(decideApply(situation).kind).toBe('keep');
    expect(decideApply({ ...situation, live: undefined, lastPair: { epoch: 1, generation: 2 } })).toMatchObject({
      outcome: { state: 'stale', isPast: true },
    });
  });

  it('writes nothing in push mode', () => {
    const decision = decideApply({ ...base, policy: aPolicy({ mode: 'push' }) });
    expect(decision).toMatchObject({ outcome: { state: 'stale', reason: 'StaleSource' } });
  });

  it('takes over an object that was handed over by its label, whatever the cluster id', () => {
    const handed = live(anInstance(), { labels: { 'app.service.io/managed-by': 'control-plane' } });
    expect(decideApply({ ...base, live: handed }).kind).toBe('write');
    const others = { 'app.service.io/managed-by': 'control-plane', 'app.service.io/cluster-id': 'c-zzzzzzzzzzzzzzzz' };
    expect(decideApply({ ...base, live: live(anInstance(), { labels: others }) }).kind).toBe('refuse');
    expect(CLUSTER_ID).not.toBe('c-zzzzzzzzzzzzzzzz');
  });
});
