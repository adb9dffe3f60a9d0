import type { PostOutcome } from '../events/report/event-batcher.ts';
import type { AgentEvent } from '../protocol/event.ts';
import type { AgentAnswer } from './agent-answer.ts';
import { AGENT_PATHS } from './agent-paths.ts';
import type { AgentSession } from './agent-session.ts';

/** Statuses after which the same post would only be refused again. */
const NEVER_TAKEN = new Set([400, 406, 413, 415]);

/** Posts one batch; waits while the operator may not speak. Rejects only when aborted. */
export async function postEvents(
  session: AgentSession,
  events: readonly AgentEvent[],
  signal: AbortSignal,
): Promise<PostOutcome> {
  await session.opened(signal);
  const body = { cluster_id: session.clusterId, events };
  return outcomeOf(await session.call({ method: 'POST', path: AGENT_PATHS.events, body }, signal));
}

/** What an answer means for the batch. A refused credential stops the session; the batch waits for it to open again. */
export function outcomeOf(answer: AgentAnswer): PostOutcome {
  switch (answer.state) {
    case 'ok':
      return { state: 'accepted', ...(answer.eventLog === undefined ? {} : { log: answer.eventLog }) };
    case 'refused': {
      const { status, message, code } = answer;
      if (!NEVER_TAKEN.has(status)) return { state: 'retry', message: `${code}: ${message}` };
      const index = indexOfFault(answer.body);
      return { state: 'rejected', tooLarge: status === 413, message, ...(index === undefined ? {} : { index }) };
    }
    case 'unavailable': {
      const { message, retryAfterMs } = answer;
      return { state: 'retry', message, ...(retryAfterMs === undefined ? {} : { afterMs: retryAfterMs }) };
    }
  }
}

/** Faults carry RFC 6901 paths: `/events/3/conditions/0/status` names the fourth event. */
function indexOfFault(body: Readonly<Record<string, unknown>>): number | undefined {
  const faults: unknown = body['faults'];
  if (!Array.isArray(faults)) return undefined;
  for (const fault of faults as readonly unknown[]) {
    const path = typeof fault === 'object' && fault !== null && 'path' in fault ? fault.path : undefined;
    const match = typeof path === 'string' ? /^\/events\/(\d{1,4})(?:\/|$)/.exec(path) : null;
    if (match !== null) return Number(match[1]);
  }
  return undefined;
}
