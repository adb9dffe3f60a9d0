import type { Clock } from '../../runtime/clock.ts';
import { collectChanges } from './changes.ts';
import type { Store } from './open-store.ts';

/** The store whose writes store with them what they changed (`noteChange`), and say so after their commit. */
export function tellChanges(store: Store, clock: Clock): Store {
  const listeners = new Set<() => void>();
  return {
    db: store.db,
    ...(store.session === undefined ? {} : { session: store.session }),
    write: async (work, options) => {
      const { value, count } = await store.write(
        async (trx) => await collectChanges(trx, clock.now().toISOString(), work),
        options,
      );
      if (count > 0) for (const listener of listeners) listener();
      return value;
    },
    writesWaiting: () => store.writesWaiting?.() ?? 0,
    onChanges: (listener) => {
      listeners.add(listener);
    },
    ping: async () => await store.ping(),
    [Symbol.asyncDispose]: async () => await store[Symbol.asyncDispose](),
  };
}
