import type { Kysely } from 'kysely';
import type { Logger } from '../../runtime/logger.ts';
import { lockApproval, updateApproval } from '../store/approvals.ts';
import { raiseConfigRevision } from '../store/clusters.ts';
import type { ApprovalRow, Database } from '../store/schema.ts';
import { APPROVALS_TOPIC, configTopic } from '../topics.ts';
import { endApproval, endLate } from './carry-out.ts';
import {
  expiredRequests,
  lateApprovals,
  endedRequests,
  revokedStatements,
  spentStatements,
  unsignedApprovals,
} from './due-approvals.ts';
import { signStatement, type SignStatementDeps } from './sign-statement.ts';
import { noteIntents, OF_CHANGED_INTENT } from '../store/changes.ts';
import { approvalStanding } from './standing.ts';

const SWEEP_MS = 30_000;

export interface ApprovalLoopDeps extends SignStatementDeps {
  readonly logger: Logger;
}

/**
 * What becomes of approvals without anybody acting on them:
 *
 * - what was approved and is not signed yet is signed: after a crash in between, and once a proposal was merged;
 * - a statement whose key was revoked is signed again by the present key, for the time that it has left;
 * - what nobody approved in time falls, and what was approved and did not come to its cluster in time, with their intents;
 * - what is asked for an intent that has ended is withdrawn, and a statement that is used or over goes.
 *
 * It is read from the database each time; a wake-up only says "look".
 */
export class ApprovalLoop {
  readonly #deps: ApprovalLoopDeps;

  constructor(deps: ApprovalLoopDeps) {
    this.#deps = deps;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { wakeups, logger } = this.#deps;
    while (!stop.aborted) {
      const seen = wakeups.version(APPROVALS_TOPIC);
      try {
        await this.turn(stop);
      } catch (error) {
        if (!stop.aborted) logger.warn({ err: error }, 'looking after approvals failed; trying again');
      }
      await wakeups.waitFor(APPROVALS_TOPIC, seen, stop, SWEEP_MS).catch((error: unknown) => {
        if (!stop.aborted) throw error;
      });
    }
  }

  /** One look at all of them. One that fails does not keep the others from their turn. */
  async turn(stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const at = clock.now().toISOString();
    await this.#each(await revokedStatements(store.db), stop, async (id) => await this.#unsign(id));
    await this.#each(await expiredRequests(store.db, at), stop, async (id) => await this.#expire(id));
    await this.#each(await lateApprovals(store.db, at), stop, async (id) => await this.#endLate(id));
    await this.#each(await endedRequests(store.db), stop, async (id) => await this.#withdraw(id));
    await this.#each(await unsignedApprovals(store.db, at), stop, async (id) => await signStatement(this.#deps, id));
    await this.#each(await spentStatements(store.db, at), stop, async (id) => await this.#forget(id));
  }

  async #each(ids: readonly string[], stop: AbortSignal, work: (id: string) => Promise<void>): Promise<void> {
    for (const id of ids) {
      stop.throwIfAborted();
      try {
        await work(id);
      } catch (error) {
        this.#deps.logger.warn({ err: error, approval: id }, 'an approval cannot be looked after now; trying again');
      }
    }
  }

  /** What its key signed no longer counts. An intent that is still here waits until it is signed again. */
  async #unsign(id: string): Promise<void> {
    await this.#change(id, async (trx, row) => {
      if (row.statement === null) return;
      await updateApproval(trx, id, { statement: null, statement_kid: null });
      const waiting = await trx
        .updateTable('intents')
        .set({ awaits_approval: 1 })
        .where('id', '=', row.intent_id)
        .where('state', '=', 'accepted')
        .returning(OF_CHANGED_INTENT)
        .execute();
      noteIntents(trx, waiting);
    });
  }

  async #expire(id: string): Promise<void> {
    await this.#change(id, async (trx, row, now) => {
      const standing = row.state === 'pending' ? await approvalStanding(trx, row, now) : undefined;
      if (standing === undefined || !standing.isOver) return;
      const says = `not given by ${row.expires_at}, when its time was over`;
      await endApproval(trx, standing, { state: 'expired', at: now.toISOString(), says });
    });
  }

  async #endLate(id: string): Promise<void> {
    await this.#change(id, async (trx, row, now) => {
      const standing = await approvalStanding(trx, row, now);
      if (standing === undefined) return;
      const { intent, cluster } = standing;
      await endLate(trx, row, { ...intent, slug: cluster.slug }, now);
    });
  }

  async #withdraw(id: string): Promise<void> {
    await this.#change(id, async (trx, row, now) => {
      if (row.state !== 'pending') return;
      const { state, reason } = await trx
        .selectFrom('intents')
        .select(['state', 'reason'])
        .where('id', '=', row.intent_id)
        .executeTakeFirstOrThrow();
      const why = `its intent is ${state}${reason === null ? '' : ` (${reason})`}`;
      await updateApproval(trx, id, { state: 'withdrawn', decided_at: now.toISOString(), reason: why });
    });
  }

  async #forget(id: string): Promise<void> {
    const clusterId = await this.#change(id, async (trx, row) => {
      await updateApproval(trx, id, { statement: null, statement_kid: null });
      await raiseConfigRevision(trx, row.cluster_id);
      return row.cluster_id;
    });
    if (clusterId !== undefined) this.#deps.wakeups.notify(configTopic(clusterId));
  }

  async #change<T>(
    id: string,
    work: (trx: Kysely<Database>, row: ApprovalRow, now: Date) => Promise<T>,
  ): Promise<T | undefined> {
    const { store, clock } = this.#deps;
    return await store.write(async (trx) => {
      const row = await lockApproval(trx, id);
      return row === undefined ? undefined : await work(trx, row, clock.now());
    });
  }
}
