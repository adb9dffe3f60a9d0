import type { Receipt } from '../../delivery/delivery.ts';
import type { ProposalStanding } from '../../delivery/gitops/write/branch-readings.ts';
import type { GitopsDelivery } from '../../delivery/gitops/write/gitops-delivery.ts';
import {
  astrayText,
  ProposalHostFault,
  type HostedProposal,
  type ProposalHost,
} from '../../delivery/gitops/proposal-hosts/proposal-host.ts';
import { codeSpan, noteText, requestText } from '../../delivery/gitops/proposal-hosts/request-text.ts';
import type { IntentRecord } from '../../intent/intent-record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { HostedRow } from '../store/hosted-proposals.ts';
import type { Store } from '../store/open-store.ts';
import { pinsIn, updateProposal } from '../store/proposals.ts';
import type { ProposalRow, RepositoryRow } from '../store/schema.ts';
import { configTopic, DELIVERY_TOPIC, PROPOSALS_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { isClosed, type ReviewEvent } from './decide-review.ts';
import { happen, stillApproved, takeReceipt } from './take-receipt.ts';

/** A merge that the host tells of and the branch does not show yet: its servers may be behind each other for so long. */
const LAG_MS = 10 * 60_000;

export interface FollowDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  /** A proposal on our own page. */
  readonly pageUrl: (proposalId: string) => string;
}

/** One repository, as it is followed in one turn. */
export interface FollowedRepository {
  readonly row: RepositoryRow;
  readonly host: ProposalHost;
  /** How people call the host. */
  readonly title: string;
  /** Reads the shared branch; nobody else writes to the repository meanwhile. */
  readonly standing: (
    proposal: Parameters<GitopsDelivery['standing']>[0],
    merge: string | undefined,
  ) => Promise<ProposalStanding>;
}

/** What a request and its proposal do to each other: one step each, and each may be repeated after a crash. */
export class FollowRequest {
  readonly #deps: FollowDeps;
  /** Since when the host tells of a merge that the branch does not show, by proposal. */
  readonly #lagging = new Map<string, number>();

  constructor(deps: FollowDeps) {
    this.#deps = deps;
  }

  /** Opens the request of a rendered proposal, or finds the one that was opened before a crash. */
  async open({ row: repository, host }: FollowedRepository, row: HostedRow, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const proposal = { ...this.#textOf(row), headBranch: row.branch, targetBranch: repository.branch };
    const opened = await host.open(proposal, signal);
    const now = clock.now();
    await store.write(async (trx) => {
      await updateProposal(trx, row.id, {
        host_number: opened.number,
        host_url: opened.url,
        host_revision: row.revision,
        host_checked_at: now.toISOString(),
        ...(row.state === 'open' ? { close_reason: null } : {}),
      });
      // Approvals that were given before have waited for it.
      await happen(trx, row, { kind: 'recheck' }, now, { news: 'ProposalMerging' });
    });
    this.#deps.wakeups.notify(PROPOSALS_TOPIC);
  }

  /** Says on the request that its branch was rendered again. The number stays. */
  async retell({ host }: FollowedRepository, row: HostedRow, signal: AbortSignal): Promise<void> {
    const number = numberOf(row);
    await host.update(number, this.#textOf(row), signal);
    const note = `Rendered again, as revision ${row.revision}: what it changes has changed on the branch. Approvals that were given before no longer count.`;
    await host.comment(number, note, signal);
    await this.#set(row, { host_revision: row.revision });
  }

  /** Takes up what became of the request. `seen` spares asking where it was just told. */
  async look(
    repository: FollowedRepository,
    row: HostedRow,
    signal: AbortSignal,
    seen?: HostedProposal,
  ): Promise<void> {
    const { host, title } = repository;
    const number = numberOf(row);
    const found = seen ?? (await host.find(number, signal));
    if (isClosed(row.state)) {
      await this.#mergedAfterAll(repository, row, found);
      // Reopened there: it is closed again, with the word that an intent has to be asked for anew.
      await this.#set(row, {
        host_checked_at: this.#now(),
        ...(found?.state === 'open' ? { host_closed_at: null } : {}),
      });
      return;
    }
    const by = found?.closedBy === undefined ? '' : ` by ${found.closedBy}`;
    const standing = await this.#landing(repository, row, found?.mergeCommit);
    if (standing.state !== 'landed') {
      if (found === undefined) {
        await this.#happen(row, { kind: 'closed' }, `its request ${number} is gone from ${title}`);
      } else if (found.state === 'closed') {
        const actor = found.closedBy === undefined ? undefined : `${title}/${found.closedBy}`;
        await this.#happen(row, { kind: 'closed' }, `closed on ${title}${by}`, actor);
      } else if (found.state === 'merged') {
        this.#requireShown(repository, row, found, standing);
        const { branch } = repository.row;
        const why =
          found.targetBranch === branch
            ? `as something else than what was proposed; what stands in ${branch} now is not what this intent asked for`
            : `into ${found.targetBranch}, and not into ${branch}, where its cluster would see it`;
        await this.#happen(row, { kind: 'refused', isOlder: false }, `merged on ${title}${by} ${why}`);
      } else if (standing.state === 'moved') {
        await this.#renderAgain(row);
      } else if (row.state === 'open') {
        await this.#note(repository, row, found);
      }
    }
    this.#lagging.delete(row.id);
    await this.#set(row, { host_checked_at: this.#now() });
  }

  /** Looks at the branch alone: what it holds is delivered, whoever brought it; where it has moved, it is rendered again. */
  async judge(repository: FollowedRepository, row: HostedRow): Promise<ProposalStanding> {
    const standing = await this.#landing(repository, row, undefined);
    if (standing.state === 'moved') await this.#renderAgain(row);
    return standing;
  }

  /** Merges an approved one by its host, pinned to the head that was approved; counted and looked at once more before. */
  async merge(repository: FollowedRepository, row: HostedRow, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    if (row.head_commit === null || (await this.judge(repository, row)).state !== 'waits') return;
    // Last: looking at the branch takes a while, and so did those before it in this turn.
    if ((await store.write(async (trx) => await stillApproved(trx, row, clock.now()))) === undefined) return;
    const approved = { headCommit: row.head_commit, targetBranch: repository.row.branch };
    const merged = await repository.host.merge(numberOf(row), approved, signal);
    await this.look(repository, row, signal, merged);
  }

  /** Closes the request of a closed proposal, with the word why. */
  async close(repository: FollowedRepository, row: HostedRow, signal: AbortSignal): Promise<void> {
    const found = await repository.host.close(numberOf(row), closingNote(row), signal);
    await this.#mergedAfterAll(repository, row, found);
    await this.#set(row, { host_closed_at: this.#now(), host_checked_at: this.#now() });
  }

  /** Shows with the proposal what its host waits for or refuses. */
  async explain(row: HostedRow, message: string): Promise<void> {
    if (row.close_reason !== message && !isClosed(row.state)) await this.#set(row, { close_reason: message });
  }

  async #landing(repository: FollowedRepository, row: HostedRow, merge: string | undefined): Promise<ProposalStanding> {
    const intent = JSON.parse(row.record) as Pick<IntentRecord, 'id' | 'requestedAt'>;
    const standing = await repository.standing({ intent, slug: row.slug, pins: pinsIn(row) }, merge);
    if (standing.state === 'landed') {
      const { commit, revision } = standing;
      await this.#take(row, { state: 'delivered', intentId: row.intent_id, mode: 'gitops', commit, revision });
    }
    return standing;
  }

  /** Closed here, and merged there before it was closed there too: then what the branch holds counts. */
  async #mergedAfterAll(
    repository: FollowedRepository,
    row: HostedRow,
    found: HostedProposal | undefined,
  ): Promise<void> {
    if (found?.state !== 'merged' || row.state === 'merged') return;
    const standing = await this.#landing(repository, row, found.mergeCommit);
    if (standing.state !== 'landed') this.#requireShown(repository, row, found, standing);
    this.#lagging.delete(row.id);
  }

  /** @throws ProposalHostFault while the branch may yet show what the host has merged into it */
  #requireShown(
    { row: { branch }, title }: FollowedRepository,
    row: HostedRow,
    { number, targetBranch }: HostedProposal,
    { hasMerge }: Exclude<ProposalStanding, { readonly state: 'landed' }>,
  ): void {
    if (hasMerge || targetBranch !== branch || !this.#lags(row)) return;
    const message = `${title} says that ${number} is merged; the branch does not show it yet`;
    throw new ProposalHostFault('unavailable', message);
  }

  async #renderAgain(row: HostedRow): Promise<void> {
    const message = 'what it would change was changed on the branch since it was rendered';
    await this.#take(row, { state: 'moved', intentId: row.intent_id, message });
  }

  /** Shows what people did to an open request that keeps it from being merged. */
  async #note({ row: { branch }, title }: FollowedRepository, row: HostedRow, found: HostedProposal): Promise<void> {
    const { headCommit: head } = found;
    const pushed =
      head === undefined || head === row.head_commit
        ? undefined
        : `somebody pushed to its branch on ${title} (${head.slice(0, 12)}); what is merged there counts only as what was proposed`;
    const note = astrayText(title, found, branch) ?? pushed;
    if (note !== undefined) await this.explain(row, note);
    else if (row.close_reason !== null) await this.#set(row, { close_reason: null });
  }

  #lags(row: HostedRow): boolean {
    const now = this.#deps.clock.now().getTime();
    const since = this.#lagging.get(row.id) ?? now;
    this.#lagging.set(row.id, since);
    return now - since < LAG_MS;
  }

  async #take(row: HostedRow, receipt: Exclude<Receipt, { readonly state: 'retry' }>): Promise<void> {
    const { store, wakeups, clock } = this.#deps;
    const intent = { ...row, id: row.intent_id, connectivity_mode: 'gitops' as const };
    const became = await store.write(async (trx) => await takeReceipt(trx, intent, receipt, clock.now()));
    if (became === 'config changed') wakeups.notify(configTopic(row.cluster_id));
    wakeups.notify(DELIVERY_TOPIC);
    wakeups.notify(PROPOSALS_TOPIC);
  }

  async #happen(row: HostedRow, event: ReviewEvent, detail: string, actor?: string): Promise<void> {
    const { store, wakeups, clock } = this.#deps;
    const news = event.kind === 'closed' ? 'ProposalRejected' : 'ProposalFailed';
    const cause = { news, detail, ...(actor === undefined ? {} : { actor }) } as const;
    await store.write(async (trx) => await happen(trx, row, event, clock.now(), cause));
    wakeups.notify(PROPOSALS_TOPIC);
  }

  async #set(row: HostedRow, change: Partial<ProposalRow>): Promise<void> {
    await this.#deps.store.write(async (trx) => await updateProposal(trx, row.id, change));
  }

  #now(): string {
    return this.#deps.clock.now().toISOString();
  }

  #textOf(row: HostedRow) {
    const { reason } = JSON.parse(row.record) as Pick<IntentRecord, 'reason'>;
    return requestText({
      title: row.title,
      reason,
      intentId: row.intent_id,
      author: row.author,
      cluster: row.slug,
      revision: row.revision,
      pageUrl: this.#deps.pageUrl(row.id),
    });
  }
}

function closingNote(row: HostedRow): string {
  if (row.state === 'merged') return `The branch has it as commit ${codeSpan(row.merged_commit ?? '?')}.`;
  const state = row.state === 'superseded' ? 'superseded' : row.state;
  return noteText(
    `Closed: the proposal is ${state}. To have it after all, ask for the intent again; this request stays closed.`,
    row.close_reason ?? undefined,
  );
}

function numberOf(row: Pick<ProposalRow, 'id' | 'host_number'>): number {
  if (row.host_number === null) throw new Error(`the proposal ${row.id} has no request`);
  return row.host_number;
}
