import type { Fault } from '../../protocol/app-error.ts';
import { EVENT_KINDS, type AgentEvent } from '../../protocol/event.ts';
import { refusal } from '../../protocol/parse.ts';

/**
 * What the schema cannot say: each kind is about its own kinds of resource.
 *
 * @throws AppError `constraint_violated`; the path of each fault holds the index of its event
 */
export function checkEvents(events: readonly AgentEvent[]): void {
  const faults: Fault[] = [];
  for (const [index, { kind, resourceRef }] of events.entries()) {
    const { about } = EVENT_KINDS[kind];
    if ((about as readonly string[]).includes(resourceRef.kind)) continue;
    faults.push({
      path: `/events/${index}/resourceRef/kind`,
      message: `must be ${about.join(', ')} for an event of kind ${kind}`,
      allowed: about,
    });
  }
  if (faults.length > 0) throw refusal(faults);
}
