import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore, type Store } from '../../src/control-plane/store/open-store.ts';
import { raiseConfigRevision } from '../../src/control-plane/store/clusters.ts';
import { configTopic } from '../../src/control-plane/topics.ts';
import { WakeupRelay } from '../../src/control-plane/wakeup-relay.ts';
import { Wakeups } from '../../src/control-plane/wakeups.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { newPostgresDatabase } from '../support/postgres/new-database.ts';
import { queryDatabase } from '../support/postgres/postgres-server.ts';
import { insertCluster, insertOrganization, TEST_LOGGER } from './store/open-test-store.ts';

const NEVER = new AbortController().signal;
const LONG_MS = 20_000;

interface Replica {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly relay: WakeupRelay;
}

let url: string;
let a: Replica;
let b: Replica;
beforeEach(async () => {
  url = await newPostgresDatabase();
  a = await replica();
  b = await replica();
});
afterEach(async () => {
  await a.store[Symbol.asyncDispose]();
  await b.store[Symbol.asyncDispose]();
});

async function replica(): Promise<Replica> {
  const deps = { clock: systemClock, logger: TEST_LOGGER, random: Math.random };
  const store = await openStore({ ...deps, url });
  const wakeups = new Wakeups(deps);
  return { store, wakeups, relay: await WakeupRelay.start({ ...deps, store, wakeups }) };
}

/** Ends the connections that wake-ups travel on, as a failover does. */
async function cutSessions(): Promise<void> {
  await queryDatabase(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND query ~ '(LISTEN|pg_notify|SELECT 1$)' AND pid <> pg_backend_pid()`,
  );
}

describe('wake-ups between replicas', () => {
  it('wake who waits on another replica for the same topic, and nobody else', async () => {
    const waiting = b.wakeups.wait('jobs:c-1', NEVER, LONG_MS);
    const other = new AbortController();
    const undisturbed = b.wakeups.wait('jobs:c-2', other.signal, LONG_MS);
    a.wakeups.notify('jobs:c-1');
    expect(await waiting).toBe('notified');
    other.abort(new Error('enough'));
    await expect(undisturbed).rejects.toThrow('enough');
  });

  it('come through by the thousand, each topic once', async () => {
    const topics = Array.from({ length: 3000 }, (_, n) => `status:c-${n}`);
    const woken = Promise.all(topics.map(async (topic) => await b.wakeups.wait(topic, NEVER, LONG_MS)));
    for (const topic of topics) for (let n = 0; n < 3; n += 1) a.wakeups.notify(topic);
    expect(new Set(await woken)).toEqual(new Set(['notified']));
  });

  it('do not come back to the replica that sent them', async () => {
    const heard = vi.fn<() => void>();
    a.wakeups.notify('config:c-1');
    a.wakeups.watch('config:c-1', heard);
    const marker = `marker:${randomUUID()}`;
    const marked = a.wakeups.wait(marker, NEVER, LONG_MS);
    b.wakeups.notify(marker);
    await marked;
    expect(heard).not.toHaveBeenCalled();
  });

  it('let everybody look again after the connection was lost, and go on', async () => {
    const waiting = b.wakeups.wait('config:c-1', NEVER, LONG_MS);
    await cutSessions();
    expect(await waiting).toBe('notified');
    await vi.waitFor(
      async () => {
        const again = b.wakeups.wait('config:c-2', NEVER, 200);
        a.wakeups.notify('config:c-2');
        expect(await again).toBe('notified');
      },
      { timeout: LONG_MS },
    );
  });

  it('are found by a sweep when they were never sent', async () => {
    await insertOrganization(a.store, 'org-1');
    await insertCluster(a.store, { id: 'c-1', organization_id: 'org-1' });
    await b.relay.sweep();
    const waiting = b.wakeups.wait(configTopic('c-1'), NEVER, LONG_MS);
    // Committed, and then the replica died.
    await a.store.write(async (trx) => await raiseConfigRevision(trx, 'c-1'));
    await b.relay.sweep();
    expect(await waiting).toBe('notified');
    const quiet = b.wakeups.version(configTopic('c-1'));
    await b.relay.sweep();
    expect(b.wakeups.version(configTopic('c-1'))).toBe(quiet);
  });
});
