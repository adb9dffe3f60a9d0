import type { Condition } from '../../protocol/condition.ts';
import { Reason } from '../../resources/reasons.ts';
import { fitText } from './fit-report.ts';
import type { OpenJob } from './open-job.ts';

const MAX_NAMED = 20;
const MAX_ITEM_MESSAGE = 300;

/**
 * `Synced` of the Cluster's status in pull mode: whether every job that came is in the cluster or was answered. Jobs that
 * wait are named with what they wait for.
 *
 * @param faults what keeps jobs from being asked for, and what keeps those that come from being taken
 */
export function jobsCondition(
  jobs: readonly OpenJob[],
  faults: { readonly poll?: string | undefined; readonly journal?: string | undefined } = {},
): Omit<Condition, 'lastTransitionTime'> {
  const type = 'Synced';
  const { poll, journal } = faults;
  if (journal !== undefined) return { type, status: 'False', reason: Reason.JobsNotKept, message: journal };
  if (poll !== undefined) return { type, status: 'False', reason: Reason.SourceUnreachable, message: poll };
  const waiting = jobs.flatMap(({ job, waiting: cause }) => (cause === undefined ? [] : [{ job, ...cause }]));
  if (waiting.length === 0) {
    return { type, status: 'True', reason: Reason.Applied, message: 'every job that came is applied or answered' };
  }
  const [first] = waiting;
  const isOne = waiting.every(({ reason }) => reason === first?.reason);
  const named = waiting
    .slice(0, MAX_NAMED)
    .map(({ job, reason, message }) => `${job.idempotencyKey}: ${reason}: ${fitText(message, MAX_ITEM_MESSAGE)}`);
  const more = waiting.length > MAX_NAMED ? `; and ${waiting.length - MAX_NAMED} more` : '';
  const message = `${waiting.length} of ${jobs.length} open jobs not applied: ${named.join('; ')}${more}`;
  return { type, status: 'False', reason: isOne && first !== undefined ? first.reason : Reason.PartlyApplied, message };
}
