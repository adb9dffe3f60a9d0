import { sql } from 'kysely';
import type { Clock } from '../../runtime/clock.ts';
import type { Store } from './open-store.ts';

/** Clusters whose contact is remembered between two flushes; a larger fleet flushes early. */
const MAX_PENDING = 20_000;
/** Rows an update writes at once, so that it holds up other writes for a moment only. */
const FLUSH_CHUNK = 500;

/**
 * When each cluster was last heard of. Held in memory and written together: it changes with every request, and losing the
 * last seconds of it in a crash costs nothing, since the clusters call again.
 */
export class LastContact implements AsyncDisposable {
  readonly #store: Pick<Store, 'write'>;
  readonly #clock: Clock;
  #pending = new Map<string, string>();

  constructor(deps: { readonly store: Pick<Store, 'write'>; readonly clock: Clock }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
  }

  /** Remembers that the cluster called now. Never waits and never fails. */
  touch(clusterId: string): void {
    if (this.#pending.size >= MAX_PENDING && !this.#pending.has(clusterId)) return;
    this.#pending.set(clusterId, this.#clock.now().toISOString());
  }

  /** The contact that is not stored yet, if any. It is later than the stored one. */
  pending(clusterId: string): string | undefined {
    return this.#pending.get(clusterId);
  }

  /** Stores what is pending. Call every few seconds; on a failure the contacts stay pending. */
  async flush(): Promise<void> {
    // In one order, so that replicas that flush at once do not lock each other out.
    const taken = [...this.#pending].sort(([a], [b]) => (a < b ? -1 : 1));
    for (let start = 0; start < taken.length; start += FLUSH_CHUNK) {
      const chunk = taken.slice(start, start + FLUSH_CHUNK);
      await this.#store.write(async (trx) => {
        // The columns of VALUES have these names in SQLite and PostgreSQL alike. Another replica may know of a later contact.
        await sql`UPDATE clusters SET last_contact_at = contact.column2
            FROM (VALUES ${sql.join(chunk.map(([id, at]) => sql`(${id}, ${at})`))}) AS contact
           WHERE clusters.id = contact.column1
             AND (clusters.last_contact_at IS NULL OR clusters.last_contact_at < contact.column2)`.execute(trx);
      });
      for (const [id, at] of chunk) {
        if (this.#pending.get(id) === at) this.#pending.delete(id);
      }
    }
  }

  /** Flushes every `everyMs` until aborted. A failed flush is tried again at the next turn. */
  async run(everyMs: number, signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(everyMs, signal);
        await this.flush();
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }
}
