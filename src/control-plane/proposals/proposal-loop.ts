import type { GitopsDelivery } from '../../delivery/gitops/write/gitops-delivery.ts';
import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import type { IntentRecord } from '../../intent/intent-record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { deliveryLock, workQueueKey } from '../store/delivery-queue.ts';
import { withExclusive } from '../store/exclusive.ts';
import type { Store } from '../store/open-store.ts';
import { pinsIn, proposalsWithStaleBranch, undecidedProposals, updateProposal } from '../store/proposals.ts';
import { configTopic, DELIVERY_TOPIC, PROPOSALS_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { decideReview } from './decide-review.ts';
import { reviewedIntents, type WatchedProposal } from './reviewed-intents.ts';
import { standingsOf, type StoredStanding } from './standing.ts';
import { happen, takeReceipt } from './take-receipt.ts';

const SWEEP_MS = 30_000;
const REPOSITORY_TIMEOUT_MS = 60_000;
/** So long the branch of a closed proposal is tried to be deleted. */
const BRANCH_DELETED_WITHIN_MS = 7 * 24 * 3600 * 1000;
const MAX_BRANCHES = 50;
/** Open proposals that are looked after. */
const MAX_WATCHED = 5000;

export interface ProposalLoopDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly open: (target: GitopsTarget) => Promise<Pick<GitopsDelivery, 'standing' | 'forget'>>;
}

/**
 * What becomes of proposals without anybody acting on them, where no request on a Git host is followed:
 *
 * - settings, tokens or the cluster have changed: what is due is merged, what is not approved any more waits again;
 * - the directory has changed in Git: what stands there now was merged by hand, or what is proposed is rendered anew;
 * - the cluster does not read from that repository any more: the proposal is closed;
 * - branches of closed proposals are deleted, for a week, unless somebody else has pushed to them.
 *
 * It is read from the database each time; a wake-up only says "look".
 */
export class ProposalLoop {
  readonly #deps: ProposalLoopDeps;
  /** The directory's tree at which a proposal was last compared, with its revision. */
  readonly #seen = new Map<string, string>();

  constructor(deps: ProposalLoopDeps) {
    this.#deps = deps;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(PROPOSALS_TOPIC);
      try {
        await this.turn(stop);
      } catch (error) {
        if (!stop.aborted) logger.warn({ err: error }, 'looking after proposals failed; trying again');
      }
      await wakeups.waitFor(PROPOSALS_TOPIC, seen, stop, SWEEP_MS).catch((error: unknown) => {
        if (!stop.aborted) throw error;
      });
    }
  }

  /** One look at all of them. */
  async turn(stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const standings = await standingsOf(store.db, await undecidedProposals(store.db, MAX_WATCHED), clock.now());
    const open = new Set(standings.map(({ row }) => row.id));
    for (const id of this.#seen.keys()) if (!open.has(id)) this.#seen.delete(id);
    await this.#recheck(standings);
    const watched = await reviewedIntents(
      store.db,
      standings.map(({ row }) => row),
    );
    await this.#closeStrays(watched);
    await this.#compare(
      watched.filter((one) => one.isWatchedHere),
      stop,
    );
    await this.#deleteBranches(stop);
  }

  async #recheck(standings: readonly StoredStanding[]): Promise<void> {
    const { store, wakeups, clock } = this.#deps;
    for (const standing of standings) {
      const decision = decideReview(standing, { kind: 'recheck' });
      if (decision.kind !== 'change') continue;
      const news = decision.state === 'merging' ? 'ProposalMerging' : 'ProposalNotApproved';
      await store.write(async (trx) => await happen(trx, standing.row, { kind: 'recheck' }, clock.now(), { news }));
      wakeups.notify(DELIVERY_TOPIC);
    }
  }

  async #closeStrays(watched: readonly WatchedProposal[]): Promise<void> {
    const { store, clock } = this.#deps;
    for (const { proposal, isStray } of watched) {
      if (!isStray) continue;
      const detail =
        'the cluster does not read from the repository of this proposal any more; ask for the intent again';
      await store.write(
        async (trx) =>
          await happen(trx, proposal, { kind: 'refused', isOlder: false }, clock.now(), {
            news: 'ProposalFailed',
            detail,
          }),
      );
    }
  }

  /** Only those whose directory has another tree than when they were last looked at. */
  async #compare(watched: readonly WatchedProposal[], stop: AbortSignal): Promise<void> {
    const changed = watched.filter(({ proposal, seenAt }) => this.#seen.get(proposal.id) !== seenAt);
    for (const [repositoryId, group] of Map.groupBy(changed, ({ proposal }) => proposal.repository_id)) {
      await this.#atRepository(repositoryId, stop, async (delivery, signal) => {
        for (const one of group) await this.#compareOne(delivery, one, signal);
      });
    }
  }

  async #compareOne(
    delivery: Pick<GitopsDelivery, 'standing'>,
    { proposal, intent, seenAt }: WatchedProposal,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, wakeups, clock } = this.#deps;
    const { id, requestedAt } = JSON.parse(intent.record) as IntentRecord;
    const change = { intent: { id, requestedAt }, slug: intent.slug, pins: pinsIn(proposal) };
    const found = await delivery.standing(change, undefined, signal);
    this.#seen.set(proposal.id, seenAt);
    if (found.state === 'waits') return;
    const message = 'what it would change was changed on the branch since it was rendered';
    const became = await store.write(
      async (trx) =>
        await takeReceipt(
          trx,
          intent,
          found.state !== 'landed'
            ? { state: 'moved', intentId: intent.id, message }
            : {
                state: 'delivered',
                intentId: intent.id,
                mode: 'gitops',
                commit: found.commit,
                revision: found.revision,
              },
          clock.now(),
        ),
    );
    if (became === 'config changed') wakeups.notify(configTopic(intent.cluster_id));
    wakeups.notify(DELIVERY_TOPIC);
  }

  async #deleteBranches(stop: AbortSignal): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const since = new Date(clock.now().getTime() - BRANCH_DELETED_WITHIN_MS).toISOString();
    const stale = await proposalsWithStaleBranch(store.db, since, MAX_BRANCHES);
    for (const [repositoryId, group] of Map.groupBy(stale, (row) => row.repository_id)) {
      await this.#atRepository(repositoryId, stop, async (delivery, signal) => {
        for (const { id, cluster_id: clusterId, slug, branch, head_commit: head } of group) {
          if (head === null) continue;
          const outcome = await delivery.forget({ clusterId, slug, branch, head }, signal);
          if (outcome === 'changed')
            logger.warn({ branch }, 'somebody pushed to the branch of a closed proposal; it stays');
          const at = clock.now().toISOString();
          await store.write(async (trx) => await updateProposal(trx, id, { branch_settled_at: at }));
        }
      });
    }
  }

  /** A repository that is being written to, or that cannot be reached, is looked at again at the next turn. */
  async #atRepository(
    repositoryId: string,
    stop: AbortSignal,
    work: (delivery: Pick<GitopsDelivery, 'standing' | 'forget'>, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { store, open, logger } = this.#deps;
    stop.throwIfAborted();
    try {
      await withExclusive(store, deliveryLock(workQueueKey({ mode: 'gitops', repositoryId })), async (held) => {
        const signal = AbortSignal.any([stop, held.signal, AbortSignal.timeout(REPOSITORY_TIMEOUT_MS)]);
        await work(await open({ mode: 'gitops', repositoryId }), signal);
      });
    } catch (error) {
      stop.throwIfAborted();
      logger.warn({ err: error, repositoryId }, 'proposals of a repository cannot be looked after now; trying again');
    }
  }
}
