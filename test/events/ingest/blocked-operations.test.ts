import { expect, it } from 'vitest';
import { moveIntents } from '../../../src/events/ingest/move-intents.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { Reason } from '../../../src/resources/reasons.ts';

function report(type: string, reason: string): AgentEvent {
  const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'a', generation: 1 };
  const condition = { type, status: 'True', reason, message: 'why' } as const;
  return {
    eventKey: 'k',
    kind: 'ConditionTransition',
    resourceRef: ref,
    conditions: [condition],
    source: { intentId: 'int-1' },
  };
}

function end(...events: readonly AgentEvent[]): string {
  const place = { kind: 'Operation', namespace: 'shop', name: 'a' } as const;
  const [move] = moveIntents([{ id: 'int-1', action: 'operate', state: 'delivered', ...place }], events, 1);
  return [move?.state, move?.reason].filter((part) => part !== undefined).join(' ');
}

it.each([
  [Reason.ParametersInvalid, 'failed ParametersInvalid: why'],
  [Reason.TemplateNotSupported, 'failed TemplateNotSupported: why'],
  [Reason.TemplateNotAllowed, 'failed TemplateNotAllowed: why'],
  [Reason.ApprovalUsed, 'failed ApprovalUsed: why'],
  [Reason.ApprovalMissing, 'applied'],
  [Reason.ApprovalInvalid, 'applied'],
  [Reason.NamespaceNotLabelled, 'applied'],
  [Reason.Paused, 'applied'],
  [Reason.StaleSource, 'applied'],
])('an operation that is blocked with %s: its intent is %s', (reason, expected) => {
  expect(end(report('Blocked', reason))).toBe(expected);
});

it('an operation that was blocked and runs after all has its intent ready when it has succeeded', () => {
  const story = [
    report('Blocked', Reason.TemplateNotAllowed),
    report('Running', Reason.OperationRunning),
    report('Succeeded', Reason.JobCompleted),
  ];
  expect(end(...story)).toBe('ready');
});
