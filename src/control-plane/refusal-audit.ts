import { appendAudit } from './store/audit.ts';
import type { Store } from './store/open-store.ts';
import type { ClusterRow } from './store/schema.ts';
import type { Clock } from '../runtime/clock.ts';

/** One entry per cluster and kind in this time: a client that repeats itself must not fill the audit log. */
const QUIET_MS = 60_000;
const MAX_REMEMBERED = 10_000;

/** Records attempts that security must hear of: another cluster's identity, a token used twice. */
export class RefusalAudit {
  readonly #store: Pick<Store, 'write'>;
  readonly #clock: Clock;
  readonly #last = new Map<string, number>();

  constructor(deps: { readonly store: Pick<Store, 'write'>; readonly clock: Clock }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
  }

  async record(
    cluster: Pick<ClusterRow, 'id' | 'organization_id'>,
    entry: { readonly kind: string; readonly summary: string; readonly reason: string },
  ): Promise<void> {
    const now = this.#clock.now();
    const key = `${entry.kind}/${cluster.id}`;
    if (now.getTime() - (this.#last.get(key) ?? -QUIET_MS) < QUIET_MS) return;
    if (this.#last.size >= MAX_REMEMBERED) this.#last.clear();
    this.#last.set(key, now.getTime());
    await this.#store.write(async (trx) => {
      await appendAudit(trx, {
        ...entry,
        organizationId: cluster.organization_id,
        clusterId: cluster.id,
        at: now.toISOString(),
        source: 'agent',
      });
    });
  }
}
