import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import { conditionTransitionKey } from '../../protocol/event-key.ts';
import type { AgentEvent, EventSource } from '../../protocol/event.ts';
import { changedConditions, findCondition } from '../../resources/conditions.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Reporter, StatusChange } from './reporter.ts';

export interface EventReporterDeps {
  readonly clock: Clock;
  /** Takes an event; must not throw. */
  readonly enqueue: (event: AgentEvent) => void;
}

/** Turns status writes into ConditionTransition events, one for each condition that changed. */
export class EventReporter implements Reporter {
  readonly #deps: EventReporterDeps;

  constructor(deps: EventReporterDeps) {
    this.#deps = deps;
  }

  statusChanged(change: StatusChange): void {
    for (const condition of conditionsToReport(change)) {
      this.#deps.enqueue(transition(change.ref, condition, change.source, this.#deps.clock.now()));
    }
  }
}

/**
 * The conditions that changed. Where none did, the write was about the source or the observed generation, and then Ready
 * (or, without one, every condition) is sent again under its own key: an intent that changes nothing visible still
 * becomes `ready` (decisions, "Events").
 */
export function conditionsToReport(change: StatusChange): readonly Condition[] {
  const changed = changedConditions(change.before, change.after);
  if (changed.length > 0 || !sourceOrGenerationChanged(change)) return changed;
  const ready = findCondition(change.after, 'Ready');
  return ready === undefined ? change.after : [ready];
}

function sourceOrGenerationChanged({ source, sourceBefore, observedGeneration }: StatusChange): boolean {
  if (observedGeneration !== undefined || sourceBefore === undefined) return true;
  return (['mode', 'epoch', 'revision', 'intentId', 'generation'] as const).some(
    (field) => source[field] !== sourceBefore[field],
  );
}

function transition(ref: ResourceRef, condition: Condition, source: EventSource, now: Date): AgentEvent {
  return {
    eventKey: conditionTransitionKey(ref, condition),
    kind: 'ConditionTransition',
    resourceRef: ref,
    conditions: [condition],
    timestamp: now.toISOString(),
    source,
  };
}
