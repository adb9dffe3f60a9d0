import type { ModeHandoverRow, ModeSwitchRow } from '../store/schema.ts';
import type { BeforeSwitch, SwitchOptions } from './mode-switch.ts';
import type { TargetProbes } from './probe-target.ts';

/** How long a phase may take, in milliseconds in which the operator was in contact; `totalMs` by the clock. */
export interface SwitchLimits {
  /** For the new way to pass its probes. */
  readonly probeMs: number;
  /** For the operator to report that it goes by the new epoch. */
  readonly reportMs: number;
  /** Once it has, for work that it had taken by the old way to end. */
  readonly drainMs: number;
  readonly handOverMs: number;
  readonly confirmMs: number;
  readonly totalMs: number;
  /** On the way back, for an object that is held up alone. */
  readonly leaveMs: number;
}

export const DEFAULT_SWITCH_LIMITS: SwitchLimits = {
  probeMs: 2 * 60_000,
  reportMs: 10 * 60_000,
  drainMs: 2 * 60_000,
  handOverMs: 10 * 60_000,
  confirmMs: 10 * 60_000,
  totalMs: 30 * 24 * 60 * 60_000,
  leaveMs: 60_000,
};

/** What a decision about a switch depends on beside its row. */
export interface SwitchFacts {
  /** Why nothing is heard of the operator; undefined: it is in contact. */
  readonly silence: string | undefined;
  /** Time in contact in this phase; while fencing, since the fence was reported, once it was. */
  readonly contactMs: number;
  readonly clusterEpoch: number;
  readonly reportedEpoch: number | null;
  /** The last look at the new way; undefined: none yet. */
  readonly probes: TargetProbes | undefined;
  /** Proposals that stand against the fence, and intents that wait to be proposed. */
  readonly openProposals: readonly string[];
  /** Why it cannot be fenced for the new way: for now, or for good. */
  readonly obstacle: { readonly lasts: boolean; readonly why: string } | undefined;
  /** Work of older epochs that is still going on: jobs that the operator took, a batch of the control plane's own. */
  readonly oldWork: number;
  /** Of the present epoch. */
  readonly handovers: Readonly<Record<ModeHandoverRow['state'], number>>;
  /** Of those that are still to be delivered: tried, and held up by what is about that object alone. */
  readonly heldUp: number;
  /** Objects that are left as they are. */
  readonly left: number;
  /** The first objects that were refused, and why. */
  readonly refused: readonly string[];
  /** The first that are still to be delivered, or to be reported. */
  readonly awaited: readonly string[];
  /** In gitops mode the operator has applied what Git holds; true in the others. */
  readonly isRevisionApplied: boolean;
}

export type DecidedSwitch = Pick<ModeSwitchRow, 'state' | 'phase' | 'to_mode' | 'from_mode'> &
  Pick<ModeSwitchRow, 'requested_at' | 'cancelled_by'> & {
    /** That was last raised for it, or for one that went back before it; null: none. */
    readonly epoch: number | null;
    readonly options: SwitchOptions;
    readonly before: BeforeSwitch | undefined;
  };

/** The next thing that is done. `fence` and `fence-back` raise the epoch; nothing else does. */
export type SwitchMove =
  | { readonly kind: 'over' }
  | { readonly kind: 'wait'; readonly for: string }
  | { readonly kind: 'probe' }
  | { readonly kind: 'fence'; readonly message: string }
  | { readonly kind: 'hand-over'; readonly endsOldWork: boolean }
  | { readonly kind: 'confirm' }
  | { readonly kind: 'activate' }
  | { readonly kind: 'fence-back'; readonly reason: string }
  /** The fence of an earlier switch that went back still stands: what is left of that way is gone. */
  | { readonly kind: 'go-on-back'; readonly reason: string }
  | { readonly kind: 'roll-back'; readonly reason: string };

/**
 * The switch of a cluster from one mode to another:
 *
 * ```
 * requested ──► probing ──► fencing ──► handing-over ──► confirming ──► active
 *     │            │           │  ▲          │  │            │  │
 *     │            │           │  └──────────┼──┴────────────┼──┘  the epoch was raised by somebody else: fenced anew
 *     │ cancelled, │ refused,  │ cancelled,  │ cancelled,    │ cancelled,
 *     │ 30 days    │ time is up│ not reported│ refused,      │ refused,
 *     │            │           │ in time     │ time is up    │ time is up
 *     ▼            ▼           ▼             ▼               ▼
 *    rolled-back ◄─┘         rolling-back: fencing ──► rolling-back: handing-over ──► rolled-back
 *    (nothing was changed)     (the old mode, under an epoch of its own)                    ▲
 *                                       └───────── a new request takes over ────────────────┘
 * ```
 *
 * One writer at any time: nothing is delivered while it is fencing, and that ends only when the operator has reported the
 * new epoch, which says that no write of an older one is in flight or will start. On the way back that report is waited for
 * where anything may have been delivered by the new way; otherwise there is no second writer.
 *
 * Time counts while the operator is in contact. The way back has no limit: it goes on until it is done.
 */
export function decideSwitch(row: DecidedSwitch, facts: SwitchFacts, now: Date, limits: SwitchLimits): SwitchMove {
  switch (row.state) {
    case 'active':
    case 'rolled-back':
      return { kind: 'over' };
    case 'rolling-back':
      return goBack(row, facts, limits);
    case 'requested':
    case 'probing':
      return beforeFence(row, facts, now, limits);
    case 'fencing':
    case 'handing-over':
    case 'confirming': {
      const reason = whyItEnds(row, now, limits) ?? whyItFails(row, facts, limits);
      if (reason !== undefined) return { kind: 'fence-back', reason };
      if (facts.clusterEpoch !== row.epoch) return { kind: 'fence', message: raised(row, facts) };
      return forward(row, facts, limits);
    }
  }
}

function beforeFence(row: DecidedSwitch, facts: SwitchFacts, now: Date, limits: SwitchLimits): SwitchMove {
  const reason = whyItEnds(row, now, limits) ?? whyItCannotBegin(row, facts, limits);
  if (reason !== undefined) return { kind: row.epoch === null ? 'roll-back' : 'go-on-back', reason };
  if (row.state === 'requested') return { kind: 'probe' };
  if (facts.silence !== undefined) return { kind: 'wait', for: `the operator: ${facts.silence}` };
  if (facts.obstacle !== undefined) return { kind: 'wait', for: facts.obstacle.why };
  if (facts.probes === undefined) return { kind: 'wait', for: `the probe of ${row.to_mode} mode` };
  if (facts.probes.state === 'ready') return { kind: 'fence', message: `${row.to_mode} mode passed its probes` };
  return { kind: 'wait', for: `${row.to_mode} mode to pass its probes: ${failedProbes(facts.probes)}` };
}

function forward(row: DecidedSwitch, facts: SwitchFacts, limits: SwitchLimits): SwitchMove {
  const { handovers } = facts;
  if (row.state === 'fencing') {
    return isReported(row, facts) ? handOverOnceDrained(facts, limits) : { kind: 'wait', for: report(row, facts) };
  }
  if (row.state === 'handing-over') {
    return handovers.pending === 0
      ? { kind: 'confirm' }
      : { kind: 'wait', for: withSilence(`${objects(handovers.pending)} to be delivered`, facts) };
  }
  const open = handovers.pending + handovers.delivered;
  if (open > 0) return { kind: 'wait', for: withSilence(`the operator to report ${objects(open)}`, facts) };
  // What Git holds of an object that is left is of another time, and may be refused. All that is handed over is reported.
  return facts.isRevisionApplied || (facts.left > 0 && facts.contactMs >= limits.leaveMs)
    ? { kind: 'activate' }
    : { kind: 'wait', for: withSilence('the operator to apply what Git holds', facts) };
}

function goBack(row: DecidedSwitch, facts: SwitchFacts, limits: SwitchLimits): SwitchMove {
  if (facts.clusterEpoch !== row.epoch) return { kind: 'fence-back', reason: raised(row, facts) };
  if (row.phase === 'fencing') {
    if (row.before?.delivered !== true) return { kind: 'hand-over', endsOldWork: facts.oldWork > 0 };
    return isReported(row, facts) ? handOverOnceDrained(facts, limits) : { kind: 'wait', for: report(row, facts) };
  }
  const { pending } = facts.handovers;
  // It ends although an object cannot come along: that is left, and named.
  const isLeft = facts.heldUp === pending && facts.contactMs >= limits.leaveMs;
  if (pending > 0 && !isLeft) {
    const what = `${objects(pending)} to be delivered again: ${named(facts.awaited, pending)}`;
    return { kind: 'wait', for: withSilence(what, facts) };
  }
  return { kind: 'roll-back', reason: `the cluster is in ${row.from_mode} mode again` };
}

/** What was taken by the old way may end by it; what has not by then is closed here and delivered by the new way. */
function handOverOnceDrained(facts: SwitchFacts, limits: SwitchLimits): SwitchMove {
  const { oldWork, contactMs } = facts;
  if (oldWork === 0) return { kind: 'hand-over', endsOldWork: false };
  if (contactMs >= limits.drainMs) return { kind: 'hand-over', endsOldWork: true };
  return { kind: 'wait', for: withSilence(`work that was taken before the fence to end: ${oldWork}`, facts) };
}

/** In any state on the way forward. */
function whyItEnds(row: DecidedSwitch, now: Date, limits: SwitchLimits): string | undefined {
  if (row.cancelled_by !== null) return `cancelled by ${row.cancelled_by}`;
  if (now.getTime() - Date.parse(row.requested_at) < limits.totalMs) return undefined;
  return `it did not come to an end within ${Math.round(limits.totalMs / 86_400_000)} days`;
}

function whyItCannotBegin(row: DecidedSwitch, facts: SwitchFacts, limits: SwitchLimits): string | undefined {
  const { obstacle, openProposals, probes, contactMs } = facts;
  if (obstacle?.lasts === true) return obstacle.why;
  if (openProposals.length > 0 && row.options.closeProposals !== true) {
    return `there are open proposals, or intents still to be proposed (${openProposals.join(', ')}): decide them first, or have them closed with the switch`;
  }
  if (row.state === 'requested' || probes === undefined || probes.state === 'ready') return undefined;
  if (probes.state === 'refused') return `${row.to_mode} mode failed its probes: ${failedProbes(probes)}`;
  if (contactMs < limits.probeMs) return undefined;
  return `${row.to_mode} mode did not pass its probes within ${minutes(limits.probeMs)}: ${failedProbes(probes)}`;
}

function whyItFails(row: DecidedSwitch, facts: SwitchFacts, limits: SwitchLimits): string | undefined {
  const { handovers, refused, awaited, contactMs } = facts;
  if (row.state === 'fencing') {
    if (isReported(row, facts) || contactMs < limits.reportMs) return undefined;
    return `the operator is in contact and did not report delivery epoch ${row.epoch} within ${minutes(limits.reportMs)}; see that it runs a version that knows switches of mode`;
  }
  if (handovers.refused > 0) return `${row.to_mode} mode refused ${objects(handovers.refused)}: ${refused.join('; ')}`;
  const isDelivering = row.state === 'handing-over';
  const limit = isDelivering ? limits.handOverMs : limits.confirmMs;
  if (contactMs < limit) return undefined;
  const open = isDelivering ? handovers.pending : handovers.pending + handovers.delivered;
  if (open === 0 && (isDelivering || facts.isRevisionApplied)) return undefined;
  if (open === 0) return `the operator did not apply what Git holds within ${minutes(limit)}`;
  const was = open === 1 ? 'was' : 'were';
  const what = isDelivering ? 'could not be delivered' : `${was} not reported by the operator`;
  return `${objects(open)} ${what} within ${minutes(limit)}: ${named(awaited, open)}`;
}

function named(names: readonly string[], count: number): string {
  const more = count - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

function isReported(row: DecidedSwitch, { reportedEpoch }: SwitchFacts): boolean {
  return reportedEpoch !== null && row.epoch !== null && reportedEpoch >= row.epoch;
}

function report(row: DecidedSwitch, facts: SwitchFacts): string {
  return withSilence(`the operator to leave the earlier way and report delivery epoch ${row.epoch}`, facts);
}

function raised(row: DecidedSwitch, { clusterEpoch }: SwitchFacts): string {
  return `the delivery epoch was raised from ${row.epoch} to ${clusterEpoch} meanwhile, so it is fenced anew`;
}

function withSilence(what: string, { silence }: SwitchFacts): string {
  return silence === undefined ? what : `${what} (${silence})`;
}

function failedProbes({ probes }: TargetProbes): string {
  return probes.flatMap(({ ok, name, message }) => (ok ? [] : [`${name}: ${message}`])).join('; ');
}

function objects(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`;
}

function minutes(ms: number): string {
  return `${Math.round(ms / 60_000)} minutes`;
}
