import { describe, expect, it } from 'vitest';
import { decideRemoval, type RemovalDecision, type RemovalSituation } from '../../src/reconcile/decide-removal.ts';
import { anInstance, aNamespace, aPolicy, aTombstone, live } from './manifests.ts';
import { formatSource, type SourcePair } from '../../src/resources/source-annotation.ts';

const base: RemovalSituation = {
  tombstone: aTombstone(),
  live: live(anInstance({ source: '1.8' })),
  namespace: aNamespace(),
  policy: aPolicy(),
  recordedPair: undefined,
  wantedPair: undefined,
  signature: { state: 'valid' },
};
const marked = { 'app.service.io/tombstone': 'int-9' };
const refuse = (state: 'refused' | 'stale', reason: string, message: string): RemovalDecision => ({
  kind: 'refuse',
  outcome: { state, reason, message },
});

/** The tombstone is of 1.9. */
const isNotNewer = (newer: SourcePair): RemovalDecision => ({
  kind: 'refuse',
  outcome: {
    state: 'stale',
    reason: 'StaleSource',
    message: `tombstone 1.9 is not newer than ${formatSource(newer)}, which is applied`,
    newer,
  },
});

describe('decideRemoval', () => {
  const table: readonly [string, Partial<RemovalSituation>, RemovalDecision][] = [
    ['annotates and deletes what the tombstone names', {}, { kind: 'delete', uid: 'uid-1', annotate: true }],
    [
      'does not annotate twice',
      { live: live(anInstance(), { annotations: { ...marked, 'app.service.io/source': '1.8' } }) },
      { kind: 'delete', uid: 'uid-1', annotate: false },
    ],
    [
      'waits while the finalizer is at work',
      { live: live(anInstance(), { annotations: marked, deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      { kind: 'deleting' },
    ],
    [
      'marks as meant what a person has begun to delete',
      { live: live(anInstance(), { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      { kind: 'delete', uid: 'uid-1', annotate: true },
    ],
    ['finds nothing to delete', { live: undefined }, { kind: 'absent' }],
    [
      'waits where the namespace has lost its label',
      { namespace: aNamespace('shop', { labels: {} }) },
      refuse(
        'refused',
        'NamespaceNotLabelled',
        'namespace shop is not labelled for the operator; a cluster admin runs: kubectl label namespace shop managed-by=service',
      ),
    ],
    [
      'goes on in a namespace that is being deleted',
      { namespace: aNamespace('shop', { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      { kind: 'delete', uid: 'uid-1', annotate: true },
    ],
    [
      'keeps an object that is newer than the tombstone',
      { live: live(anInstance({ source: '1.10' })) },
      isNotNewer({ epoch: 1, generation: 10 }),
    ],
    [
      'keeps an object that is as new as the tombstone',
      { live: live(anInstance({ source: '1.9' })) },
      isNotNewer({ epoch: 1, generation: 9 }),
    ],
    [
      'takes the inventory for an object whose annotation was taken off',
      { live: live(anInstance({ source: '' })), recordedPair: { epoch: 1, generation: 12 } },
      isNotNewer({ epoch: 1, generation: 12 }),
    ],
    [
      'keeps another incarnation than the tombstone names',
      { tombstone: aTombstone({ uid: 'uid-0' }) },
      refuse('stale', 'StaleSource', 'the tombstone is for uid uid-0; the object has been made anew since (uid uid-1)'),
    ],
    [
      'never deletes an object that it does not manage',
      { live: live(anInstance(), { labels: {} }) },
      refuse(
        'refused',
        'ManifestRefused',
        'the object is not managed by the control plane (label app.service.io/managed-by) and is never deleted by it',
      ),
    ],
    [
      'gives way to a newer manifest of the same object',
      { wantedPair: { epoch: 1, generation: 10 } },
      refuse('stale', 'StaleSource', 'tombstone 1.9 is followed by a manifest of the same object, 1.10'),
    ],
    [
      'deletes nothing for an earlier delivery epoch',
      { policy: aPolicy({ deliveryEpoch: 2 }) },
      refuse('stale', 'StaleSource', 'tombstone 1.9 is of delivery epoch 1; the cluster is at 2'),
    ],
    [
      'deletes nothing in a namespace that is not allowed',
      { policy: aPolicy({ allowedNamespaces: [] }) },
      refuse('refused', 'NamespaceNotAllowed', 'namespace shop is not allowed for this cluster; none is'),
    ],
    [
      'deletes no kind that no source may bring',
      { tombstone: aTombstone({ apiVersion: 'v1', kind: 'Secret' }) },
      refuse(
        'refused',
        'ManifestRefused',
        'v1 Secret is not taken from a source; only ApplicationInstance and Operation are',
      ),
    ],
    [
      'stops at a pause',
      { policy: aPolicy({ paused: true }) },
      refuse('refused', 'Paused', 'writes are paused by ops.service.io/paused on the Cluster'),
    ],
  ];

  it.each(table)('%s', (_, change, decision) => {
    expect(decideRemoval({ ...base, ...change })).toEqual(decision);
  });
});
