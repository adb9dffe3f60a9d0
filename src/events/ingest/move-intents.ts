import type { Condition } from '../../protocol/condition.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { BLOCKED_FOR_NOW } from '../../resources/blocked-for-now.ts';
import { Reason } from '../../resources/reasons.ts';
import type { IntentMove, IntentSnapshot, ReportedState } from './ingest-store.ts';

/** Longest reason that is kept with an intent, in UTF-16 units. */
const MAX_REASON = 2000;

/** Where nothing a cluster reports moves an intent any more. */
const FINAL: readonly IntentSnapshot['state'][] = ['ready', 'removed', 'superseded'];

/** Where there is no receipt yet. A report that is faster than its receipt counts when the receipt is stored. */
const UNDELIVERED: readonly IntentSnapshot['state'][] = ['accepted', 'proposed'];

/** Conditions in which an operation has ended for good, whatever is changed in its spec afterwards. */
const ENDS: readonly string[] = ['Succeeded', 'Failed', 'Cancelled'];

/** Reason of a cancellation that came too late, or of something that cannot be stopped. */
export const ENDED_FIRST = 'EndedFirst';

/** An approval, or the key that it is signed by, may come by another way, behind the object. */
const NOT_APPROVED_YET: readonly string[] = [Reason.ApprovalMissing, Reason.ApprovalInvalid];

/** Where a Blocked operation may go on by what is still on its way: an approval, a key, a right, another delivery. */
const NOT_DECIDED: readonly string[] = [
  ...BLOCKED_FOR_NOW,
  ...NOT_APPROVED_YET,
  Reason.SignatureMissing,
  Reason.SignatureInvalid,
  Reason.NamespaceNotGranted,
  Reason.StaleSource,
];

/** Which condition of which kind means what for the intent behind it. The strongest claim in an event wins: first in the list. */
const CLAIMS: readonly {
  readonly kind: string;
  readonly type: string;
  readonly status: Condition['status'];
  readonly reason?: string;
  /** For every reason but these. */
  readonly unless?: readonly string[];
  /** Only for an intent of this action. */
  readonly of?: IntentSnapshot['action'];
  readonly means: ReportedState;
}[] = [
  { kind: 'ApplicationInstance', type: 'Ready', status: 'False', reason: Reason.Uninstalled, means: 'removed' },
  // The instance is gone and its release stays, as its deletionPolicy or a delete by hand had it.
  {
    kind: 'ApplicationInstance',
    type: 'Ready',
    status: 'False',
    reason: Reason.Orphaned,
    of: 'uninstall',
    means: 'removed',
  },
  // Before Stalled: it says what was done about the failure besides.
  { kind: 'ApplicationInstance', type: 'Degraded', status: 'True', means: 'failed' },
  { kind: 'ApplicationInstance', type: 'Stalled', status: 'True', unless: NOT_APPROVED_YET, means: 'failed' },
  // By its spec: that is what was asked for, and nothing more comes of it.
  { kind: 'ApplicationInstance', type: 'Ready', status: 'False', reason: Reason.Suspended, means: 'ready' },
  // Ready with an earlier version: this intent's own does not run.
  { kind: 'ApplicationInstance', type: 'Ready', status: 'True', reason: Reason.HelmReleaseRolledBack, means: 'failed' },
  { kind: 'ApplicationInstance', type: 'Ready', status: 'True', means: 'ready' },
  { kind: 'Operation', type: 'Failed', status: 'True', means: 'failed' },
  { kind: 'Operation', type: 'Cancelled', status: 'True', means: 'failed' },
  { kind: 'Operation', type: 'Blocked', status: 'True', unless: NOT_DECIDED, means: 'failed' },
  { kind: 'Operation', type: 'Succeeded', status: 'True', means: 'ready' },
];

/**
 * Moves intents by what the cluster reports of the objects that came from them:
 *
 * ```
 * accepted, proposed (no receipt yet: not moved)
 * delivered ── first report ──► applied ── Ready ──► ready (final)
 *                               │  ▲
 *             Degraded, Stalled │  │ never back
 *                               ▼
 *                            failed ── Ready ──► ready
 * any of these ── Ready=False, reason Uninstalled ──► removed (final)          superseded (final)
 * ready too: by the removal of its file from Git, which is reported of the intent that brought it
 * ```
 *
 * How an operation ended moves the intent that asked for it and the one that cancels it alike, whichever of them the report
 * names: the first as above, the cancellation to `ready` where it was cancelled, else to `failed` (EndedFirst).
 *
 * Only a report on the intent's own object moves it: its id can stand in a copy of its manifest.
 * Reports may arrive late and in any order; the moves lead to the same end in each. A report of an older delivery epoch
 * says nothing about what is delivered now and moves nothing, except that what was to go has gone: whichever way took it,
 * nothing is left of it to report.
 *
 * @returns one move per intent that changes
 */
export function moveIntents(
  intents: readonly IntentSnapshot[],
  events: readonly AgentEvent[],
  deliveryEpoch: number,
): IntentMove[] {
  const byId = new Map(intents.map((intent) => [intent.id, intent]));
  const moves = new Map<string, IntentMove>();
  for (const event of events) {
    const named = byId.get(event.source?.intentId ?? '');
    if (named === undefined || !isAbout(event, named)) continue;
    for (const intent of [named, ...sharers(named, intents)]) {
      // Under another's name only how the operation ended is told.
      if (intent !== named && !hasEnded(event)) continue;
      const state = moves.get(intent.id)?.state ?? intent.state;
      const next = nextState({ ...intent, state }, event);
      const isCarriedOut = next?.state === 'removed' && intent.action === 'uninstall';
      if (isOfOlderEpoch(event, deliveryEpoch) && !isCarriedOut) continue;
      if (next !== undefined) moves.set(intent.id, { id: intent.id, ...next });
    }
  }
  return [...moves.values()];
}

/** Of an operation and its cancellation, which are about one run of one object: the others. */
function sharers(named: IntentSnapshot, intents: readonly IntentSnapshot[]): readonly IntentSnapshot[] {
  if (named.action !== 'operate') return [];
  const run = named.cancels ?? named.id;
  return intents.filter((intent) => intent !== named && (intent.id === run || intent.cancels === run));
}

function hasEnded({ conditions }: AgentEvent): boolean {
  return conditions.some(({ type, status }) => status === 'True' && ENDS.includes(type));
}

function isAbout({ resourceRef }: AgentEvent, { kind, namespace, name }: IntentSnapshot): boolean {
  return resourceRef.kind === kind && (resourceRef.namespace ?? '') === namespace && resourceRef.name === name;
}

/** The ids that a batch of events speaks of, each once. */
export function intentIdsOf(events: readonly AgentEvent[]): string[] {
  const ids = new Set<string>();
  for (const { source } of events) {
    if (source?.intentId !== undefined && source.intentId !== '') ids.add(source.intentId);
  }
  return [...ids];
}

export function isOfOlderEpoch(event: AgentEvent, deliveryEpoch: number): boolean {
  return event.source?.epoch !== undefined && event.source.epoch < deliveryEpoch;
}

function nextState(intent: IntentSnapshot, event: AgentEvent): Omit<IntentMove, 'id'> | undefined {
  if (UNDELIVERED.includes(intent.state)) return undefined;
  const claim = claimOf(intent, event);
  const isOver = intent.state === 'ready' && claim?.means === 'removed';
  // Its job may have said first that it is gone, and not what stays.
  const isLeft = intent.state === 'removed' && claim?.condition.reason === Reason.Orphaned;
  if (FINAL.includes(intent.state) && !isOver && !isLeft) return undefined;
  if (claim === undefined) {
    return intent.state === 'applied' || intent.state === 'failed' ? undefined : { state: 'applied' };
  }
  const isOrphan = claim.condition.reason === Reason.Orphaned;
  const isAskedFor = claim.means === 'removed' && intent.action === 'uninstall' && !isOrphan;
  const isCancellation = typeof intent.cancels === 'string';
  if (isCancellation && claim.condition.type === 'Cancelled') return { state: 'ready' };
  if (!isCancellation && (claim.means === 'ready' || claim.means === 'applied' || isAskedFor)) {
    return { state: claim.means };
  }
  const { reason = claim.condition.type, message = '' } = claim.condition;
  const said = message === '' ? reason : `${reason}: ${message}`;
  const text = isCancellation ? `${ENDED_FIRST}: the operation was not stopped; it ended ${said}` : said;
  return {
    state: isCancellation ? 'failed' : claim.means,
    reason: text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON - 1).toWellFormed()}…`,
  };
}

function claimOf(
  intent: IntentSnapshot,
  event: AgentEvent,
): { readonly means: ReportedState; readonly condition: Condition } | undefined {
  const { kind, generation } = event.resourceRef;
  for (const { kind: about, type, status, reason, unless, of, means } of CLAIMS) {
    if (about !== kind || (of !== undefined && of !== intent.action)) continue;
    // An object that is being uninstalled may still be Ready; the uninstall is done when the object is gone.
    if (intent.action === 'uninstall' && means === 'ready') continue;
    // What is blocked and to be cancelled ends as Cancelled.
    if (typeof intent.cancels === 'string' && !ENDS.includes(type)) continue;
    const isEnd = about === 'Operation' && ENDS.includes(type);
    const condition = event.conditions.find(
      (candidate) =>
        candidate.type === type &&
        candidate.status === status &&
        (reason === undefined || candidate.reason === reason) &&
        unless?.includes(candidate.reason ?? '') !== true &&
        // A condition that was observed before the intent's change says nothing of it, unless nothing can change it.
        (isEnd || (candidate.observedGeneration ?? generation ?? 0) >= (generation ?? 0)),
    );
    if (condition !== undefined) return { means, condition };
  }
  return undefined;
}
