import type { LayoutMove, LayoutRecord } from '../../delivery/gitops/write/layout-record.ts';
import type { RepositoryLayout } from '../../delivery/gitops/layout.ts';
import type { LayoutPlan } from '../../delivery/gitops/write/move-layout.ts';
import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { repeat } from '../repeat.ts';
import { appendAudit } from '../store/audit.ts';
import { deliveryLock, workQueueKey } from '../store/delivery-queue.ts';
import { withExclusive } from '../store/exclusive.ts';
import {
  endLayoutMove,
  layoutMoveOf,
  placeClusters,
  recordLayoutMove,
  repositoriesOnTheMove,
  slugsOf,
  takeLayout,
} from '../store/layout-moves.ts';
import type { Store } from '../store/open-store.ts';
import { keepsLayout, LAYOUT_MOVE_GIVEN_UP } from '../store/layout-given-up.ts';
import { findRepositoryById, localName } from '../store/repositories.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { configTopic, DELIVERY_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';

const EVERY_MS = 15_000;
const MOVE_TIMEOUT_MS = 5 * 60_000;

/** The part of a gitops transport that moves directories. */
export interface LayoutMover {
  planLayout(to: RepositoryLayout, signal: AbortSignal): Promise<LayoutPlan>;
  settleLayout(signal: AbortSignal): Promise<void>;
}

export interface LayoutMovesDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
  readonly logger: Logger;
  readonly open: (target: GitopsTarget) => Promise<LayoutMover>;
}

/** Moves repositories from one layout to the other, and brings to an end what a crash or a Git host has interrupted. */
export class LayoutMoves {
  readonly #deps: LayoutMovesDeps;

  constructor(deps: LayoutMovesDeps) {
    this.#deps = deps;
  }

  /** Runs until aborted. A move that cannot be ended now is tried again at the next turn, or by the next delivery. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger, store } = this.#deps;
    const onError = (error: unknown): void => logger.warn({ err: error }, 'looking for moves of layouts failed');
    const turn = async (): Promise<void> => {
      for (const id of await repositoriesOnTheMove(store.db)) {
        try {
          await this.finish(id, stop);
        } catch (error) {
          stop.throwIfAborted();
          logger.warn({ err: error, repositoryId: id }, 'the move of a layout is not at its end; trying again');
        }
      }
    };
    await repeat({ everyMs: EVERY_MS, clock, onError }, turn, stop);
  }

  /** What a move would do. Changes nothing. @throws Error when the remote cannot be read now */
  async plan(repositoryId: string, to: RepositoryLayout, signal: AbortSignal): Promise<LayoutPlan> {
    const mover = await this.#deps.open({ mode: 'gitops', repositoryId });
    return await mover.planLayout(to, signal);
  }

  /** Records that a repository is to be moved; `finish` does it. False: it is being moved already. */
  async begin(
    repository: RepositoryRow,
    wanted: { readonly to: RepositoryLayout; readonly requestedBy: string },
  ): Promise<boolean> {
    const now = this.#deps.clock.now();
    const at = now.toISOString();
    const move: LayoutMove = { id: newId('lmove', now, this.#deps.randomBytes), ...wanted, requestedAt: at };
    return await this.#deps.store.write(async (trx) => {
      if (!(await recordLayoutMove(trx, repository.id, move))) return false;
      await appendAudit(trx, {
        organizationId: repository.organization_id,
        at,
        source: 'user',
        kind: 'RepositoryLayoutMoveRequested',
        actor: wanted.requestedBy,
        summary: `repository ${localName(repository)} is to be moved to the ${wanted.to} layout`,
      });
      return true;
    });
  }

  /** Brings a recorded move to its end. False: another replica has the repository now, and does it. */
  async finish(repositoryId: string, stop: AbortSignal): Promise<boolean> {
    const { store, open } = this.#deps;
    const turn = await withExclusive(
      store,
      deliveryLock(workQueueKey({ mode: 'gitops', repositoryId })),
      async (held) => {
        const signal = AbortSignal.any([stop, held.signal, AbortSignal.timeout(MOVE_TIMEOUT_MS)]);
        await (await open({ mode: 'gitops', repositoryId })).settleLayout(signal);
      },
    );
    return turn.granted;
  }

  /** What the transport to a repository is told of its layout. */
  recordOf(repositoryId: string): LayoutRecord {
    const { db } = this.#deps.store;
    const row = async (): Promise<RepositoryRow> => {
      const found = await findRepositoryById(db, repositoryId);
      if (found === undefined) throw new Error(`the repository ${repositoryId} is not recorded`);
      return found;
    };
    return {
      current: async () => {
        const found = await row();
        const move = layoutMoveOf(found);
        return { layout: found.layout, ...(move === undefined ? {} : { move }) };
      },
      slugs: async () => await slugsOf(db, await row()),
      finish: async (move, done) => await this.#end(await row(), move, done),
      giveUp: async (move, why) => await this.#giveUp(await row(), move, why),
    };
  }

  async #end(
    repository: RepositoryRow,
    move: LayoutMove,
    done: { readonly commit?: string; readonly directories?: number },
  ): Promise<void> {
    const { store, wakeups, clock } = this.#deps;
    for (;;) {
      const placed = await store.write(async (trx) => {
        // Held until the end of the transaction, as it is while a cluster is made: none is made in the old place meanwhile.
        const taken = await takeLayout(trx, repository.id, move, done.commit);
        if (taken === undefined) return [];
        const clusters = await placeClusters(trx, repository.id, move.to);
        // Not all of them may be done: the next transaction sees.
        if (clusters.length > 0) return clusters;
        await endLayoutMove(trx, repository.id, move);
        const what = done.directories === undefined ? '' : `, directories moved: ${done.directories}`;
        const isChanged = taken.commit !== undefined && done.directories !== 0;
        const how = isChanged ? `commit ${taken.commit}${what}` : 'nothing had to be changed in Git';
        await appendAudit(trx, {
          organizationId: repository.organization_id,
          at: clock.now().toISOString(),
          source: 'user',
          kind: 'RepositoryLayoutMoved',
          actor: move.requestedBy,
          summary: `repository ${localName(repository)} has the ${move.to} layout: ${how}`,
        });
        return [];
      });
      for (const id of placed) wakeups.notify(configTopic(id));
      if (placed.length === 0) break;
    }
    wakeups.notify(DELIVERY_TOPIC);
  }

  async #giveUp(repository: RepositoryRow, move: LayoutMove, why: string): Promise<void> {
    await this.#deps.store.write(async (trx) => {
      if (!(await endLayoutMove(trx, repository.id, move))) return;
      await appendAudit(trx, {
        organizationId: repository.organization_id,
        at: this.#deps.clock.now().toISOString(),
        source: 'user',
        kind: LAYOUT_MOVE_GIVEN_UP,
        actor: move.requestedBy,
        summary: keepsLayout(repository),
        reason: why,
      });
    });
  }
}
