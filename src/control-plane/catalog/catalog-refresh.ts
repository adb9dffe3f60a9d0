import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { untilAborted } from '../../runtime/until-aborted.ts';
import type { Lookup } from '../guarded-lookup.ts';
import type { MasterKey } from '../master-key.ts';
import { repeat } from '../repeat.ts';
import { catalogRow, readEntry } from '../store/catalog-entries.ts';
import { entriesToCheck, storeVersions, wereAskedSince } from '../store/chart-versions.ts';
import type { Store } from '../store/open-store.ts';
import type { CatalogEntryRow } from '../store/schema.ts';
import { HostTurns } from './host-turns.ts';
import { chartHost } from './registry-address.ts';
import { RegistryClient } from './registry-client.ts';
import type { RegistryFault } from './registry-fault.ts';
import { askForVersions } from './version-source.ts';

/** Between two looks at what is due. */
const LOOK_EVERY_MS = 60_000;
const MAX_ENTRIES_A_LOOK = 200;
const HOSTS_AT_ONCE = 4;
const MINUTE_MS = 60_000;
/** Between two questions about one entry: after an answer, and after a fault that somebody must mend. */
const EVERY_MS = 60 * MINUTE_MS;
/** After one that may pass by itself. */
const AFTER_DOWN_MS = 10 * MINUTE_MS;
const SPREAD = 0.2;
/** One list is not asked for more often, however often somebody wants it anew. */
const FRESH_MS = 10_000;
/** Below the 40 s that `servicectl` waits. */
const LONGEST_REQUEST_MS = 30_000;

export interface CatalogRefreshDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'open'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Whether registries may be in private networks. */
  readonly allowPrivate: boolean;
  readonly lookup?: Lookup;
  readonly caCertificate?: string;
}

/**
 * Keeps the list of the versions of each entry's chart: asks every registry about every hour, one question at a time for each
 * host, and at once where somebody wants to know. What a registry that is down gave last stays.
 */
export class CatalogRefresh implements AsyncDisposable {
  readonly #deps: CatalogRefreshDeps;
  readonly #client: RegistryClient;
  readonly #turns = new HostTurns();
  /** Under way, by entry: whoever asks meanwhile waits for the same. */
  readonly #asking = new Map<string, Promise<RegistryFault | undefined>>();

  constructor(deps: CatalogRefreshDeps) {
    this.#deps = deps;
    this.#client = new RegistryClient(deps);
  }

  /** Runs until aborted. Programs that start together do not ask together. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#deps;
    await clock.sleep(random() * LOOK_EVERY_MS, stop).catch((error: unknown) => {
      if (!stop.aborted) throw error;
    });
    const onError = (error: unknown): void => logger.warn({ err: error }, 'catalog not looked at; trying again');
    await repeat({ everyMs: LOOK_EVERY_MS, clock, onError }, async () => await this.turn(stop), stop);
  }

  /** Asks for what is due. A host that does not answer is left alone until the next look. */
  async turn(stop: AbortSignal): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const due = await entriesToCheck(store.db, clock.now().toISOString(), MAX_ENTRIES_A_LOOK);
    const hosts = [...Map.groupBy(due, (row) => chartHost(readEntry(row).chart)).values()];
    const workers = Array.from({ length: HOSTS_AT_ONCE }, async () => {
      for (let rows = hosts.shift(); rows !== undefined; rows = hosts.shift()) {
        for (const row of rows) {
          stop.throwIfAborted();
          try {
            const fault = await this.#ask(row, stop);
            if (fault?.kind === 'down' || fault?.kind === 'limited') break;
          } catch (error) {
            stop.throwIfAborted();
            // One entry's trouble must not keep the others from being asked for.
            logger.warn({ err: error, catalogEntry: row.name }, 'versions of a catalog entry not asked for');
          }
        }
      }
    });
    await Promise.all(workers);
  }

  /**
   * Asks for an entry's versions now, unless they were asked for within ten seconds with the credential that it has. What became of it is stored; a fault is
   * no error here.
   *
   * @throws AppError `unavailable` where too much is being asked for, or the answer does not come in time
   */
  async refresh(organizationId: string, name: string, stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const row = await catalogRow(store.db, organizationId, name);
    if (row === undefined) return;
    const since = new Date(clock.now().getTime() - FRESH_MS).toISOString();
    if (await wereAskedSince(store.db, organizationId, readEntry(row), since)) return;
    const timeout = AbortSignal.timeout(LONGEST_REQUEST_MS);
    try {
      await untilAborted(this.#ask(row, stop), timeout);
    } catch (error) {
      if (!timeout.aborted) throw error;
      const message = `the registry of ${name} has not answered within ${LONGEST_REQUEST_MS / 1000} s; it is still being asked, see its versions later`;
      throw new AppError('unavailable', message, { retryAfterSeconds: 30 });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  async #ask(row: CatalogEntryRow, stop: AbortSignal): Promise<RegistryFault | undefined> {
    const key = `${row.organization_id} ${row.name}`;
    const known = this.#asking.get(key);
    if (known !== undefined) return await known;
    const host = chartHost(readEntry(row).chart);
    const asked = this.#turns.take(host, async () => await this.#askNow(row, stop), stop);
    this.#asking.set(key, asked);
    try {
      return await asked;
    } finally {
      this.#asking.delete(key);
    }
  }

  async #askNow(listed: CatalogEntryRow, stop: AbortSignal): Promise<RegistryFault | undefined> {
    const { store, clock } = this.#deps;
    // As it is now: it may have waited for its turn, and its credential or its chart may be others.
    const row = await catalogRow(store.db, listed.organization_id, listed.name);
    if (row === undefined || chartHost(readEntry(row).chart) !== chartHost(readEntry(listed).chart)) return undefined;
    const { outcome, fault } = await askForVersions({ ...this.#deps, client: this.#client }, row, stop);
    const now = clock.now();
    const at = {
      checkedAt: now.toISOString(),
      nextCheckAt: new Date(now.getTime() + this.#pauseAfter(fault)).toISOString(),
    };
    await store.write(async (trx) => {
      await storeVersions(trx, row, outcome, at);
    });
    return fault;
  }

  #pauseAfter(fault: RegistryFault | undefined): number {
    const isPassing = fault?.kind === 'down' || fault?.kind === 'limited';
    const pause = (isPassing ? AFTER_DOWN_MS : EVERY_MS) * (1 + (this.#deps.random() - 0.5) * SPREAD);
    return Math.round(Math.max(pause, fault?.retryAfterMs ?? 0));
  }
}
