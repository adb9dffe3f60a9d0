import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/delivery/delivery.ts';
import { judgeOutcome, type JobHistory } from '../../../src/delivery/pull/judge-outcome.ts';

const first: JobHistory = { isFirstTry: true, wasApplied: false };
const again: JobHistory = { isFirstTry: false, wasApplied: false };
const ref = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name: 'a' };
const bad = (state: 'failed' | 'refused' | 'conflict' | 'stale', reason: string, more: object = {}): Outcome => ({
  state,
  reason,
  message: 'why',
  ...more,
});

describe('what an attempt comes to for its job', () => {
  it.each<[string, 'apply' | 'delete', Outcome, JobHistory, string]>([
    ['an applied object', 'apply', { state: 'applied', ref }, first, 'applied'],
    [
      'an object that is as wanted already',
      'apply',
      { state: 'unchanged', ref },
      first,
      'noop already applied at this generation',
    ],
    ['an object that an earlier try has applied', 'apply', { state: 'unchanged', ref }, again, 'applied'],
    ['an object that goes', 'delete', { state: 'deleted', ref }, first, 'applied'],
    ['an object that was never there', 'delete', { state: 'absent' }, first, 'noop the object is not in the cluster'],
    ['an object that is gone since an earlier try', 'delete', { state: 'absent' }, again, 'succeeded'],
    ['an older generation', 'apply', bad('stale', 'StaleSource'), first, 'noop why'],
    [
      'a name that something newer has, after its deletion',
      'delete',
      bad('stale', 'StaleSource'),
      { ...again, wasApplied: true },
      'succeeded',
    ],
    ['a field of another manager', 'apply', bad('conflict', 'ApplyConflict'), first, 'conflict why'],
    [
      'a namespace that is not allowed',
      'apply',
      bad('refused', 'NamespaceNotAllowed'),
      first,
      'failed NamespaceNotAllowed: why',
    ],
    [
      'a signature that is not good',
      'apply',
      bad('refused', 'SignatureInvalid'),
      first,
      'failed SignatureInvalid: why',
    ],
    [
      'a namespace without its label',
      'apply',
      bad('refused', 'NamespaceNotLabelled'),
      first,
      'waiting NamespaceNotLabelled',
    ],
    [
      'a namespace without its grant',
      'delete',
      bad('refused', 'NamespaceNotGranted'),
      first,
      'waiting NamespaceNotGranted',
    ],
    ['writes that are paused', 'apply', bad('refused', 'Paused'), first, 'waiting Paused'],
    ['a server that does not answer', 'apply', bad('failed', 'ApplyFailed'), first, 'waiting ApplyFailed'],
    [
      'an object that the server will not have',
      'apply',
      bad('failed', 'ApplyFailed', { isLasting: true }),
      first,
      'failed ApplyFailed: why',
    ],
    ['a manifest without its order', 'apply', bad('failed', 'ManifestInvalid'), first, 'failed ManifestInvalid: why'],
  ])('%s', (_, kind, outcome, history, expected) => {
    const verdict = judgeOutcome(kind, outcome, history);
    const said =
      verdict.state === 'ended'
        ? [verdict.result.outcome, verdict.result.error].filter((part) => part !== undefined).join(' ')
        : verdict.state === 'waiting'
          ? `waiting ${verdict.reason}`
          : 'applied';
    expect(said).toBe(expected);
  });

  it('tells which newer pair the cluster has', () => {
    const outcome = bad('stale', 'StaleSource', { newer: { epoch: 1, generation: 9 } });
    expect(judgeOutcome('apply', outcome, first)).toEqual({
      state: 'ended',
      result: { outcome: 'noop', error: 'why', source: { epoch: 1, generation: 9 } },
    });
  });
});
