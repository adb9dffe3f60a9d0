import { createHash } from 'node:crypto';
import type { Insertable, Kysely } from 'kysely';
import type { ChannelNews, Standing } from '../../events/ingest/channel-news.ts';
import { insertMessages, recentMessages, standingsOf } from '../store/channel-messages.ts';
import { queueMessages } from '../store/channel-outbox.ts';
import type { ChannelMessageRow } from '../store/channel-rows.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import { messageText } from './message-text.ts';

/** Within this time one outcome that stands in two conditions, or is told by two kinds of event, is one message. */
const SAME_OUTCOME_MS = 60_000;
/** Messages that came longer ago than this are not looked at for it. */
const RECENT_MS = 2 * SAME_OUTCOME_MS;

type NewMessage = Omit<Insertable<ChannelMessageRow>, 'id'>;
type Told = Pick<ChannelMessageRow, 'reason' | 'text' | 'told_by' | 'told_at'>;

/**
 * Makes messages of what a cluster's events tell, and puts them into the queue of every webhook of its organization, in
 * the transaction that records the events: a crash loses no message and tells none twice.
 *
 * @returns how many messages were new
 */
export async function tellChannel(
  trx: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id' | 'organization_id' | 'slug'>,
  receivedAt: string,
  news: readonly ChannelNews[],
): Promise<number> {
  const versions = await versionsOf(trx, cluster.id, news);
  const known = new Map<string, Told[]>();
  for (const told of await recentMessages(trx, cluster.id, new Date(Date.parse(receivedAt) - RECENT_MS))) {
    known.set(outcomeOf(told), [...(known.get(outcomeOf(told)) ?? []), told]);
  }
  const objects = news.flatMap(({ standing }) => (standing === undefined ? [] : [standing.object]));
  const standings = await standingsOf(trx, cluster.id, objects);
  const rows: NewMessage[] = [];
  for (const item of news) {
    const version = versions.get(item.intentId ?? '');
    const row: NewMessage = {
      message_key: messageKey(cluster.id, item.identity),
      organization_id: cluster.organization_id,
      at: receivedAt,
      cluster_id: cluster.id,
      category: item.category,
      reason: item.reason,
      text: messageText({ slug: cluster.slug, version, ...item }),
      resource_ref: JSON.stringify(item.resourceRef),
      told_by: item.toldBy,
      told_at: item.toldAt ?? receivedAt,
      event_seq: item.eventSeq,
      object_key: item.standing?.object ?? null,
      standing: item.standing === undefined ? null : standingText(item.standing),
    };
    if (item.standing !== undefined && !isNews(item.standing, standings)) continue;
    const same = known.get(outcomeOf(row)) ?? [];
    if (same.some((other) => isTwin(row, other))) continue;
    known.set(outcomeOf(row), [...same, row]);
    if (item.standing !== undefined) standings.get(item.standing.object)?.unshift(standingText(item.standing));
    rows.push(row);
  }
  const inserted = await insertMessages(trx, rows);
  if (inserted.length > 0) await queueMessages(trx, cluster.organization_id, inserted, receivedAt);
  return inserted.length;
}

/**
 * A failed upgrade stands in Ready, Degraded and Reconciling at once, a rotation in an event of its own and in the
 * Cluster's condition. The same condition told again is another matter: it has changed in between.
 */
function isTwin(row: Told, other: Told): boolean {
  return (
    row.told_by !== other.told_by && Math.abs(Date.parse(row.told_at) - Date.parse(other.told_at)) <= SAME_OUTCOME_MS
  );
}

/** What two writers say of one rotation is worded by each. */
function outcomeOf({ reason, text }: Pick<Told, 'reason' | 'text'>): string {
  return reason === 'CredentialRotated' ? reason : `${reason} ${text}`;
}

/**
 * A success is news unless it was told since the last failure, and the other way round: so a release that is looked at anew
 * tells nothing, and one that failed and came back is told of again, even where it is the very revision from before.
 *
 * @param standings what each object was told to be, the newest first
 */
function isNews(standing: Standing, standings: ReadonlyMap<string, readonly string[]>): boolean {
  const told = standings.get(standing.object) ?? [];
  const turn = told.findIndex((other) => !other.startsWith(sideOf(standing)));
  return !told.slice(0, turn === -1 ? undefined : turn).includes(standingText(standing));
}

function standingText(standing: Standing): string {
  return `${sideOf(standing)} ${createHash('sha256').update(standing.outcome).digest('base64url')}`;
}

function sideOf({ isGood }: Standing): 'good' | 'bad' {
  return isGood ? 'good' : 'bad';
}

/** Receivers see it as the id of the message: it is the same at each attempt, and after a restored backup too. */
function messageKey(clusterId: string, identity: string): string {
  const bytes = createHash('sha256').update(`${clusterId}/${identity}`).digest();
  return `msg_${bytes.subarray(0, 18).toString('base64url')}`;
}

/** Chart versions by intent id. */
async function versionsOf(
  trx: Kysely<Database>,
  clusterId: string,
  news: readonly ChannelNews[],
): Promise<Map<string, string>> {
  const ids = [...new Set(news.map(({ intentId }) => intentId ?? ''))].filter((id) => id !== '');
  if (ids.length === 0) return new Map();
  const rows = await trx
    .selectFrom('intents')
    .select(['id', 'record'])
    .where('cluster_id', '=', clusterId)
    .where('id', 'in', ids)
    .execute();
  return new Map(
    rows.flatMap(({ id, record }): [string, string][] => {
      const { chartVersion } = JSON.parse(record) as { readonly chartVersion?: string };
      return chartVersion === undefined ? [] : [[id, chartVersion]];
    }),
  );
}
