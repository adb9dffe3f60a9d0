import { KubeError } from '../../kube/cluster-api.ts';
import { repeat } from '../repeat.ts';
import { findCluster } from '../store/clusters.ts';
import { findPushCredentialById, pushCredentialsInUse, pushCredentialsToRenew } from '../store/push-credentials.ts';
import { openAccess } from './push-access.ts';
import { reachOf, type PushReach } from './push-credential-info.ts';
import { proveCluster } from './prove-cluster.ts';
import { isOther, reachOfProof, storeReach } from './store-reach.ts';
import { renewPushCredential, type RenewDeps } from './renew-push-credential.ts';
import type { Logger } from '../../runtime/logger.ts';

const EVERY_MS = 30_000;
/** Between two looks at an API server: one request each. */
const READY_EVERY_MS = 10 * 60_000;
const OTHERWISE_EVERY_MS = 60_000;
const SPREAD = 0.2;
/** Each its own API server: hundreds that do not answer must not hold up the others for long. */
const AT_ONCE = 32;
/** In one turn, of those that are due. */
const MAX_RENEWALS = 100;
const RENEWAL_TIMEOUT_MS = 45_000;
const LOOK_TIMEOUT_MS = 10_000;

export type PushWatchDeps = RenewDeps & { readonly logger: Logger };

/**
 * Looks after the credentials of push mode: renews those that can be and asks now and then whether each API server is there
 * and takes its credential, so that one that ended is known before somebody needs it. One replica does it for all.
 */
export class PushWatch {
  readonly #deps: PushWatchDeps;

  constructor(deps: PushWatchDeps) {
    this.#deps = deps;
  }

  /** Runs until aborted. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void =>
      logger.warn({ err: error }, 'push credentials not looked at; trying again');
    const every = { everyMs: EVERY_MS, clock, onError };
    // Looks at servers that are down take their time; a token that ends does not wait for them.
    await Promise.all([
      repeat(every, async () => await this.renew(stop), stop),
      repeat(every, async () => await this.look(stop), stop),
    ]);
  }

  /** Renews what is due. A second time with nothing due does nothing. */
  async renew(stop: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const due = await pushCredentialsToRenew(store.db, clock.now().toISOString(), MAX_RENEWALS);
    await this.#each(due, { stop, ms: RENEWAL_TIMEOUT_MS }, async (row, signal) => {
      await renewPushCredential(this.#deps, row, signal);
    });
  }

  /** Looks at the API servers whose turn it is. */
  async look(stop: AbortSignal): Promise<void> {
    const due = (await pushCredentialsInUse(this.#deps.store.db)).filter((row) => this.#isDue(reachOf(row)));
    await this.#each(due, { stop, ms: LOOK_TIMEOUT_MS }, async ({ id }, signal) => await this.#look(id, signal, stop));
  }

  #isDue(last: PushReach | undefined): boolean {
    if (last === undefined) return true;
    const every = last.state === 'ready' ? READY_EVERY_MS : OTHERWISE_EVERY_MS;
    const waited = this.#deps.clock.now().getTime() - Date.parse(last.at);
    return waited >= every * (1 - this.#deps.random() * SPREAD);
  }

  async #look(id: string, signal: AbortSignal, stop: AbortSignal): Promise<void> {
    const { store, masterKey, clock } = this.#deps;
    const row = await findPushCredentialById(store.db, id);
    const cluster = row === undefined ? undefined : await findCluster(store.db, row.cluster_id);
    if (row === undefined || cluster === undefined || row.state !== 'current') return;
    const { access } = await openAccess(masterKey, row);
    await using connection = this.#deps.pushConnections.connect(access);
    let found: Omit<PushReach, 'at'>;
    try {
      found = reachOfProof(await proveCluster({ api: connection, clock }, cluster, signal));
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      stop.throwIfAborted();
      const message = signal.aborted ? `${row.server}: no answer within ${LOOK_TIMEOUT_MS / 1000} s` : error.message;
      // That it does not answer now does not say that it is this cluster's again.
      const other = isOther(row) ? { other: true } : {};
      found = { state: error.status === 401 ? 'refused' : 'failing', message, ...other };
    }
    await storeReach(store, row, found, clock);
  }

  /** One cluster's trouble must not keep the others from their turn. */
  async #each<T extends { readonly id: string }>(
    rows: readonly T[],
    { stop, ms }: { readonly stop: AbortSignal; readonly ms: number },
    work: (row: T, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const left = rows.values();
    const worker = async (): Promise<void> => {
      for (const row of left) {
        stop.throwIfAborted();
        try {
          await work(row, AbortSignal.any([stop, AbortSignal.timeout(ms)]));
        } catch (error) {
          stop.throwIfAborted();
          this.#deps.logger.warn({ err: error, credentialId: row.id }, 'a push credential was not looked at');
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, rows.length) }, worker));
  }
}
