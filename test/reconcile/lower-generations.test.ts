import { describe, expect, it } from 'vitest';
import type { Tombstone } from '../../src/intent/rendered.ts';
import { decideApply } from '../../src/reconcile/decide-apply.ts';
import { decideRemoval } from '../../src/reconcile/decide-removal.ts';
import { goesBack } from '../../src/resources/source-annotation.ts';
import { anInstance, aNamespace, aPolicy, live } from './manifests.ts';

const NOW = {
  namespace: aNamespace(),
  policy: aPolicy({ deliveryEpoch: 2 }),
  record: undefined,
  signature: { state: 'valid' },
} as const;
const KNOWN = { epoch: 1, generation: 3 };
const STALE = {
  kind: 'refuse',
  outcome: { state: 'stale', reason: 'StaleSource', newer: KNOWN, isPast: true },
};

describe('a lower generation under a higher epoch', () => {
  it('is of what was handed over when it is equal, and goes back when it is lower', () => {
    expect(goesBack({ epoch: 2, generation: 3 }, KNOWN)).toBe(false);
    expect(goesBack({ epoch: 2, generation: 4 }, KNOWN)).toBe(false);
    expect(goesBack({ epoch: 2, generation: 2 }, KNOWN)).toBe(true);
    expect(goesBack({ epoch: 0, generation: 9 }, KNOWN)).toBe(true);
  });

  it('takes no object back, and that is no fault of the directory', () => {
    const there = live(anInstance({ source: '1.3' }));
    const desired = anInstance({ source: '2.2' });
    expect(decideApply({ ...NOW, desired, live: there, lastPair: undefined })).toMatchObject(STALE);
    const equal = anInstance({ source: '2.3' });
    expect(decideApply({ ...NOW, desired: equal, live: there, lastPair: undefined }).kind).toBe('write');
  });

  it('brings back nothing that was uninstalled since', () => {
    const desired = anInstance({ source: '2.2' });
    expect(decideApply({ ...NOW, desired, live: undefined, lastPair: KNOWN })).toMatchObject(STALE);
  });

  it('deletes nothing that came later', () => {
    const { apiVersion, kind, metadata } = anInstance({ source: '2.2' });
    const { name, namespace = '' } = metadata;
    const tombstone: Tombstone = {
      apiVersion,
      kind,
      name,
      namespace,
      intentId: 'int-9',
      epoch: 2,
      generation: 2,
      time: '',
    };
    const there = live(anInstance({ source: '1.3' }));
    const decision = decideRemoval({ ...NOW, tombstone, live: there, recordedPair: undefined, wantedPair: undefined });
    expect(decision).toMatchObject({ kind: 'refuse', outcome: { state: 'stale', newer: KNOWN } });
  });
});
