import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Store } from './open-store.ts';

/** How old a written time may be: of many calls in a minute one is written down. */
const EXACT_TO_MS = 60_000;
const MAX_REMEMBERED = 10_000;

export interface Use {
  readonly organizationId: string;
  /** The token that was used; absent where a member came in without one. */
  readonly tokenHash?: string | undefined;
  readonly member?: string | undefined;
  /** When it was last written that it was used. */
  readonly last: string | null;
}

/** Notes when tokens and members were last seen, to the minute. Nobody is kept out where that cannot be written. */
export class LastUse {
  readonly #deps: {
    readonly store: Pick<Store, 'write'>;
    readonly clock: Clock;
    readonly logger: Pick<Logger, 'warn'>;
  };
  /** By token or member, when it was last tried: of a database that takes no writes, it is not asked at each call. */
  readonly #tried = new Map<string, number>();

  constructor(deps: {
    readonly store: Pick<Store, 'write'>;
    readonly clock: Clock;
    readonly logger: Pick<Logger, 'warn'>;
  }) {
    this.#deps = deps;
  }

  async note({ organizationId, tokenHash, member, last }: Use): Promise<void> {
    const now = this.#deps.clock.now();
    const key = `${organizationId}/${tokenHash ?? member ?? ''}`;
    const before = Math.max(last === null ? 0 : Date.parse(last), this.#tried.get(key) ?? 0);
    if (now.getTime() - before < EXACT_TO_MS) return;
    if (this.#tried.size >= MAX_REMEMBERED) this.#tried.clear();
    this.#tried.set(key, now.getTime());
    const at = now.toISOString();
    try {
      await this.#deps.store.write(async (trx) => {
        if (tokenHash !== undefined) {
          await trx.updateTable('admin_tokens').set({ last_used_at: at }).where('token_hash', '=', tokenHash).execute();
        }
        if (member === undefined) return;
        await trx
          .updateTable('members')
          .set({ last_seen_at: at })
          .where('organization_id', '=', organizationId)
          .where('name', '=', member)
          .execute();
      });
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'when a token was used could not be noted');
    }
  }
}
