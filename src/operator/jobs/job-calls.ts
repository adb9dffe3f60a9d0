import type { JobResult, JobStatus } from '../../protocol/job.ts';
import type { AgentAnswer } from '../agent-answer.ts';
import { AGENT_PATHS } from '../agent-paths.ts';
import type { AgentSession } from '../agent-session.ts';
import { fitResult, fitStatus } from './fit-report.ts';

/** What the control plane says to an ack, a status or a result (specification, "Errors"). */
export type JobAnswer =
  | { readonly state: 'taken' }
  /** 409: closed at the control plane, or its result is there already. */
  | { readonly state: 'closed' }
  /** 404: it never existed, or was pruned. */
  | { readonly state: 'unknown' }
  /** 400, 413 and the like: the same again would only be refused again. */
  | { readonly state: 'refused'; readonly message: string }
  | { readonly state: 'retry'; readonly message: string; readonly afterMs?: number };

const NEVER_TAKEN = new Set([400, 406, 413, 415]);

export async function postAck(session: AgentSession, id: string, signal: AbortSignal): Promise<JobAnswer> {
  return answerOf(await session.call({ method: 'POST', path: pathOf(id, 'ack') }, signal));
}

export async function postStatus(
  session: AgentSession,
  id: string,
  status: JobStatus,
  signal: AbortSignal,
): Promise<JobAnswer> {
  return answerOf(await session.call({ method: 'POST', path: pathOf(id, 'status'), body: fitStatus(status) }, signal));
}

export async function postResult(
  session: AgentSession,
  id: string,
  result: JobResult,
  signal: AbortSignal,
): Promise<JobAnswer> {
  return answerOf(await session.call({ method: 'POST', path: pathOf(id, 'result'), body: fitResult(result) }, signal));
}

function pathOf(id: string, what: 'ack' | 'status' | 'result'): string {
  return `${AGENT_PATHS.jobs}/${encodeURIComponent(id)}/${what}`;
}

function answerOf(answer: AgentAnswer): JobAnswer {
  switch (answer.state) {
    case 'ok':
      return { state: 'taken' };
    case 'refused': {
      const { status, code } = answer;
      const message = `${code}: ${answer.message}`;
      if (status === 409) return { state: 'closed' };
      if (status === 404) return { state: 'unknown' };
      return { state: NEVER_TAKEN.has(status) ? 'refused' : 'retry', message };
    }
    case 'unavailable': {
      const { message, retryAfterMs } = answer;
      return { state: 'retry', message, ...(retryAfterMs === undefined ? {} : { afterMs: retryAfterMs }) };
    }
  }
}
