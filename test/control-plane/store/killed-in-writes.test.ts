import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { insertCluster, insertOrganization } from './open-test-store.ts';
import { TEST_DATABASES, type TestDatabase } from './test-databases.ts';

const ROUNDS = 4;
const EVENTS_PER_POST = 25;

async function seed(database: TestDatabase): Promise<void> {
  await using store = await database.open();
  await insertOrganization(store, 'org-1');
  await insertCluster(store, { id: 'c-1', organization_id: 'org-1' });
}

/** Runs the writer, kills it after some acknowledgements, and answers the posts that it saw acknowledged. */
async function writeUntilKilled(url: string, acknowledgements: number): Promise<number[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'write-until-killed.ts'), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const acknowledged: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line));
    if (acknowledged.length === acknowledgements) child.kill('SIGKILL');
  }
  await exited;
  return acknowledged;
}

describe.each(TEST_DATABASES)('S1: a control plane that is killed while it writes to $name', ({ create }) => {
  it('keeps every acknowledged post whole, doubles none, and opens again at once', { timeout: 60_000 }, async () => {
    using database = await create();
    await seed(database);
    const acknowledged = new Set<number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const post of await writeUntilKilled(database.url, 15 + round * 7)) acknowledged.add(post);
    }
    await using store = await database.open();
    const events = await store.db.selectFrom('events').select(['seq', 'event_key', 'sequence']).execute();
    const posts = Map.groupBy(events, ({ sequence }) => Number(sequence?.split('.')[1]));
    expect([...acknowledged].filter((post) => posts.get(post)?.length !== EVENTS_PER_POST)).toEqual([]);
    expect([...posts.values()].filter((rows) => rows.length !== EVENTS_PER_POST)).toEqual([]);
    expect(new Set(events.map((row) => row.event_key)).size).toBe(events.length);
    const audited = await store.db.selectFrom('audit').select('event_seq').orderBy('event_seq').execute();
    expect(audited.map((row) => row.event_seq)).toEqual(events.map(({ seq }) => seq).sort((a, b) => a - b));
    const latest = Math.max(...posts.keys());
    const conditions = await store.db.selectFrom('resource_conditions').select('order_key').distinct().execute();
    expect(conditions).toEqual([{ order_key: `1|000000000000001.${String(latest).padStart(15, '0')}` }]);
  });
});
