import { describe, expect, it } from 'vitest';
import type { IntentSnapshot } from '../../../src/events/ingest/ingest-store.ts';
import { moveIntents } from '../../../src/events/ingest/move-intents.ts';
import type { Condition } from '../../../src/protocol/condition.ts';
import type { AgentEvent, EventSource } from '../../../src/protocol/event.ts';

const READY: Condition = { type: 'Ready', status: 'True', reason: 'HelmReleaseReady' };
const ROLLED_BACK: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'HelmReleaseRolledBack',
  message: 'runs 6.5.0',
};
const NOT_READY: Condition = { type: 'Ready', status: 'False', reason: 'HelmReleasePending' };
const RECONCILING: Condition = { type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling' };
const DEGRADED: Condition = { type: 'Degraded', status: 'True', reason: 'HelmReleaseFailed', message: 'broken' };
const STALLED: Condition = { type: 'Stalled', status: 'True', reason: 'ChartMismatch' };
const GONE: Condition = { type: 'Ready', status: 'False', reason: 'Uninstalled' };

const PRUNED: Condition = { ...GONE, message: 'its file was removed from Git' };
const ORPHANED: Condition = { type: 'Ready', status: 'False', reason: 'Orphaned' };

function report(condition: Condition, source: EventSource = {}, generation = 1): AgentEvent {
  return {
    eventKey: 'k',
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'a',
      generation,
    },
    conditions: [condition],
    source: { intentId: 'int-1', epoch: 2, ...source },
  };
}

function end(start: Partial<IntentSnapshot>, events: readonly AgentEvent[]): string {
  const intent: IntentSnapshot = {
    id: 'int-1',
    action: 'install',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'a',
    state: 'delivered',
    ...start,
  };
  const [move] = moveIntents([intent], events, 2);
  return move === undefined ? 'stays' : `${move.state}${move.reason === undefined ? '' : ` ${move.reason}`}`;
}

describe('moveIntents', () => {
  const cases: readonly (readonly [string, Partial<IntentSnapshot>, readonly AgentEvent[], string])[] = [
    ['is applied at first sight', {}, [report(RECONCILING)], 'applied'],
    ['is not moved before it is delivered', { state: 'accepted' }, [report(NOT_READY), report(READY)], 'stays'],
    ['is not moved by a report on another object', { name: 'b' }, [report(READY)], 'stays'],
    ['is not moved by a report on another kind', { kind: 'Operation' }, [report(READY)], 'stays'],
    ['is not moved by a report from another namespace', { namespace: 'other' }, [report(DEGRADED)], 'stays'],
    ['is removed when the release stays on purpose', { action: 'uninstall' }, [report(ORPHANED)], 'removed Orphaned'],
    [
      'says what stays after its job said that it is gone',
      { action: 'uninstall', state: 'removed' },
      [report({ ...ORPHANED, message: 'HelmRelease a stays' })],
      'removed Orphaned: HelmRelease a stays',
    ],
    [
      'is not failed while its approval is on its way',
      {},
      [report({ ...STALLED, reason: 'ApprovalMissing' }), report({ ...STALLED, reason: 'ApprovalInvalid' })],
      'applied',
    ],
    ['fails by an approval that was used', {}, [report({ ...STALLED, reason: 'ApprovalUsed' })], 'failed ApprovalUsed'],
    ['is only applied when its object was taken away by hand', {}, [report(ORPHANED)], 'applied'],
    ['is ready when the object is', {}, [report(READY)], 'ready'],
    ['goes all the way in one batch', {}, [report(RECONCILING), report(DEGRADED), report(READY)], 'ready'],
    ['fails with reason and message', {}, [report(DEGRADED)], 'failed HelmReleaseFailed: broken'],
    [
      'fails when nothing will change without a person',
      { state: 'applied' },
      [report(STALLED)],
      'failed ChartMismatch',
    ],
    ['fails when an operation took it back', {}, [report(ROLLED_BACK)], 'failed HelmReleaseRolledBack: runs 6.5.0'],
    ['stays ready when an operation takes it back later', { state: 'ready' }, [report(ROLLED_BACK)], 'stays'],
    ['recovers from a failure', { state: 'failed' }, [report(READY)], 'ready'],
    ['stays failed while it is tried again', { state: 'failed' }, [report(RECONCILING)], 'stays'],
    ['stays applied while nothing is decided', { state: 'applied' }, [report(RECONCILING)], 'stays'],
    ['is removed when the object is gone', { action: 'uninstall' }, [report(GONE)], 'removed'],
    ['is not done uninstalling while the object is still ready', { action: 'uninstall' }, [report(READY)], 'applied'],
    ['stays ready', { state: 'ready' }, [report(DEGRADED), report(ORPHANED)], 'stays'],
    [
      'is removed, with why, when its object was taken away on purpose and by no uninstall',
      { state: 'ready' },
      [report(PRUNED), report(READY)],
      'removed Uninstalled: its file was removed from Git',
    ],
    ['stays removed', { state: 'removed' }, [report(READY)], 'stays'],
    ['stays superseded', { state: 'superseded' }, [report(READY)], 'stays'],
    ['is not moved by a report of an older epoch', {}, [report(READY, { epoch: 1 })], 'stays'],
    [
      'is removed by a report of an older epoch, as the object is gone whichever way took it',
      { action: 'uninstall' },
      [report(GONE, { epoch: 1 })],
      'removed',
    ],
    [
      'is not ended by the removal of an older epoch that nobody asked for',
      { state: 'ready' },
      [report(PRUNED, { epoch: 1 })],
      'stays',
    ],
    ['is moved by a report without an epoch', {}, [{ ...report(READY), source: { intentId: 'int-1' } }], 'ready'],
    ['is not moved by a report of another intent', {}, [report(READY, { intentId: 'int-2' })], 'stays'],
    [
      'is only applied by a condition from before its change',
      {},
      [report({ ...READY, observedGeneration: 1 }, {}, 2)],
      'applied',
    ],
    ['is ready by a condition observed since', {}, [report({ ...READY, observedGeneration: 2 }, {}, 2)], 'ready'],
  ];
  it.each(cases)('%s', (_name, start, events, expected) => {
    expect(end(start, events)).toBe(expected);
  });
});
