import { sql, type Kysely } from 'kysely';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import type { Database, IntentRow } from '../store/schema.ts';
import type { ObjectLeft } from './mode-switch.ts';

/** The newest intent of an object that came to the cluster, or was on its way. */
export type DecidingIntent = Pick<
  IntentRow,
  'id' | 'target_kind' | 'namespace' | 'name' | 'generation' | 'action' | 'state' | 'reason'
> & {
  /** An earlier stay in gitops mode may have left a file of the object that nothing has taken back since. */
  readonly hasFile: boolean;
  /** A generation above it that the cluster has reported and no intent here has. */
  readonly reportedGeneration: number | null;
};

export type HandoverJudgement =
  | { readonly kind: 'hand-over' }
  | { readonly kind: 'leave'; readonly reason: string }
  /** There is nothing of it in the cluster that anybody would write to. */
  | { readonly kind: 'nothing' };

/** Whether an object's deciding intent is brought by the new way. */
export function judgeHandover(intent: DecidingIntent, to: ConnectivityMode): HandoverJudgement {
  const { action, state, generation, reportedGeneration } = intent;
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
  if (action !== 'uninstall' || isUnderWay) return { kind: 'hand-over' };
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
  const left: ObjectLeft[] = [];
  for (const intent of await decidingIntents(db, clusterId, to)) {
    const judged = judgeHandover(intent, to);
    if (judged.kind === 'hand-over') intents.push(intent);
    if (judged.kind !== 'leave') continue;
    const { target_kind: kind, namespace, name } = intent;
    left.push({ kind, namespace, name, reason: judged.reason });
  }
  return { intents, left };
}

/**
 * Two queries however many there are. What waits for its first delivery goes by the queue; what failed without having been
 * applied, or was superseded, never came about.
 */
async function decidingIntents(
  db: Kysely<Database>,
  clusterId: string,
  to: ConnectivityMode,
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
        eb.and([eb('state', 'in', ['failed', 'accepted']), eb('applied_at', 'is not', null)]),
      ]),
    );
  const rows = await db
    .selectFrom(ofObject.as('object'))
    .leftJoin('reported_generations as reported', (join) =>
      join
        .on('reported.cluster_id', '=', clusterId)
        .onRef('reported.target_kind', '=', 'object.target_kind')
        .onRef('reported.namespace', '=', 'object.namespace')
        .onRef('reported.name', '=', 'object.name'),
    )
    .select(['object.id', 'object.target_kind', 'object.namespace', 'object.name', 'object.generation'])
    .select(['object.action', 'object.state', 'object.reason', 'reported.generation as reportedGeneration'])
    .where('object.place', '=', 1)
    // Its delete may have been carried out, and the receipt lost with the program: delivered once more, it would come back.
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('intents as end')
            .select('end.id')
            .where('end.cluster_id', '=', clusterId)
            .where('end.state', '=', 'accepted')
            .where('end.action', '=', 'uninstall')
            .whereRef('end.target_kind', '=', 'object.target_kind')
            .whereRef('end.namespace', '=', 'object.namespace')
            .whereRef('end.name', '=', 'object.name')
            .whereRef('end.generation', '>', 'object.generation'),
        ),
      ),
    )
    .orderBy('object.target_kind')
    .orderBy('object.namespace')
    .orderBy('object.name')
    .execute();
  const files = to === 'gitops' ? await objectsWithFile(db, clusterId) : new Set<string>();
  return rows.map((row) => ({ ...row, hasFile: files.has(keyOf(row)) }));
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
    const key = keyOf(row);
    if (row.generation > (newest.get(key)?.generation ?? 0)) newest.set(key, row);
  }
  return new Set([...newest].flatMap(([key, { action }]) => (action === 'uninstall' ? [] : [key])));
}

function keyOf(object: Pick<IntentRow, 'target_kind' | 'namespace' | 'name'>): string {
  return `${object.target_kind}/${object.namespace}/${object.name}`;
}
