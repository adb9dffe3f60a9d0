import type { Kysely } from 'kysely';
import type { IntentAction, IntentRecord } from '../../intent/intent-record.ts';
import { APPLICATION_INSTANCE_KIND } from '../../resources/application-instance.ts';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { noteIntents } from './changes.ts';
import { proposalsOfIntents } from './proposals.ts';
import type { ApprovalRow, Database, IntentRow, ProposalRow, ReceiptRow } from './schema.ts';

/** What generations are counted per, and what a newer intent replaces. */
export interface IntentTarget {
  readonly clusterId: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The kind of resource that an action is about. */
export function targetKindOf(action: IntentAction): string {
  return action === 'operate' ? OPERATION_KIND : APPLICATION_INSTANCE_KIND;
}

/** The newest accepted intent about a target. Its generation is the highest ever given. */
export async function lastIntentOf(db: Kysely<Database>, target: IntentTarget): Promise<IntentRow | undefined> {
  return await db
    .selectFrom('intents')
    .selectAll()
    .where('cluster_id', '=', target.clusterId)
    .where('target_kind', '=', target.kind)
    .where('namespace', '=', target.namespace)
    .where('name', '=', target.name)
    .orderBy('generation', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Approvals likewise: what waits for one, or did not get it, never came about. */
const APPROVED: Readonly<Record<'merged' | 'undecided', readonly ApprovalRow['state'][]>> = {
  merged: ['approved'],
  undecided: ['pending', 'approved'],
};

/** Proposals that may be what stands: `merged`; with `undecided` those of which something may still become. */
const STANDING: Readonly<Record<'merged' | 'undecided', readonly ProposalRow['state'][]>> = {
  merged: ['merged'],
  undecided: ['open', 'merging', 'merged'],
};

/**
 * The newest one about a target that stands: what a proposal asked for that was closed without being merged never came
 * about, and neither did what was not approved, so nothing builds on it.
 *
 * @param upTo of proposals and approvals: those alone that are `merged`, or undecided ones too
 * @param isReviewed what is neither proposed nor delivered yet will be proposed
 */
export async function lastStandingIntentOf(
  db: Kysely<Database>,
  target: IntentTarget,
  { upTo, isReviewed }: { readonly upTo: keyof typeof STANDING; readonly isReviewed: boolean },
): Promise<IntentRow | undefined> {
  return await db
    .selectFrom('intents')
    .leftJoin('proposals', 'proposals.intent_id', 'intents.id')
    .leftJoin('approvals', 'approvals.intent_id', 'intents.id')
    .selectAll('intents')
    .where('intents.cluster_id', '=', target.clusterId)
    .where((eb) => eb.or([eb('approvals.state', 'is', null), eb('approvals.state', 'in', APPROVED[upTo])]))
    .where('target_kind', '=', target.kind)
    .where('namespace', '=', target.namespace)
    .where('name', '=', target.name)
    .where((eb) => {
      const isDirect = eb('proposals.state', 'is', null);
      const isSettled =
        isReviewed && upTo === 'merged' ? eb.and([isDirect, eb('delivered_at', 'is not', null)]) : isDirect;
      return eb.or([isSettled, eb('proposals.state', 'in', STANDING[upTo])]);
    })
    .orderBy('generation', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export async function insertIntent(trx: Kysely<Database>, row: IntentRow): Promise<void> {
  const { catalogEntry = null, chartVersion = null, operationTemplate = null } = JSON.parse(row.record) as IntentRecord;
  const ofRecord = { catalog_entry: catalogEntry, chart_version: chartVersion, operation_template: operationTemplate };
  await trx
    .insertInto('intents')
    .values({ ...row, ...ofRecord })
    .execute();
  noteIntents(trx, [row]);
}

/** An intent with its receipt and its proposal, once it has them. */
export interface IntentWithReceipt {
  readonly intent: IntentRow;
  readonly receipt: ReceiptRow | undefined;
  /** Where it has to be approved. */
  readonly proposal: ProposalRow | undefined;
}

/** An intent of one organization; another organization's is not found. */
export async function findIntentOf(
  db: Kysely<Database>,
  organizationId: string,
  id: string,
): Promise<IntentWithReceipt | undefined> {
  const intent = await db
    .selectFrom('intents')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  if (intent === undefined) return undefined;
  const receipt = await db.selectFrom('receipts').selectAll().where('intent_id', '=', id).executeTakeFirst();
  return { intent, receipt, proposal: (await proposalsOfIntents(db, [id])).get(id) };
}

/** A cluster's intents, the newest first; at most `limit`, those accepted before `before`. */
export async function listIntentsOf(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly before: readonly [acceptedAt: string, id: string] | undefined },
): Promise<IntentWithReceipt[]> {
  let query = db
    .selectFrom('intents')
    .selectAll()
    .where('cluster_id', '=', clusterId)
    .orderBy('accepted_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit);
  const { before } = page;
  if (before !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('accepted_at', '<', before[0]), eb.and([eb('accepted_at', '=', before[0]), eb('id', '<', before[1])])]),
    );
  }
  const intents = await query.execute();
  const ids = intents.map(({ id }) => id);
  const [receipts, proposals] = [await receiptsOf(db, ids), await proposalsOfIntents(db, ids)];
  return intents.map((intent) => ({
    intent,
    receipt: receipts.get(intent.id),
    proposal: proposals.get(intent.id),
  }));
}

export async function receiptsOf(db: Kysely<Database>, intentIds: readonly string[]): Promise<Map<string, ReceiptRow>> {
  if (intentIds.length === 0) return new Map();
  const rows = await db.selectFrom('receipts').selectAll().where('intent_id', 'in', intentIds).execute();
  return new Map(rows.map((row) => [row.intent_id, row]));
}

/**
 * Whether an intent of the same object that was asked for later has been delivered.
 *
 * @param states in which it counts; default: any
 */
export async function hasNewerDelivered(
  trx: Kysely<Database>,
  intent: Pick<IntentRow, 'cluster_id' | 'target_kind' | 'namespace' | 'name' | 'generation'>,
  states?: readonly IntentRow['state'][],
): Promise<boolean> {
  const newer = await trx
    .selectFrom('intents')
    .select('id')
    .where('cluster_id', '=', intent.cluster_id)
    .where('target_kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .where('generation', '>', intent.generation)
    .where('delivered_at', 'is not', null)
    .$if(states !== undefined, (query) => query.where('state', 'in', states ?? []))
    .executeTakeFirst();
  return newer !== undefined;
}
