import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { intervalsOf } from './cluster-settings.ts';
import { repeat } from './repeat.ts';
import { clustersHeardAgain, clustersSilentSince, noteConnection, type WatchedCluster } from './store/connections.ts';
import type { LastContact } from './store/last-contact.ts';
import type { Store } from './store/open-store.ts';
import { statusTopic } from './topics.ts';
import type { Wakeups } from './wakeups.ts';

/** Heartbeats without a contact, after which a cluster counts as disconnected (decisions, "Events"). */
const HEARTBEATS_MISSED = 3;
const EVERY_MS = 20_000;
/** This program did not look for so long: stopped, suspended, or without its database, it heard nobody. */
const AWAY_MS = 60_000;
/** Clusters in one write: a network that fails takes thousands with it. */
const CHUNK = 200;

/** How long a cluster may be silent. */
export function silenceLimitMs(cluster: Pick<WatchedCluster, 'intervals'>): number {
  return intervalsOf(cluster).heartbeat_seconds * HEARTBEATS_MISSED * 1000;
}

export interface ContactWatchDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly lastContact: Pick<LastContact, 'pending'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Notes which clusters went silent and which are heard again, each once, in the audit. What is noted is in the database:
 *
 * ```
 * heard ── silent for 3 heartbeats, of which this program listened to all ──► disconnected (audited)
 *   ▲                                                                              │
 *   └──────────────────────── the next contact (audited) ──────────────────────────┘
 * ```
 *
 * A control plane that was away itself marks nobody for it: silence counts from when it listens again.
 */
export class ContactWatch {
  readonly #deps: ContactWatchDeps;
  #listeningSince: Date;
  #lookedAt: number;

  constructor(deps: ContactWatchDeps) {
    this.#deps = deps;
    this.#listeningSince = deps.clock.now();
    this.#lookedAt = this.#listeningSince.getTime();
  }

  /** From when on silence counts. */
  get listeningSince(): Date {
    return this.#listeningSince;
  }

  /** Runs until aborted. A turn that fails is tried again at the next. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const onError = (error: unknown): void => logger.warn({ err: error }, 'connections not looked at; trying again');
    await repeat({ everyMs: EVERY_MS, clock, onError }, async () => await this.turn(), stop);
  }

  /** One turn. A second one with nothing new writes nothing. */
  async turn(): Promise<void> {
    const { store, clock, lastContact } = this.#deps;
    const now = clock.now();
    if (now.getTime() - this.#lookedAt > AWAY_MS) this.#listeningSince = now;
    const contactOf = ({ id, last_contact_at: stored }: WatchedCluster): string | null =>
      lastContact.pending(id) ?? stored;

    const marked = await clustersHeardAgain(store.db);
    const heard = marked.filter((cluster) => (contactOf(cluster) ?? '') > (cluster.disconnected_at ?? ''));
    await this.#note(heard, 'connected', contactOf, now);

    const suspects = await clustersSilentSince(store.db, new Date(now.getTime() - HEARTBEATS_MISSED * 1000));
    const silent = suspects.filter((cluster) => {
      const contact = Math.max(Date.parse(contactOf(cluster) ?? ''), this.#listeningSince.getTime());
      return now.getTime() - contact > silenceLimitMs(cluster);
    });
    await this.#note(silent, 'disconnected', contactOf, now);
    this.#lookedAt = clock.now().getTime();
  }

  async #note(
    clusters: readonly WatchedCluster[],
    state: 'connected' | 'disconnected',
    contactOf: (cluster: WatchedCluster) => string | null,
    now: Date,
  ): Promise<void> {
    const { store, wakeups } = this.#deps;
    for (let start = 0; start < clusters.length; start += CHUNK) {
      const chunk = clusters.slice(start, start + CHUNK);
      await store.write(async (trx) => {
        for (const cluster of chunk) {
          await noteConnection(trx, cluster, { state, contactAt: contactOf(cluster) ?? '', at: now.toISOString() });
        }
      });
      for (const { id } of chunk) wakeups.notify(statusTopic(id));
    }
  }
}
