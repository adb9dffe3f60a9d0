import type { Kysely } from 'kysely';
import { manifestPathFor } from '../../delivery/gitops/layout.ts';
import { Reason } from '../../resources/reasons.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import type { DecidingIntent } from './what-is-handed-over.ts';

/** Characters of a reason that are repeated. */
const MAX_WHY = 300;

/** An intent that the cluster was given, and cannot apply. */
export interface StandingFault {
  readonly why: string;
  /** The newest of its object that the cluster has applied; undefined: none. */
  readonly applied: Omit<DecidingIntent, 'hasFile'> | undefined;
}

/**
 * Of intents that were delivered those that the cluster has never applied and is known not to be able to, by id: in gitops
 * mode, where nothing else says so, the operator names the file in `Synced`; or an earlier switch was refused for it.
 */
export async function standingFaults(
  db: Kysely<Database>,
  cluster: ClusterRow,
  intents: readonly DecidingIntent[],
): Promise<ReadonlyMap<string, StandingFault>> {
  const delivered = intents.filter(({ state, action }) => state === 'delivered' && action !== 'uninstall');
  if (delivered.length === 0) return new Map();
  const unapplied = await neverApplied(db, cluster.id);
  const synced = cluster.connectivity_mode === 'gitops' ? await syncFault(db, cluster.id) : undefined;
  const faults = new Map<string, StandingFault>();
  for (const intent of delivered) {
    if (!unapplied.has(intent.id) || (intent.reportedGeneration ?? 0) >= intent.generation) continue;
    const why = faultOfFile(synced, intent) ?? (await refusedBefore(db, intent.id));
    if (why === undefined) continue;
    faults.set(intent.id, {
      why: why.slice(0, MAX_WHY).toWellFormed(),
      applied: await appliedBelow(db, cluster, intent),
    });
  }
  return faults;
}

async function neverApplied(db: Kysely<Database>, clusterId: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('intents')
    .select('id')
    .where('cluster_id', '=', clusterId)
    .where('state', '=', 'delivered')
    .where('applied_at', 'is', null)
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** What the operator says of the revision that it could not apply in full. */
async function syncFault(db: Kysely<Database>, clusterId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('resource_conditions')
    .select('message')
    .where('cluster_id', '=', clusterId)
    .where('kind', '=', 'Cluster')
    .where('type', '=', 'Synced')
    .where('status', '=', 'False')
    .executeTakeFirst();
  return row?.message ?? undefined;
}

function faultOfFile(
  synced: string | undefined,
  { target_kind: kind, namespace, name }: DecidingIntent,
): string | undefined {
  const mark = ` ${manifestPathFor({ kind, namespace, name })}: `;
  const at = synced?.indexOf(mark) ?? -1;
  const why = at === -1 ? undefined : synced?.slice(at + mark.length);
  // That ends when somebody takes the annotation off.
  return why?.startsWith(Reason.Paused) === true ? undefined : why;
}

async function refusedBefore(db: Kysely<Database>, intentId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('mode_handovers')
    .select('reason')
    .where('intent_id', '=', intentId)
    .where('state', '=', 'refused')
    .orderBy('epoch', 'desc')
    .executeTakeFirst();
  return row?.reason ?? undefined;
}

async function appliedBelow(
  db: Kysely<Database>,
  cluster: Pick<ClusterRow, 'id'>,
  intent: DecidingIntent,
): Promise<StandingFault['applied']> {
  const row = await db
    .selectFrom('intents')
    .select(['id', 'target_kind', 'namespace', 'name', 'generation', 'action', 'state', 'reason'])
    .where('cluster_id', '=', cluster.id)
    .where('target_kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('generation', '<', intent.generation)
    .where('applied_at', 'is not', null)
    .orderBy('generation', 'desc')
    .limit(1)
    .executeTakeFirst();
  // What was uninstalled is not what the cluster has.
  if (row === undefined || row.action === 'uninstall' || row.state === 'removed') return undefined;
  return { ...row, reportedGeneration: intent.reportedGeneration, gone: intent.gone };
}
