import { appendAudit } from './store/audit.ts';
import type { AuditKind } from './store/audit-kinds.ts';
import type { Store } from './store/open-store.ts';
import type { RefusalOwner } from './store/refusal-owners.ts';
import type { Clock } from '../runtime/clock.ts';

/** One entry per cluster, kind and person in this time: a client that repeats itself must not fill the audit log. */
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
    owner: RefusalOwner,
    entry: {
      readonly kind: AuditKind;
      readonly summary: string;
      readonly reason: string;
      /** Default: `agent`. */
      readonly source?: 'agent' | 'user';
      /** Who, of `user`, where that is known. */
      readonly actor?: string;
    },
  ): Promise<void> {
    const now = this.#clock.now();
    const key = `${entry.kind}/${owner.id ?? owner.organization_id}/${entry.actor ?? ''}`;
    if (now.getTime() - (this.#last.get(key) ?? -QUIET_MS) < QUIET_MS) return;
    if (this.#last.size >= MAX_REMEMBERED) this.#last.clear();
    this.#last.set(key, now.getTime());
    await this.#store.write(async (trx) => {
      await appendAudit(trx, {
        source: 'agent',
        ...entry,
        organizationId: owner.organization_id,
        ...(owner.id === undefined ? {} : { clusterId: owner.id }),
        at: now.toISOString(),
      });
    });
  }
}
