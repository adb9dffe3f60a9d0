import { sql, type Kysely } from 'kysely';
import { resourceKey } from '../../events/ingest/fold-events.ts';
import type { Condition, ResourceRef } from '../../protocol/condition.ts';
import type { Database } from './schema.ts';

/** @returns how many went; fewer than `limit`: no more are that old */
export async function deleteHeartbeatsBefore(trx: Kysely<Database>, at: string, limit: number): Promise<number> {
  const old = trx
    .selectFrom('events')
    .select('seq')
    // As the index has it, word for word: a parameter would not find it.
    .where(sql<boolean>`kind = 'ClusterHeartbeat'`)
    .where('received_at', '<', at)
    .limit(limit);
  const result = await trx.deleteFrom('events').where('seq', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** An event as far as keeping it is concerned. */
export interface OldEvent {
  readonly seq: number;
  readonly cluster_id: string;
  readonly resource_ref: string;
  readonly conditions: string;
}

/** The oldest events after the number `after`, of those received before `at`. */
export async function eventsBefore(
  db: Kysely<Database>,
  at: string,
  page: { readonly after: number; readonly limit: number },
): Promise<OldEvent[]> {
  const next = db
    .selectFrom('events')
    .select(['seq', 'cluster_id', 'resource_ref', 'conditions', 'received_at'])
    .where('seq', '>', page.after)
    .orderBy('seq')
    .limit(page.limit);
  const rows = await db.selectFrom(next.as('next')).selectAll().where('received_at', '<', at).orderBy('seq').execute();
  return rows.map(({ received_at: _received, ...event }) => event);
}

/**
 * Of these events, those that no longer say how anything stands. One that does is kept however old it is: a snapshot after
 * a restart repeats it, and it is by the recorded event that the repetition is known.
 */
export async function outdatedEvents(trx: Kysely<Database>, events: readonly OldEvent[]): Promise<number[]> {
  const parsed = events.map((event) => ({
    seq: event.seq,
    cluster: event.cluster_id,
    uid: resourceKey(JSON.parse(event.resource_ref) as ResourceRef),
    conditions: JSON.parse(event.conditions) as readonly Condition[],
  }));
  if (parsed.length === 0) return [];
  const rows = await trx
    .selectFrom('resource_conditions')
    .select(['cluster_id', 'uid', 'type', 'status', 'reason', 'message', 'last_transition_time'])
    .where('cluster_id', 'in', [...new Set(parsed.map(({ cluster }) => cluster))])
    .where('uid', 'in', [...new Set(parsed.map(({ uid }) => uid))])
    .execute();
  const current = new Set(
    rows.map((row) =>
      JSON.stringify([
        row.cluster_id,
        row.uid,
        row.type,
        row.status,
        row.reason,
        row.message,
        row.last_transition_time,
      ]),
    ),
  );
  const isCurrent = (cluster: string, uid: string, condition: Condition): boolean => {
    const { type, status, reason = null, message = null, lastTransitionTime = null } = condition;
    return current.has(JSON.stringify([cluster, uid, type, status, reason, message, lastTransitionTime]));
  };
  return parsed
    .filter(({ cluster, uid, conditions }) => !conditions.some((condition) => isCurrent(cluster, uid, condition)))
    .map(({ seq }) => seq);
}

export async function deleteEvents(trx: Kysely<Database>, seqs: readonly number[]): Promise<void> {
  if (seqs.length > 0) await trx.deleteFrom('events').where('seq', 'in', seqs).execute();
}

/** Those that wait for a webhook stay. @returns how many went */
export async function deleteMessagesBefore(trx: Kysely<Database>, at: string, limit: number): Promise<number> {
  const old = trx
    .selectFrom('channel_messages')
    .select('id')
    .where('at', '<', at)
    .where((eb) =>
      eb.not(
        eb.exists(eb.selectFrom('channel_outbox').select('id').whereRef('message_id', '=', 'channel_messages.id')),
      ),
    )
    .limit(limit);
  const result = await trx.deleteFrom('channel_messages').where('id', 'in', old).executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Keeps the newest messages of each organization, and those that wait for a webhook. */
export async function deleteMessagesBeyond(trx: Kysely<Database>, most: number, limit: number): Promise<void> {
  const large = await trx
    .selectFrom('channel_messages')
    .select('organization_id')
    .groupBy('organization_id')
    .having(sql<boolean>`count(*) > ${most}`)
    .execute();
  for (const { organization_id: organization } of large) {
    const oldestKept = await trx
      .selectFrom('channel_messages')
      .select('id')
      .where('organization_id', '=', organization)
      .orderBy('id', 'desc')
      .offset(most - 1)
      .limit(1)
      .executeTakeFirstOrThrow();
    const old = trx
      .selectFrom('channel_messages')
      .select('id')
      .where('organization_id', '=', organization)
      .where('id', '<', oldestKept.id)
      .where((eb) =>
        eb.not(
          eb.exists(eb.selectFrom('channel_outbox').select('id').whereRef('message_id', '=', 'channel_messages.id')),
        ),
      )
      .limit(limit);
    await trx.deleteFrom('channel_messages').where('id', 'in', old).execute();
  }
}
