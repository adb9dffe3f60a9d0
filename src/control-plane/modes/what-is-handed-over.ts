import { sql, type Kysely } from 'kysely';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import type { Database, IntentRow } from '../store/schema.ts';
import type { ObjectLeft } from './mode-switch.ts';
import { objectKeyOf, reportedObjects, type ReportedObject } from './reported-objects.ts';

/** Names in one query. */
const CHUNK = 500;

/** The newest intent of an object that came to the cluster, or was on its way. */
export type DecidingIntent = Pick<
  IntentRow,
  'id' | 'target_kind' | 'namespace' | 'name' | 'generation' | 'action' | 'state' | 'reason'
> & {
  /** An earlier stay in gitops mode may have left a file of the object that nothing has taken back since. */
  readonly hasFile: boolean;
  /** The highest generation of the object that the cluster has reported; null: none. */
  readonly reportedGeneration: number | null;
  /** The last that was reported of the object, under its generation or a later one, is that it has gone. */
  readonly gone: ReportedObject['gone'];
};

export type HandoverJudgement =
  | { readonly kind: 'hand-over' }
  | { readonly kind: 'leave'; readonly reason: string }
  /** There is nothing of it in the cluster that anybody would write to. */
  | { readonly kind: 'nothing' };

/** Whether an object's deciding intent is brought by the new way. */
export function judgeHandover(intent: DecidingIntent, to: ConnectivityMode): HandoverJudgement {
  const { action, state, generation, reportedGeneration, gone } = intent;
  if (reportedGeneration !== null && reportedGeneration > generation) {
    const reason = `the cluster has generation ${reportedGeneration} of it, by an intent that is not known here; ask for it anew`;
    return { kind: 'leave', reason };
  }
  const isUnderWay = state === 'delivered' || state === 'applied';
  // The cluster has it, and it waits to be delivered anew: the queue brings it, and nothing older may come before.
  if (state === 'accepted') return { kind: 'nothing' };
  // One that has ended runs no second time.
  if (intent.target_kind === OPERATION_KIND) return isUnderWay ? { kind: 'hand-over' } : { kind: 'nothing' };
  if (state === 'removed') {
    return to === 'gitops' && action === 'uninstall' && intent.hasFile ? { kind: 'hand-over' } : { kind: 'nothing' };
  }
  if (action === 'uninstall' && isUnderWay) return { kind: 'hand-over' };
  if (gone === 'deleted' && action !== 'uninstall') {
    return {
      kind: 'leave',
      reason: 'it was deleted by hand, and a switch makes nothing anew; install it anew if it is wanted',
    };
  }
  if (gone !== undefined) return { kind: 'nothing' };
  if (action !== 'uninstall') return { kind: 'hand-over' };
  return { kind: 'leave', reason: `its uninstall failed (${intent.reason ?? state}); ask for it anew` };
}

export interface HandedOver {
  readonly intents: readonly DecidingIntent[];
  readonly left: readonly ObjectLeft[];
}

/** Of each object of a cluster what a switch to that mode brings by the new way, and what it leaves as it is. */
export async function whatIsHandedOver(
  db: Kysely<Database>,
  clusterId: string,
  to: ConnectivityMode,
): Promise<HandedOver> {
  const intents: DecidingIntent[] = [];
  const reported = await reportedObjects(db, clusterId);
  const deciding = await decidingIntents(db, clusterId, to, reported);
  const left = await undecided(db, clusterId, reported, new Set(deciding.map(objectKeyOf)));
  for (const intent of deciding) {
    const judged = judgeHandover(intent, to);
    if (judged.kind === 'hand-over') intents.push(intent);
    if (judged.kind !== 'leave') continue;
    const { target_kind: kind, namespace, name } = intent;
    left.push({ kind, namespace, name, reason: judged.reason });
  }
  return { intents, left };
}

/**
 * A few queries however many there are. What waits for its first delivery goes by the queue; what ended without having been
 * applied never came about, unless the cluster reports its very generation.
 */
async function decidingIntents(
  db: Kysely<Database>,
  clusterId: string,
  to: ConnectivityMode,
  reported: ReadonlyMap<string, ReportedObject>,
): Promise<DecidingIntent[]> {
  const ofObject = db
    .selectFrom('intents')
    .select(['id', 'target_kind', 'namespace', 'name', 'generation', 'action', 'state', 'reason'])
    .select(
      sql<number>`ROW_NUMBER() OVER (PARTITION BY target_kind, namespace, name ORDER BY generation DESC)`.as('place'),
    )
    .where('cluster_id', '=', clusterId)
    .where((eb) =>
      eb.or([
        eb('state', 'in', ['delivered', 'applied', 'ready', 'removed']),
        eb.and([eb('state', 'in', ['failed', 'accepted', 'superseded']), eb('applied_at', 'is not', null)]),
      ]),
    );
  const rows = await db
    .selectFrom(ofObject.as('object'))
    .select(['object.id', 'object.target_kind', 'object.namespace', 'object.name', 'object.generation'])
    .select(['object.action', 'object.state', 'object.reason'])
    .where('object.place', '=', 1)
    .execute();
  const newest = new Map(rows.map((row) => [objectKeyOf(row), row]));
  const ahead = [...reported.values()].filter(
    (object) => object.generation > (newest.get(objectKeyOf(object))?.generation ?? 0),
  );
  for (const row of await intentsReported(db, clusterId, ahead)) newest.set(objectKeyOf(row), row);

  const unknown = await unknownGenerations(db, clusterId);
  const going = await objectsToGo(db, clusterId);
  const files = to === 'gitops' ? await objectsWithFile(db, clusterId) : new Set<string>();
  return [...newest]
    .filter(([key, { generation }]) => generation > (going.get(key) ?? 0))
    .toSorted(([, a], [, b]) => compareObjects(a, b))
    .map(([key, intent]) => {
      const told = reported.get(key);
      const highest = Math.max(told?.generation ?? 0, unknown.get(key) ?? 0);
      return {
        ...intent,
        hasFile: files.has(key),
        reportedGeneration: highest === 0 ? null : highest,
        gone: told !== undefined && told.generation >= intent.generation ? told.gone : undefined,
      };
    });
}

type Deciding = Pick<
  IntentRow,
  'id' | 'target_kind' | 'namespace' | 'name' | 'generation' | 'action' | 'state' | 'reason'
>;

/** The intents of objects that have the generation which the cluster reports of them. */
async function intentsReported(
  db: Kysely<Database>,
  clusterId: string,
  objects: readonly ReportedObject[],
): Promise<Deciding[]> {
  const found: Deciding[] = [];
  const generations = new Map(objects.map((object) => [objectKeyOf(object), object.generation]));
  for (let at = 0; at < objects.length; at += CHUNK) {
    const names = objects.slice(at, at + CHUNK).map(({ name }) => name);
    const rows = await db
      .selectFrom('intents')
      .select(['id', 'target_kind', 'namespace', 'name', 'generation', 'action', 'state', 'reason'])
      .where('cluster_id', '=', clusterId)
      .where('name', 'in', names)
      .where('state', '!=', 'proposed')
      .execute();
    found.push(...rows.filter((row) => generations.get(objectKeyOf(row)) === row.generation));
  }
  return found;
}

/** Numbers that the cluster has reported and no intent here has. */
async function unknownGenerations(db: Kysely<Database>, clusterId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('reported_generations')
    .select(['target_kind', 'namespace', 'name', 'generation'])
    .where('cluster_id', '=', clusterId)
    .execute();
  return new Map(rows.map((row) => [objectKeyOf(row), row.generation]));
}

/**
 * Objects whose uninstall is accepted, with its generation. Its delete may have been carried out, and the receipt lost with
 * the program: delivered once more, the object would come back.
 */
async function objectsToGo(db: Kysely<Database>, clusterId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('intents')
    .select(['target_kind', 'namespace', 'name', 'generation'])
    .where('cluster_id', '=', clusterId)
    .where('state', '=', 'accepted')
    .where('awaits_approval', 'is', null)
    .where('action', '=', 'uninstall')
    .orderBy('generation')
    .execute();
  return new Map(rows.map((row) => [objectKeyOf(row), row.generation]));
}

/** Applications that the cluster has by a delivery, and of which no intent says what is to become. */
async function undecided(
  db: Kysely<Database>,
  clusterId: string,
  reported: ReadonlyMap<string, ReportedObject>,
  decided: ReadonlySet<string>,
): Promise<ObjectLeft[]> {
  const going = await objectsToGo(db, clusterId);
  return [...reported]
    .filter(([key, { target_kind: kind, generation, gone }]) => {
      if (kind === OPERATION_KIND || generation === 0 || gone !== undefined) return false;
      return !decided.has(key) && !going.has(key);
    })
    .map(([, { target_kind: kind, namespace, name, generation }]) => ({
      kind,
      namespace,
      name,
      reason: `the cluster has generation ${generation} of it, and no intent that is known here decides on it; ask for it anew`,
    }))
    .toSorted((a, b) => (a.namespace === b.namespace ? order(a.name, b.name) : order(a.namespace, b.namespace)));
}

function compareObjects(a: Deciding, b: Deciding): number {
  return order(a.target_kind, b.target_kind) || order(a.namespace, b.namespace) || order(a.name, b.name);
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Objects of which the newest that Git was given is no tombstone. */
async function objectsWithFile(db: Kysely<Database>, clusterId: string): Promise<Set<string>> {
  const handed = db
    .selectFrom('mode_handovers')
    .select('intent_id')
    .where('cluster_id', '=', clusterId)
    .where('receipt', 'like', '%"commit":%');
  const written = await db
    .selectFrom('intents')
    .leftJoin('receipts', 'receipts.intent_id', 'intents.id')
    .select(['target_kind', 'namespace', 'name', 'action'])
    .select((eb) => eb.fn.max('generation').as('generation'))
    .where('cluster_id', '=', clusterId)
    .where((eb) => eb.or([eb('receipts.mode', '=', 'gitops'), eb('intents.id', 'in', handed)]))
    .groupBy(['target_kind', 'namespace', 'name', 'action'])
    .execute();
  const newest = new Map<string, (typeof written)[number]>();
  for (const row of written) {
    const key = objectKeyOf(row);
    if (row.generation > (newest.get(key)?.generation ?? 0)) newest.set(key, row);
  }
  return new Set([...newest].flatMap(([key, { action }]) => (action === 'uninstall' ? [] : [key])));
}
