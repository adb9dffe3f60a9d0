import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { untilAborted } from '../../runtime/until-aborted.ts';
import type { Lookup } from '../guarded-lookup.ts';
import type { MasterKey } from '../master-key.ts';
import { repeat } from '../repeat.ts';
import { catalogRow, readEntry } from '../store/catalog-entries.ts';
import { entriesToCheck, putOffCheck, storeVersions, wereAskedSince } from '../store/chart-versions.ts';
import type { Store } from '../store/open-store.ts';
import type { CatalogEntryRow } from '../store/schema.ts';
import { HostTurns } from './host-turns.ts';
import { chartHost } from './registry-address.ts';
import { RegistryClient } from './registry-client.ts';
import { RegistryFault } from './registry-fault.ts';
import { askForVersions, failed, type Asked } from './version-source.ts';

/** Between two looks at what is due. */
const LOOK_EVERY_MS = 60_000;
const MAX_ENTRIES_A_LOOK = 200;
const HOSTS_AT_ONCE = 4;
/** With one host in a look. What is left of it then is due still, and the next look begins with it. */
const LONGEST_AT_A_HOST_MS = 60_000;
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

  /**
   * Asks for what is due. A host that does not answer is left alone with the organization's other entries; with those of other
   * organizations it is asked still, as what it answers may be about the one entry.
   */
  async turn(stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const due = await entriesToCheck(store.db, clock.now().toISOString(), MAX_ENTRIES_A_LOOK);
    const hosts = [...Map.groupBy(due, (row) => chartHost(readEntry(row).chart)).values()];
    const workers = Array.from({ length: HOSTS_AT_ONCE }, async () => {
      for (let rows = hosts.shift(); rows !== undefined; rows = hosts.shift()) await this.#askHost(rows, stop);
    });
    await Promise.all(workers);
  }

  async #askHost(due: readonly CatalogEntryRow[], stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const until = clock.now().getTime() + LONGEST_AT_A_HOST_MS;
    for (let rows = [...due]; rows.length > 0 && clock.now().getTime() < until;) {
      const [row, ...others] = rows as [CatalogEntryRow, ...CatalogEntryRow[]];
      rows = others;
      stop.throwIfAborted();
      try {
        const fault = await this.#ask(row, stop);
        if (fault === undefined || !isPassing(fault)) continue;
        const isOwn = (other: CatalogEntryRow): boolean => other.organization_id === row.organization_id;
        await this.#leaveAlone(others.filter(isOwn), fault);
        rows = others.filter((other) => !isOwn(other));
      } catch (error) {
        stop.throwIfAborted();
        // One entry's trouble must not keep the others from being asked for.
        logger.warn({ err: error, catalogEntry: row.name }, 'versions of a catalog entry not asked for');
      }
    }
  }

  /** They are due no more: those that wait longest would be the same ones at each look, and keep all others waiting. */
  async #leaveAlone(rows: readonly CatalogEntryRow[], fault: RegistryFault): Promise<void> {
    const said = `not asked for, as an entry of the same host was not answered: ${fault.message}`;
    await this.#deps.store.write(async (trx) => {
      for (const row of rows) await storeVersions(trx, row, { state: 'failed', fault: said }, this.#timesAfter(fault));
    });
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
    const asked = this.#turns.take(host, row.organization_id, async () => await this.#askNow(row, stop), stop);
    this.#asking.set(key, asked);
    try {
      return await asked;
    } finally {
      this.#asking.delete(key);
    }
  }

  async #askNow(listed: CatalogEntryRow, stop: AbortSignal): Promise<RegistryFault | undefined> {
    const { store, clock, logger } = this.#deps;
    // As it is now: it may have waited for its turn, and its credential or its chart may be others.
    const row = await catalogRow(store.db, listed.organization_id, listed.name);
    if (row === undefined || chartHost(readEntry(row).chart) !== chartHost(readEntry(listed).chart)) return undefined;
    const later = new Date(clock.now().getTime() + AFTER_DOWN_MS).toISOString();
    await store.write(async (trx) => await putOffCheck(trx, row, later));
    let asked: Asked;
    try {
      asked = await askForVersions({ ...this.#deps, client: this.#client }, row, stop);
    } catch (error) {
      stop.throwIfAborted();
      logger.error({ err: error, catalogEntry: row.name }, 'versions of a catalog entry not read');
      const message = 'what its registry answers was not read, by a mistake of the control plane; its log tells more';
      asked = failed(new RegistryFault('unusable', message, { cause: error }));
    }
    const { outcome, fault } = asked;
    await store.write(async (trx) => {
      await storeVersions(trx, row, outcome, this.#timesAfter(fault));
    });
    return fault;
  }

  #timesAfter(fault: RegistryFault | undefined): { readonly checkedAt: string; readonly nextCheckAt: string } {
    const { clock, random } = this.#deps;
    const now = clock.now();
    const usual = fault !== undefined && isPassing(fault) ? AFTER_DOWN_MS : EVERY_MS;
    const pause = Math.round(Math.max(usual * (1 + (random() - 0.5) * SPREAD), fault?.retryAfterMs ?? 0));
    return { checkedAt: now.toISOString(), nextCheckAt: new Date(now.getTime() + pause).toISOString() };
  }
}

/** Of the host as a whole, as far as can be said, and for now. */
function isPassing({ kind }: RegistryFault): boolean {
  return kind === 'down' || kind === 'limited';
}
