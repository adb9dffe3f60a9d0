import { expect, it } from 'vitest';
import { endsToRepeat } from '../../src/reconcile/ends-to-repeat.ts';

const GONE = {
  apiVersion: 'apps.service.io/v1alpha1',
  kind: 'ApplicationInstance',
  namespace: 'shop',
  name: 'podinfo',
  epoch: 2,
  generation: 3,
  at: '2026-03-01T10:00:00.000Z',
};

it('repeats the end of what was uninstalled since the control plane last answered, always as the same event', () => {
  const reported = { ...GONE, reportedFor: 'int-1' };
  const end = {
    ref: { apiVersion: GONE.apiVersion, kind: GONE.kind, namespace: 'shop', name: 'podinfo' },
    before: [],
    after: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'Uninstalled',
        message: 'the object is not in the cluster',
        lastTransitionTime: GONE.at,
      },
    ],
    source: { mode: 'push', epoch: 2, generation: 3, intentId: 'int-1' },
  };
  expect(endsToRepeat([reported], undefined, 'push')).toEqual([end]);
  expect(endsToRepeat([reported], '2026-03-01T10:00:59.000Z', 'push')).toEqual([end]);
});

it('repeats it as it was reported, where that is remembered', () => {
  const told = { reason: 'Orphaned', message: 'it stays', at: '2026-03-01T09:59:00.000Z', uid: 'u-1', generation: 4 };
  const [end] = endsToRepeat([{ ...GONE, reportedFor: 'int-1', told }], undefined, 'push');
  expect(end?.ref).toEqual({
    apiVersion: GONE.apiVersion,
    kind: GONE.kind,
    namespace: 'shop',
    name: 'podinfo',
    uid: 'u-1',
    generation: 4,
  });
  expect(end?.after).toEqual([
    { type: 'Ready', status: 'False', reason: 'Orphaned', message: 'it stays', lastTransitionTime: told.at },
  ]);
  expect(end?.source).toEqual({ mode: 'push', epoch: 2, generation: 3, intentId: 'int-1' });
});

it('repeats none that was answered long ago, nor one that nobody asked for', () => {
  expect(endsToRepeat([{ ...GONE, reportedFor: 'int-1' }], '2026-03-01T10:05:00.000Z', 'push')).toEqual([]);
  expect(endsToRepeat([GONE], undefined, 'gitops')).toEqual([]);
});
