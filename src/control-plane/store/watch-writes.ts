import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Store } from './open-store.ts';
import type { Database } from './schema.ts';

/** While writes fail, one is tried this often at the most, whoever asks. */
const PROBE_EVERY_MS = 5000;
/** More than a page of any database: a disk on which nothing fits must not seem to have space. */
const PROBE_BYTES = 65_536;
const PROBE_NAME = 'write-probe';

/**
 * The store with a `ping` that also fails while writes do, as on a full disk, which answers every read. A write that fails
 * tells of it, one that succeeds ends it; where none comes, since nobody sends requests any more, `ping` tries one itself.
 */
export function watchWrites(store: Store, clock: Clock): Store {
  let failure: AppError | undefined;
  let probedAt = Number.NEGATIVE_INFINITY;
  const write: Store['write'] = async (work, options) => {
    try {
      const result = await store.write(work, options);
      failure = undefined;
      return result;
    } catch (error) {
      // Without a cause it is not the database that failed: too many wait, or it is closing.
      if (error instanceof AppError && error.code === 'unavailable' && error.cause !== undefined) failure = error;
      throw error;
    }
  };
  return {
    db: store.db,
    ...(store.session === undefined ? {} : { session: store.session }),
    write,
    writesWaiting: () => store.writesWaiting?.() ?? 0,
    ping: async () => {
      await store.ping();
      if (failure === undefined) return;
      const now = clock.now().getTime();
      if (now - probedAt < PROBE_EVERY_MS) throw failure;
      probedAt = now;
      await write(probe);
    },
    [Symbol.asyncDispose]: async () => await store[Symbol.asyncDispose](),
  };
}

/** Needs space, and leaves nothing behind. */
async function probe(trx: Kysely<Database>): Promise<void> {
  const value = 'x'.repeat(PROBE_BYTES);
  await trx.deleteFrom('installation').where('name', '=', PROBE_NAME).execute();
  await trx.insertInto('installation').values({ name: PROBE_NAME, value }).execute();
  await trx.deleteFrom('installation').where('name', '=', PROBE_NAME).execute();
}
