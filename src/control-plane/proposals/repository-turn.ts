import { ProposalHostFault } from '../../delivery/gitops/proposal-hosts/proposal-host.ts';
import type { ChangeCursor, PolledHost } from '../../delivery/gitops/proposal-hosts/polled-host.ts';
import { closedAmong, lookAtRequest, type HostedRow } from '../store/hosted-proposals.ts';
import { pinsIn } from '../store/proposals.ts';
import { isClosed } from './decide-review.ts';
import { FollowRequest, type FollowDeps, type FollowedRepository } from './follow-request.ts';

/** A look at the list of requests, for each repository with open proposals. */
export const POLL_MS = 60_000;
/** The same where a webhook tells of changes: then it is there for what webhooks lose. */
export const POLL_WITH_WEBHOOK_MS = 5 * 60_000;
const WEBHOOK_COUNTS_MS = 60 * 60_000;
/** A request that was not looked at for so long is, by its number, whatever the lists say. */
const STALE_MS = 60 * 60_000;
const MAX_STALE = 20;
/** After a host refused something by its rules: hosts do not tell of every check when it passes. */
const REFUSED_MS = 2 * 60_000;

type Step = 'open' | 'retell' | 'look' | 'judge' | 'merge' | 'close';

/** What is known of a repository between turns. Losing it costs one longer look. */
export class Followed {
  cursor: ChangeCursor = {};
  pollAt = 0;
  /** Nothing is asked before. */
  notBefore = 0;
  failures = 0;
  webhookAt = Number.NEGATIVE_INFINITY;
  /** What the branch was when it was last looked at, by proposal. */
  readonly looked = new Map<string, string>();
  /** Not tried again before, by proposal. */
  readonly later = new Map<string, number>();
}

/** Whether something is to be done about a repository's requests, but for the look at their list. */
export function hasWork(known: Followed, rows: readonly HostedRow[], now: number): boolean {
  return rows.some((row) => !isPutOff(known, row, now) && stepsOf(known, row, now).length > 0);
}

/** A hint that it has changed ends the wait. */
function isPutOff(known: Followed, row: HostedRow, now: number): boolean {
  return (known.later.get(row.id) ?? 0) > now && (row.host_number === null || row.host_checked_at !== null);
}

/** What is due for one proposal, in order. Each step done is not due any more. */
function stepsOf(known: Followed, row: HostedRow, now: number): readonly Step[] {
  if (isClosed(row.state)) {
    if (row.host_number === null) return [];
    return row.host_closed_at === null ? ['close'] : row.host_checked_at === null ? ['look'] : [];
  }
  // Its branch is being rendered.
  if (pinsIn(row).length === 0) return [];
  // One that is merged without a request is the delivery queue's.
  if (row.host_number === null) return row.state === 'open' ? ['open'] : [];
  const steps: Step[] = row.host_revision === row.revision ? [] : ['retell'];
  if (row.host_checked_at === null || now - Date.parse(row.host_checked_at) > STALE_MS) steps.push('look');
  else if (known.looked.get(row.id) !== markOf(row)) steps.push('judge');
  return row.state === 'merging' ? [...steps, 'merge'] : steps;
}

/** One turn of one repository: its list where that is due, then what each proposal needs. */
export class RepositoryTurn {
  readonly #deps: FollowDeps & { readonly random: () => number };
  readonly #follow: FollowRequest;

  constructor(deps: FollowDeps & { readonly random: () => number }) {
    this.#deps = deps;
    this.#follow = new FollowRequest(deps);
  }

  /** @throws ProposalHostFault where the host is to be left alone for a while; Error where Git cannot be read */
  async run(
    known: Followed,
    repository: FollowedRepository & { readonly host: PolledHost },
    rows: readonly HostedRow[],
    signal: AbortSignal,
  ): Promise<void> {
    const now = this.#deps.clock.now().getTime();
    const changed = now >= known.pollAt ? await this.#poll(known, repository, rows, signal) : new Set<string>();
    let stale = 0;
    for (const row of rows) {
      if (row.host_checked_at === null && row.host_number !== null) known.webhookAt = now;
      if (changed.has(row.id)) known.later.delete(row.id);
      if (isPutOff(known, row, now)) continue;
      const due = stepsOf(known, row, now);
      const isHint = row.host_checked_at === null || changed.has(row.id);
      if (due.includes('look') && !isHint) stale += 1;
      if (stale > MAX_STALE && !isHint) continue;
      const steps = changed.has(row.id) && !due.includes('look') ? (['look', ...due] as const) : due;
      await this.#take(known, repository, row, steps, signal);
    }
    for (const id of [...known.looked.keys(), ...known.later.keys()]) {
      if (!rows.some((row) => row.id === id)) this.#forget(known, id);
    }
  }

  /** Shows with each open proposal why nothing becomes of its request now. */
  async explain(rows: readonly HostedRow[], message: string): Promise<void> {
    for (const row of rows) await this.#follow.explain(row, message);
  }

  async #take(
    known: Followed,
    repository: FollowedRepository,
    row: HostedRow,
    steps: readonly Step[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for (const step of steps) {
        signal.throwIfAborted();
        const goesOn = await this.#step(step, known, repository, row, signal);
        // The row has changed; what comes next is read from it at the next turn.
        if (!goesOn) return;
      }
    } catch (error) {
      const isAboutOne = error instanceof ProposalHostFault && (error.kind === 'refused' || error.kind === 'moved');
      if (!isAboutOne) throw error;
      const { clock, random } = this.#deps;
      known.later.set(row.id, clock.now().getTime() + REFUSED_MS * (0.75 + 0.5 * random()));
      await this.#follow.explain(row, error.message);
    }
  }

  /** @returns whether the row is still what it was */
  async #step(
    step: Step,
    known: Followed,
    repository: FollowedRepository,
    row: HostedRow,
    signal: AbortSignal,
  ): Promise<boolean> {
    const follow = this.#follow;
    if (step === 'retell') {
      await follow.retell(repository, row, signal);
      return true;
    }
    if (step === 'judge') {
      const { state } = await follow.judge(repository, row);
      known.looked.set(row.id, markOf(row));
      return state === 'waits';
    }
    if (step === 'look') known.looked.set(row.id, markOf(row));
    await follow[step](repository, row, signal);
    return false;
  }

  /** Ids of the proposals whose requests are not what they were. */
  async #poll(
    known: Followed,
    { row: { id, branch }, host }: FollowedRepository & { readonly host: PolledHost },
    rows: readonly HostedRow[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { clock, random, store } = this.#deps;
    const { requests, cursor } = await host.changes(known.cursor, signal);
    const byNumber = new Map(rows.map((row) => [row.host_number, row]));
    const changed = requests.flatMap(({ number, state, headCommit, targetBranch }) => {
      const row = byNumber.get(number);
      if (row === undefined || isClosed(row.state)) return [];
      const isOurs = state === 'open' && headCommit === row.head_commit && targetBranch === branch;
      // One that was odd, and is as it was opened again, is no longer shown as odd.
      return !isOurs || (row.state === 'open' && row.close_reason !== null) ? [row.id] : [];
    });
    const isOpen = new Map(
      requests.flatMap(({ number, state }) => (state === 'closed' ? [] : [[number, state === 'open']])),
    );
    for (const closed of await closedAmong(store.db, id, [...isOpen.keys()])) {
      // Reopened there, or merged, after its proposal was closed here.
      const isOdd = isOpen.get(closed.number) === true || closed.state !== 'merged';
      if (isOdd) await store.write(async (trx) => await lookAtRequest(trx, id, closed.number));
    }
    known.cursor = cursor;
    const now = clock.now().getTime();
    const everyMs = now - known.webhookAt < WEBHOOK_COUNTS_MS ? POLL_WITH_WEBHOOK_MS : POLL_MS;
    known.pollAt = now + everyMs * (0.75 + 0.5 * random());
    return new Set(changed);
  }

  #forget(known: Followed, id: string): void {
    known.looked.delete(id);
    known.later.delete(id);
  }
}

/** Changes with the cluster's directory and with what was rendered: then the branch is to be looked at. */
function markOf({ desired_revision: directory, revision, head_commit: head }: HostedRow): string {
  return `${directory ?? ''}/${revision}/${head ?? ''}`;
}
