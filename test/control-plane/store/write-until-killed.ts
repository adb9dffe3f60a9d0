import { eventIngestStore } from '../../../src/control-plane/store/event-ingest-store.ts';
import { ingestEvents } from '../../../src/events/ingest/ingest-events.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { openStoreAt } from './open-store-at.ts';

/** Posts batches of events until it is killed; prints the number of each post that was acknowledged. */
const [, , url = ''] = process.argv;
const POSTS_AT_ONCE = 4;
const EVENTS_PER_POST = 25;

const store = await openStoreAt(url).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
const cluster = await store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
const last = await store.db.selectFrom('events').select('sequence').orderBy('seq', 'desc').limit(1).executeTakeFirst();

function event(post: number, index: number): AgentEvent {
  return {
    eventKey: `post-${post}/${index}`,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'a', uid: `uid-${index}` },
    conditions: [{ type: 'Connected', status: 'True', reason: 'R' }],
    sequence: `1.${post}`,
  };
}

async function post(number: number): Promise<void> {
  const events = Array.from({ length: EVENTS_PER_POST }, (_, index) => event(number, index));
  await store.write(async (trx) => {
    const ingest = eventIngestStore(trx, cluster, new Date().toISOString());
    await ingestEvents({ store: ingest, deliveryEpoch: 1, events });
  });
  process.stdout.write(`${number}\n`);
}

// The last post before the kill comes again first, as an operator replays what was not acknowledged to it.
for (let number = Number(last?.sequence?.split('.')[1] ?? 1); ; number += POSTS_AT_ONCE) {
  await Promise.all(Array.from({ length: POSTS_AT_ONCE }, async (_, index) => await post(number + index)));
}
