import type { Insertable, Kysely } from 'kysely';
import type { EventRecord, IntentSnapshot } from '../../events/ingest/ingest-store.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { bulkInsert } from './bulk-insert.ts';
import type { Database, EventRow } from './schema.ts';

type NewEvent = Omit<Insertable<EventRow>, 'seq'>;

const COLUMNS = [
  'cluster_id',
  'event_key',
  'fingerprint',
  'kind',
  'resource_ref',
  'conditions',
  'timestamp',
  'sequence',
  'source',
  'received_at',
] as const satisfies readonly (keyof NewEvent)[];

const insertNew = bulkInsert<NewEvent, Pick<EventRow, 'event_key' | 'fingerprint'> & { seq: number }>(
  COLUMNS,
  (trx, rows) =>
    trx
      .insertInto('events')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['cluster_id', 'event_key', 'fingerprint']).doNothing())
      .returning(['seq', 'event_key', 'fingerprint']),
);

/**
 * Records the events that are not recorded yet (`IngestStore.recordEvents`). The unique constraint decides what is a
 * replay, within the batch too; the first of equal ones counts.
 */
export async function recordEvents(
  trx: Kysely<Database>,
  clusterId: string,
  receivedAt: string,
  records: readonly EventRecord[],
): Promise<{ index: number; seq: number }[]> {
  const first = new Map<string, number>();
  const rows: NewEvent[] = [];
  for (const [index, { event, fingerprint }] of records.entries()) {
    const identity = `${fingerprint} ${event.eventKey}`;
    if (first.has(identity)) continue;
    first.set(identity, index);
    rows.push({
      cluster_id: clusterId,
      event_key: event.eventKey,
      fingerprint,
      kind: event.kind,
      resource_ref: JSON.stringify(event.resourceRef),
      conditions: JSON.stringify(event.conditions),
      timestamp: event.timestamp ?? null,
      sequence: event.sequence ?? null,
      source: event.source === undefined ? null : JSON.stringify(event.source),
      received_at: receivedAt,
    });
  }
  const recorded: { index: number; seq: number }[] = [];
  for (const { seq, event_key, fingerprint } of await insertNew.run(trx, rows)) {
    const index = first.get(`${fingerprint} ${event_key}`);
    if (index !== undefined) recorded.push({ index, seq });
  }
  return recorded.sort((a, b) => a.index - b.index);
}

/** The number of the last event that is recorded of the cluster; 0 without any. */
export async function lastEventSeq(db: Kysely<Database>, clusterId: string): Promise<number> {
  const last = await db
    .selectFrom('events')
    .select('seq')
    .where('cluster_id', '=', clusterId)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last?.seq ?? 0;
}

/** A cluster's events, the newest first. `before` is the number of the last one of the page before. */
export async function listEvents(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly before?: number },
): Promise<(Omit<EventRow, 'seq'> & { seq: number })[]> {
  return await db
    .selectFrom('events')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .$if(page.before !== undefined, (query) => query.where('seq', '<', page.before ?? 0))
    .orderBy('seq', 'desc')
    .limit(page.limit)
    .execute();
}

/** How far back a cluster's events are read for one intent: minutes of a busy cluster. */
const MAX_LOOKED_AT = 2000;

/**
 * The newest events of a cluster that name the intent as their source, oldest first. Nearly always none: then only the
 * current status of its object is looked at.
 */
export async function recentEventsAbout(
  db: Kysely<Database>,
  clusterId: string,
  intent: Pick<IntentSnapshot, 'id' | 'kind' | 'namespace' | 'name'>,
): Promise<AgentEvent[]> {
  const mark = `%${JSON.stringify(intent.id)}%`;
  const reported = await db
    .selectFrom('resource_conditions')
    .select('uid')
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', intent.kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('source', 'like', mark)
    .limit(1)
    .executeTakeFirst();
  if (reported === undefined) return [];
  const recent = db
    .selectFrom('events')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('seq', 'desc')
    .limit(MAX_LOOKED_AT);
  const rows = await db
    .selectFrom(recent.as('recent'))
    .selectAll()
    .where('source', 'like', mark)
    .orderBy('seq')
    .execute();
  return rows.map((row) => ({
    eventKey: row.event_key,
    kind: row.kind as AgentEvent['kind'],
    resourceRef: JSON.parse(row.resource_ref) as AgentEvent['resourceRef'],
    conditions: JSON.parse(row.conditions) as AgentEvent['conditions'],
    ...(row.source === null ? {} : { source: JSON.parse(row.source) as NonNullable<AgentEvent['source']> }),
  }));
}
