import type { StatusChange } from '../events/report/reporter.ts';
import type { ConnectivityMode } from '../protocol/connectivity-mode.ts';
import { Reason } from '../resources/reasons.ts';
import { OPERATION_KIND } from '../resources/operation.ts';
import type { DeletedRecord } from './inventory-record.ts';
import { lostRun } from './operation/known-runs.ts';

/** From the report of an end to its post. */
const MARGIN_MS = 60_000;

/**
 * The ends of uninstalled objects that a process before this one reported, and may not have posted any more: it ended, or lost
 * its Lease, while the control plane was away. A status is found in its object again; an end stands nowhere but here, and
 * the intent behind it waits for it. The control plane knows an end by its key, and by the reason, message and time
 * of its condition, which are all the same here: it is no second end to it, however often it is told.
 *
 * @param lastAnswer of the control plane to an earlier process, RFC 3339; absent: none is known
 */
export function endsToRepeat(
  deleted: readonly DeletedRecord[],
  lastAnswer: string | undefined,
  mode: ConnectivityMode,
): StatusChange[] {
  const from = lastAnswer === undefined ? 0 : Date.parse(lastAnswer) - MARGIN_MS;
  return deleted.flatMap((record) => (Date.parse(record.at) < from ? [] : (endToRepeat(record, mode) ?? [])));
}

/** The end of one as it was reported; undefined where no intent asked for it. */
export function endToRepeat(record: DeletedRecord, mode: ConnectivityMode): StatusChange | undefined {
  if (record.reportedFor === undefined) return undefined;
  if (record.kind !== OPERATION_KIND) return endOf(record, mode);
  return record.run === 'lost' ? lostRun(record, mode) : undefined;
}

/** The end of one as it was reported, and in the same words each time where none is remembered. */
export function endOf(record: DeletedRecord, mode: ConnectivityMode): StatusChange {
  const { apiVersion, kind, namespace, name, epoch, generation, at, reportedFor: intentId, told } = record;
  const { uid, generation: ofObject } = told ?? {};
  const { reason, message } = told ?? { reason: Reason.Uninstalled, message: 'the object is not in the cluster' };
  return {
    ref: {
      apiVersion,
      kind,
      namespace,
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(ofObject === undefined ? {} : { generation: ofObject }),
    },
    before: [],
    after: [{ type: 'Ready', status: 'False', reason, message, lastTransitionTime: told?.at ?? at }],
    source: { mode, epoch, generation, ...(intentId === undefined ? {} : { intentId }) },
  };
}
