import type { Kysely } from 'kysely';
import { createHash } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { repeat } from '../repeat.ts';
import { appendAudit } from '../store/audit.ts';
import { insertMessages } from '../store/channel-messages.ts';
import { queueMessages } from '../store/channel-outbox.ts';
import type { Store } from '../store/open-store.ts';
import { localName } from '../store/repositories.ts';
import { repositoriesOfOtherHosts, storeProbe, wasDeliveredSince } from '../store/repository-admin.ts';
import type { Database, RepositoryRow } from '../store/schema.ts';
import { withProbe } from './change-repository.ts';
import { CREDENTIAL_USES, credentialInfosOf, type CredentialUse } from './credential-info.ts';
import type { HostAccesses } from './host-accesses.ts';
import { NO_BRANCH, probeOf, probeRepository } from './probe-repository.ts';

const EVERY_MS = 60_000;
/** A probe is one or two requests; a host with hundreds of repositories is not to see them all at once. */
const READY_EVERY_MS = 30 * 60_000;
const OTHERWISE_EVERY_MS = 5 * 60_000;
const SPREAD = 0.2;
const PROBES_AT_ONCE = 4;
const PROBE_TIMEOUT_MS = 90_000;
const DAY_MS = 24 * 60 * 60_000;
/** Days before its end at which a credential is spoken of; 0: it has ended. */
const WARN_DAYS = [14, 3, 0];

export const CREDENTIAL_EXPIRES = 'RepositoryCredentialExpires';
export const PROBE_CHANGED = 'RepositoryProbeChanged';

export interface RepositoryWatchDeps {
  readonly store: Store;
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * Looks at repositories of other hosts now and then: whether they can still be written, and when their credentials end. What
 * changes stands in the audit and in the organization's channel, once.
 */
export class RepositoryWatch {
  readonly #deps: RepositoryWatchDeps;

  constructor(deps: RepositoryWatchDeps) {
    this.#deps = deps;
  }

  /** Runs until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void => logger.warn({ err: error }, 'repositories not looked at; trying again');
    await repeat({ everyMs: EVERY_MS, clock, onError }, async () => await this.turn(stop), stop);
  }

  /** One turn. A second one with nothing due does nothing. */
  async turn(stop: AbortSignal): Promise<void> {
    const rows: RepositoryRow[] = [];
    for (const row of await repositoriesOfOtherHosts(this.#deps.store.db)) rows.push(await this.#warn(row));
    const due: RepositoryRow[] = [];
    for (const row of rows) if (this.#isDue(row) || (await this.#hasBranchSince(row))) due.push(row);
    const workers = Array.from({ length: PROBES_AT_ONCE }, async () => {
      for (let row = due.shift(); row !== undefined; row = due.shift()) {
        stop.throwIfAborted();
        await this.#probe(row, stop);
      }
    });
    await Promise.all(workers);
  }

  #isDue(row: RepositoryRow): boolean {
    const last = probeOf(row);
    if (last === undefined) return true;
    const every = last.state === 'ready' ? READY_EVERY_MS : OTHERWISE_EVERY_MS;
    const waited = this.#deps.clock.now().getTime() - Date.parse(last.at);
    return waited >= every * (1 - this.#deps.random() * SPREAD);
  }

  /** What was found then speaks of a branch that is not there yet, and a delivery has made it. */
  async #hasBranchSince(row: RepositoryRow): Promise<boolean> {
    const last = probeOf(row);
    if (last?.message.includes(NO_BRANCH) !== true) return false;
    return await wasDeliveredSince(this.#deps.store.db, row.id, last.at);
  }

  async #probe(row: RepositoryRow, stop: AbortSignal): Promise<void> {
    const { store, hostAccesses, clock, logger } = this.#deps;
    try {
      const access = await hostAccesses.of(row);
      const probed = await probeRepository(access, row, AbortSignal.any([stop, AbortSignal.timeout(PROBE_TIMEOUT_MS)]));
      const at = clock.now().toISOString();
      const before = probeOf(row);
      await store.write(async (trx) => {
        if (!(await storeProbe(trx, withProbe(row, probed, at)))) return;
        if (before === undefined || before.state === probed.result.state) return;
        const summary = `repository ${localName(row)} is ${probed.result.state}: ${probed.result.message}`;
        await tell(trx, row, { reason: PROBE_CHANGED, summary, at, identity: [row.id, 'probe', at] });
      });
    } catch (error) {
      stop.throwIfAborted();
      // One repository's trouble must not keep the others from being looked at.
      logger.warn({ err: error, repositoryId: row.id }, 'a repository could not be probed');
    }
  }

  /** Says of each credential once at each threshold that it ends. Answers the row as it is then. */
  async #warn(row: RepositoryRow): Promise<RepositoryRow> {
    const infos = credentialInfosOf(row);
    if (infos === undefined) return row;
    const now = this.#deps.clock.now();
    const due = CREDENTIAL_USES.flatMap((use): { use: CredentialUse; days: number; expiresAt: string }[] => {
      const info = infos[use];
      if (info?.expiresAt === undefined) return [];
      const left = (Date.parse(info.expiresAt) - now.getTime()) / DAY_MS;
      const days = WARN_DAYS.findLast((threshold) => left <= threshold);
      // One whose end was moved further away is warned of anew when it comes near again.
      return days === undefined || days === info.warnedDays ? [] : [{ use, days, expiresAt: info.expiresAt }];
    });
    if (due.length === 0) return row;
    const next = { ...infos };
    for (const { use, days } of due) {
      const info = infos[use];
      if (info !== undefined) next[use] = { ...info, warnedDays: days };
    }
    const at = now.toISOString();
    const warned = { ...row, credential_info: JSON.stringify(next) };
    await this.#deps.store.write(async (trx) => {
      if (!(await storeProbe(trx, warned))) return;
      for (const { use, days, expiresAt } of due) {
        const when = days === 0 ? `has expired (${expiresAt})` : `expires at ${expiresAt}`;
        const summary = `the ${use} credential of repository ${localName(row)} ${when}: replace it`;
        await tell(trx, row, { reason: CREDENTIAL_EXPIRES, summary, at, identity: [row.id, use, days, expiresAt] });
      }
    });
    return warned;
  }
}

/** In the audit and in the channel, in the transaction of what it is about. */
async function tell(
  trx: Kysely<Database>,
  row: RepositoryRow,
  news: {
    readonly reason: typeof CREDENTIAL_EXPIRES | typeof PROBE_CHANGED;
    readonly summary: string;
    readonly at: string;
    readonly identity: readonly unknown[];
  },
): Promise<void> {
  const { reason, summary, at, identity } = news;
  const organizationId = row.organization_id;
  await appendAudit(trx, { organizationId, at, source: 'agent', kind: reason, summary, reason });
  const bytes = createHash('sha256').update(JSON.stringify(identity)).digest();
  const inserted = await insertMessages(trx, [
    {
      message_key: `msg_${bytes.subarray(0, 18).toString('base64url')}`,
      organization_id: organizationId,
      at,
      cluster_id: null,
      category: 'credential',
      reason,
      text: summary.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 2000),
      resource_ref: null,
      told_by: reason,
      told_at: at,
      event_seq: null,
    },
  ]);
  if (inserted.length > 0) await queueMessages(trx, organizationId, inserted, at);
}
