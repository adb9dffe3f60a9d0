import type { GitopsDelivery } from '../../delivery/gitops/write/gitops-delivery.ts';
import { ProposalHostFault } from '../../delivery/gitops/proposal-hosts/proposal-host.ts';
import { HostPaused } from '../../delivery/gitops/proposal-hosts/host-client.ts';
import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import { askedWaitMs, backoffMs } from '../../runtime/backoff.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { ProposalHosts } from '../git-hosts/proposal-hosts.ts';
import { tellForbidden } from '../git-hosts/tell-forbidden.ts';
import { deliveryLock, workQueueKey } from '../store/delivery-queue.ts';
import { withExclusive } from '../store/exclusive.ts';
import { hostedProposals, type HostedRow } from '../store/hosted-proposals.ts';
import { findRepositoryById } from '../store/repositories.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { PROPOSALS_TOPIC } from '../topics.ts';
import type { FollowDeps, FollowedRepository } from './follow-request.ts';
import { Followed, hasWork, RepositoryTurn } from './repository-turn.ts';

const SWEEP_MS = 30_000;
const TURN_TIMEOUT_MS = 5 * 60_000;
/** Repositories at once. */
const MAX_ACTIVE = 16;
const UNAVAILABLE = { minMs: 5000, maxMs: 5 * 60_000 } as const;
/** A person has to correct the credential; or it was made a moment ago. */
const FORBIDDEN = { minMs: 15_000, maxMs: 10 * 60_000 } as const;
/** Somebody else writes to the repository, or reads it. */
const BUSY_MS = 500;

export interface HostLoopDeps extends Omit<FollowDeps, 'pageUrl'> {
  readonly random: () => number;
  readonly logger: Logger;
  readonly hosts: Pick<ProposalHosts, 'of'>;
  readonly open: (target: GitopsTarget) => Promise<Pick<GitopsDelivery, 'standing'>>;
  /** Where people reach this control plane. */
  readonly baseUrl: () => string;
}

class Busy extends Error {}

/**
 * Keeps pull and merge requests and proposals together. What there is to do is read from the database each time; a webhook
 * or a change of a proposal only says "look":
 *
 * ```
 * proposal rendered ────────────► request opened; text and note brought up to each revision
 * request merged, closed, gone ─► what the branch holds decides: delivered, rejected or failed
 * enough approvals here ────────► merged by the host at the approved head, and then as above
 * proposal closed here ─────────► request closed, with a comment
 * ```
 *
 * In a minute a repository with open proposals costs one request, for the list of what changed, however many there are; a
 * request that changed costs one or two more. A host that limits requests is left alone for all its repositories.
 */
export class HostLoop {
  readonly #deps: HostLoopDeps;
  readonly #turn: RepositoryTurn;
  readonly #known = new Map<string, Followed>();
  readonly #active = new Map<string, Promise<void>>();

  constructor(deps: HostLoopDeps) {
    this.#deps = deps;
    const pageUrl = (id: string): string => `${deps.baseUrl()}/#/proposals/${encodeURIComponent(id)}`;
    this.#turn = new RepositoryTurn({ ...deps, pageUrl });
  }

  /** Runs until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(PROPOSALS_TOPIC);
      let waitMs = 1000;
      try {
        waitMs = await this.start(stop);
      } catch (error) {
        logger.warn({ err: error }, 'proposals on Git hosts cannot be looked through; trying again');
      }
      await wakeups.waitFor(PROPOSALS_TOPIC, seen, stop, waitMs).catch((error: unknown) => {
        if (!stop.aborted) throw error;
      });
    }
    await this.idle();
  }

  /** Starts a turn for each repository that is due. Answers in how many milliseconds the next one is. */
  async start(stop: AbortSignal): Promise<number> {
    const { store, clock, wakeups } = this.#deps;
    const now = clock.now().getTime();
    const repositories = Map.groupBy(await hostedProposals(store.db, clock.now()), (row) => row.repository_id);
    for (const id of this.#known.keys()) {
      if (!repositories.has(id) && !this.#active.has(id)) this.#known.delete(id);
    }
    let waitMs = SWEEP_MS;
    for (const [id, rows] of repositories) {
      if (this.#active.has(id) || this.#active.size >= MAX_ACTIVE) continue;
      const known = this.#known.get(id) ?? new Followed();
      this.#known.set(id, known);
      const due = Math.max(known.notBefore, hasWork(known, rows, now) ? now : known.pollAt);
      if (due > now) {
        waitMs = Math.min(waitMs, due - now);
        continue;
      }
      const turn = this.#follow(id, known, rows, stop).finally(() => {
        this.#active.delete(id);
        wakeups.wake(PROPOSALS_TOPIC);
      });
      this.#active.set(id, turn);
    }
    return waitMs;
  }

  /** Waits for the turns that were started. */
  async idle(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  /** Never rejects. */
  async #follow(id: string, known: Followed, rows: readonly HostedRow[], stop: AbortSignal): Promise<void> {
    const { clock, logger, store } = this.#deps;
    let repository: RepositoryRow | undefined;
    try {
      repository = await findRepositoryById(store.db, id);
      if (repository === undefined) throw new Error('the repository is not on record');
      const opened = await this.#deps.hosts.of(repository);
      if (opened === undefined) {
        known.notBefore = clock.now().getTime() + FORBIDDEN.maxMs;
        // Proposals without a request are reviewed here alone; the others wait for a credential.
        const stuck = rows.filter((row) => row.host_number !== null);
        await this.#turn.explain(
          stuck,
          'nothing opens the API of its Git host: set an api credential of the repository',
        );
        return;
      }
      const signal = AbortSignal.any([stop, AbortSignal.timeout(TURN_TIMEOUT_MS)]);
      await this.#turn.run(known, { ...opened, ...this.#readable(repository, signal) }, rows, signal);
      known.failures = 0;
      known.notBefore = 0;
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof Busy) {
        known.notBefore = clock.now().getTime() + BUSY_MS;
        return;
      }
      known.failures += 1;
      const retryInMs = this.#waitAfter(error, known.failures);
      known.notBefore = clock.now().getTime() + retryInMs;
      const why = error instanceof Error ? error.message : String(error);
      logger.warn({ repositoryId: id, retryInMs, why }, 'proposals on a Git host are not followed; trying again');
      if (repository !== undefined && isForbidden(error)) await this.#tell(repository, rows, why);
    }
  }

  #readable(row: RepositoryRow, signal: AbortSignal): Pick<FollowedRepository, 'row' | 'standing'> {
    const { store, open } = this.#deps;
    const target: GitopsTarget = { mode: 'gitops', repositoryId: row.id };
    return {
      row,
      standing: async (proposal, merge) => {
        const turn = await withExclusive(store, deliveryLock(workQueueKey(target)), async (held) => {
          const delivery = await open(target);
          return await delivery.standing(proposal, merge, AbortSignal.any([signal, held.signal]));
        });
        if (!turn.granted) throw new Busy(`${row.name} is written to at this moment`);
        return turn.value;
      },
    };
  }

  #waitAfter(error: unknown, failures: number): number {
    const { random } = this.#deps;
    if (error instanceof HostPaused) return askedWaitMs(error.leftMs, 1000, random);
    return backoffMs(isForbidden(error) ? FORBIDDEN : UNAVAILABLE, failures, random);
  }

  /** On the repository, and with each proposal that waits for it. */
  async #tell(repository: RepositoryRow, rows: readonly HostedRow[], why: string): Promise<void> {
    try {
      await tellForbidden(this.#deps, repository, why);
      await this.#turn.explain(rows, why);
    } catch (error) {
      const { logger } = this.#deps;
      logger.warn({ err: error, repositoryId: repository.id }, 'what a Git host says of a credential is not stored');
    }
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof ProposalHostFault && error.kind === 'forbidden';
}
