import type { Kysely } from 'kysely';
import { OPERATION_KIND } from '../../resources/operation.ts';
import type { EventSource } from '../../protocol/event.ts';
import { leaveHandover } from '../store/leave-handovers.ts';
import type { Store } from '../store/open-store.ts';
import type { ClusterRow, Database, IntentRow, JobRow, ModeHandoverRow } from '../store/schema.ts';

/** Rows looked at, and written, at once. */
const CHUNK = 500;

/** What is known of one object that was brought by the new way. */
export interface BroughtFacts {
  readonly intentState: IntentRow['state'];
  /** A newer intent of the object, or this one, ended with the object gone. */
  readonly isGone: boolean;
  /** Where the object's present status came from, one for each of its conditions. */
  readonly sources: readonly Pick<EventSource, 'epoch' | 'generation'>[];
  /** Of the job that it was brought by, in pull mode. */
  readonly job: Pick<JobRow, 'state' | 'outcome'> | undefined;
  /** In gitops mode the operator has applied what Git holds. */
  readonly isRevisionApplied: boolean;
}

/**
 * Whether the cluster has what a row brought; undefined: not known yet. `dropped`: nobody waits for it any more;
 * `left`: the cluster has, or had, a later generation of the object of before the switch, and nothing goes back to this one.
 *
 * An apply is confirmed by the object's own status, which says by which epoch it came; an Operation that has ended has none
 * to come. A tombstone is confirmed when it can no longer be lost: taken by the operator, or carried out.
 */
export function confirmationOf(
  row: Pick<ModeHandoverRow, 'epoch' | 'generation' | 'action' | 'target_kind' | 'receipt'>,
  facts: BroughtFacts,
): 'confirmed' | 'dropped' | 'left' | undefined {
  const { intentState, isGone, sources, job, isRevisionApplied } = facts;
  const isEnded = job?.state === 'closed' && (job.outcome === 'succeeded' || job.outcome === 'noop');
  if (row.action === 'uninstall') {
    const isTaken = isEnded || job?.state === 'acknowledged';
    return isGone || isTaken || isRevisionApplied || wasPushed(row) ? 'confirmed' : undefined;
  }
  const isReported = sources.some(
    ({ epoch, generation }) => (epoch ?? 0) >= row.epoch && (generation ?? 0) >= row.generation,
  );
  if (isReported || isEnded) return 'confirmed';
  const isOver = row.target_kind === OPERATION_KIND && (intentState === 'ready' || intentState === 'failed');
  if (isOver || (row.target_kind === OPERATION_KIND && isRevisionApplied)) return 'confirmed';
  if (isGone) return 'dropped';
  const isBehind = sources.some(
    ({ epoch, generation }) => (epoch ?? 0) < row.epoch && (generation ?? 0) > row.generation,
  );
  return isBehind ? 'left' : undefined;
}

/** Written by the control plane itself: the object is gone or going. */
function wasPushed({ receipt }: Pick<ModeHandoverRow, 'receipt'>): boolean {
  return receipt !== null && (JSON.parse(receipt) as { readonly fieldManager?: string }).fieldManager !== undefined;
}

/**
 * Marks what a cluster has of that which was brought to it under its present epoch. A few queries for each 500 rows, and what
 * was marked is not looked at again.
 *
 * @returns how many were marked
 */
export async function confirmRows(store: Store, cluster: ClusterRow, at: string): Promise<number> {
  let marked = 0;
  let after = '';
  for (;;) {
    const rows = await broughtRows(store.db, cluster, after);
    after = rows.at(-1)?.intent_id ?? '';
    const found = await judgeRows(store.db, cluster, rows);
    for (const state of ['confirmed', 'dropped'] as const) {
      const ids = found.flatMap((one) => (one.state === state ? [one.intentId] : []));
      if (ids.length === 0) continue;
      marked += ids.length;
      await store.write(async (trx) => await mark(trx, cluster, ids, state, at));
    }
    const behind = found.filter(({ state }) => state === 'left').map(({ intentId }) => intentId);
    marked += behind.length;
    for (const row of rows.filter(({ intent_id: id }) => behind.includes(id))) {
      const reason = `the cluster reports a later generation of it than ${row.generation}; ask for it anew`;
      await store.write(async (trx) => await leaveHandover(trx, row, reason, at));
    }
    if (rows.length < CHUNK) return marked;
  }
}

type BroughtRow = ModeHandoverRow & { readonly intentState: IntentRow['state'] };

async function broughtRows(db: Kysely<Database>, cluster: ClusterRow, after: string): Promise<BroughtRow[]> {
  return await db
    .selectFrom('mode_handovers')
    .innerJoin('intents', 'intents.id', 'mode_handovers.intent_id')
    .selectAll('mode_handovers')
    .select('intents.state as intentState')
    .where('mode_handovers.cluster_id', '=', cluster.id)
    .where('mode_handovers.epoch', '=', cluster.delivery_epoch)
    .where('mode_handovers.state', '=', 'delivered')
    .where('mode_handovers.intent_id', '>', after)
    .orderBy('mode_handovers.intent_id')
    .limit(CHUNK)
    .execute();
}

async function judgeRows(
  db: Kysely<Database>,
  cluster: ClusterRow,
  rows: readonly BroughtRow[],
): Promise<{ readonly intentId: string; readonly state: ReturnType<typeof confirmationOf> }[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.intent_id);
  const sources = await sourcesOf(db, cluster, ids);
  const jobs = await jobsOf(db, cluster, ids);
  const gone = await goneOf(db, cluster, ids);
  const isRevisionApplied =
    cluster.connectivity_mode === 'gitops' &&
    cluster.desired_revision !== null &&
    cluster.applied_revision === cluster.desired_revision;
  return rows.map((row) => {
    const { intent_id: intentId, intentState } = row;
    const state = confirmationOf(row, {
      intentState,
      isGone: intentState === 'removed' || gone.has(intentId),
      sources: sources.get(intentId) ?? [],
      job: jobs.get(intentId),
      isRevisionApplied,
    });
    return { intentId, state };
  });
}

async function sourcesOf(
  db: Kysely<Database>,
  cluster: ClusterRow,
  intentIds: readonly string[],
): Promise<Map<string, EventSource[]>> {
  const rows = await db
    .selectFrom('intents')
    .innerJoin('resource_conditions as status', (join) =>
      join
        .onRef('status.cluster_id', '=', 'intents.cluster_id')
        .onRef('status.kind', '=', 'intents.target_kind')
        .onRef('status.namespace', '=', 'intents.namespace')
        .onRef('status.name', '=', 'intents.name'),
    )
    .select(['intents.id', 'status.source'])
    .distinct()
    .where('intents.cluster_id', '=', cluster.id)
    .where('intents.id', 'in', intentIds)
    .where('status.source', 'is not', null)
    .execute();
  const found = new Map<string, EventSource[]>();
  for (const { id, source } of rows) {
    const sources = found.get(id) ?? [];
    sources.push(JSON.parse(source ?? '{}') as EventSource);
    found.set(id, sources);
  }
  return found;
}

async function jobsOf(
  db: Kysely<Database>,
  cluster: ClusterRow,
  intentIds: readonly string[],
): Promise<Map<string, Pick<JobRow, 'state' | 'outcome'>>> {
  const rows = await db
    .selectFrom('jobs')
    .select(['intent_id', 'state', 'outcome'])
    .where('cluster_id', '=', cluster.id)
    .where('delivery_epoch', '=', cluster.delivery_epoch)
    .where('intent_id', 'in', intentIds)
    // An earlier one may have expired: the latest counts.
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return new Map(rows.map(({ intent_id: intentId, ...job }) => [intentId, job]));
}

/** Intents whose object a newer one has ended. */
async function goneOf(db: Kysely<Database>, cluster: ClusterRow, intentIds: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('intents')
    .innerJoin('intents as newer', (join) =>
      join
        .onRef('newer.cluster_id', '=', 'intents.cluster_id')
        .onRef('newer.target_kind', '=', 'intents.target_kind')
        .onRef('newer.namespace', '=', 'intents.namespace')
        .onRef('newer.name', '=', 'intents.name')
        .onRef('newer.generation', '>', 'intents.generation'),
    )
    .select('intents.id')
    .distinct()
    .where('intents.cluster_id', '=', cluster.id)
    .where('intents.id', 'in', intentIds)
    .where('newer.state', '=', 'removed')
    .execute();
  return new Set(rows.map(({ id }) => id));
}

async function mark(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  intentIds: readonly string[],
  state: 'confirmed' | 'dropped',
  at: string,
): Promise<void> {
  await trx
    .updateTable('mode_handovers')
    .set({ state, confirmed_at: at })
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .where('intent_id', 'in', intentIds)
    .where('state', '=', 'delivered')
    .execute();
}
