import { describe, expect, it } from 'vitest';
import { EventReporter } from '../../../src/events/report/event-reporter.ts';
import type { StatusChange } from '../../../src/events/report/reporter.ts';
import type { Condition } from '../../../src/protocol/condition.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const READY: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'HelmReleaseReady',
  message: 'ready',
  lastTransitionTime: '2026-03-01T09:00:00.000Z',
};
const STABLE: Condition = { type: 'Reconciling', status: 'False', reason: 'Stable', message: '' };
const SOURCE = { mode: 'gitops', epoch: 1, intentId: 'int-1', generation: 1 } as const;

function reported(change: Partial<StatusChange>): AgentEvent[] {
  const events: AgentEvent[] = [];
  new EventReporter({ clock: new ManualClock(), enqueue: (event) => void events.push(event) }).statusChanged({
    ref: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name: 'podinfo',
      uid: 'uid-1',
      generation: 3,
    },
    before: [READY, STABLE],
    after: [READY, STABLE],
    source: SOURCE,
    sourceBefore: SOURCE,
    ...change,
  });
  return events;
}

describe('a status write', () => {
  it('becomes one event for each condition that changed', () => {
    const failed: Condition = { ...READY, status: 'False', reason: 'HelmReleaseUpgradeFailed' };
    const reconciling: Condition = { ...STABLE, message: 'other words' };
    expect(reported({ after: [failed, reconciling] })).toEqual([
      {
        eventKey: 'condition/apps.service.io/v1alpha1/ApplicationInstance/shop/podinfo/uid-1/Ready/False@3',
        kind: 'ConditionTransition',
        resourceRef: {
          apiVersion: 'apps.service.io/v1alpha1',
          kind: 'ApplicationInstance',
          namespace: 'shop',
          name: 'podinfo',
          uid: 'uid-1',
          generation: 3,
        },
        conditions: [failed],
        timestamp: '2026-03-01T10:00:00.000Z',
        source: SOURCE,
      },
      expect.objectContaining({ conditions: [reconciling] }),
    ]);
  });

  it('sends every condition of a resource that had none', () => {
    expect(reported({ before: [] }).map(({ conditions }) => conditions[0]?.type)).toEqual(['Ready', 'Reconciling']);
  });

  it('is silent when nothing changed', () => {
    expect(reported({})).toEqual([]);
  });

  it('sends Ready again under its key when only the intent is another', () => {
    const events = reported({ source: { ...SOURCE, intentId: 'int-2', generation: 2 } });
    expect(events).toEqual([
      expect.objectContaining({
        eventKey: 'condition/apps.service.io/v1alpha1/ApplicationInstance/shop/podinfo/uid-1/Ready/True@3',
        conditions: [READY],
        source: { ...SOURCE, intentId: 'int-2', generation: 2 },
      }),
    ]);
  });

  it('sends Ready again when only the generation was observed', () => {
    expect(reported({ observedGeneration: 3 }).map(({ conditions }) => conditions)).toEqual([[READY]]);
  });

  it('sends all conditions of a kind without Ready', () => {
    const events = reported({ before: [STABLE], after: [STABLE], observedGeneration: 3 });
    expect(events.map(({ conditions }) => conditions)).toEqual([[STABLE]]);
  });
});
