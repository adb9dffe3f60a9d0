import { describe, expect, it } from 'vitest';
import type { IntentSnapshot } from '../../../src/events/ingest/ingest-store.ts';
import { moveIntents } from '../../../src/events/ingest/move-intents.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';

const ref = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', namespace: 'shop', name: 'a' };

function report(intentId: string, type: string, generation = 2): AgentEvent {
  return {
    eventKey: 'k',
    kind: 'ConditionTransition',
    resourceRef: { ...ref, generation },
    conditions: [{ type, status: 'True', reason: 'Told', observedGeneration: 1 }],
    source: { intentId, epoch: 2 },
  };
}

const intent = (id: string, rest: Partial<IntentSnapshot> = {}): IntentSnapshot => ({
  id,
  action: 'operate',
  kind: 'Operation',
  namespace: 'shop',
  name: 'a',
  state: 'applied',
  ...rest,
});

const asked = intent('int-1');
const cancellation = intent('int-2', { cancels: 'int-1', state: 'delivered' });

const ends = (events: readonly AgentEvent[], intents: readonly IntentSnapshot[] = [asked, cancellation]) =>
  Object.fromEntries(moveIntents(intents, events, 2).map(({ id, state }) => [id, state]));

describe('an operation and its cancellation', () => {
  it.for(['int-1', 'int-2'])('end by one report that names %s', (named) => {
    expect(ends([report(named, 'Cancelled')])).toEqual({ 'int-1': 'failed', 'int-2': 'ready' });
    expect(ends([report(named, 'Succeeded')])).toEqual({ 'int-1': 'ready', 'int-2': 'failed' });
    expect(ends([report(named, 'Failed')])).toEqual({ 'int-1': 'failed', 'int-2': 'failed' });
  });

  it('say what came first', () => {
    const [, second] = moveIntents([asked, cancellation], [report('int-1', 'Succeeded')], 2);
    expect(second?.reason).toBe('EndedFirst: the operation was not stopped; it ended Told');
  });

  it('are not moved for each other by what is no end, nor by another epoch, object or name', () => {
    expect(ends([report('int-2', 'Running')])).toEqual({ 'int-2': 'applied' });
    expect(ends([{ ...report('int-2', 'Cancelled'), source: { intentId: 'int-2', epoch: 1 } }])).toEqual({});
    expect(ends([{ ...report('int-2', 'Cancelled'), resourceRef: { ...ref, name: 'b' } }])).toEqual({});
    expect(ends([report('int-3', 'Cancelled')], [asked, cancellation, intent('int-3')])).toEqual({ 'int-3': 'failed' });
  });

  it('leave one that has no receipt yet, and one that is over, as they are', () => {
    const waiting = { ...cancellation, state: 'accepted' } as const;
    expect(ends([report('int-1', 'Succeeded')], [asked, waiting])).toEqual({ 'int-1': 'ready' });
    expect(ends([report('int-2', 'Cancelled')], [{ ...asked, state: 'ready' }, cancellation])).toEqual({
      'int-2': 'ready',
    });
  });
});
