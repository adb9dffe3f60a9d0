import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { pendingName } from '../../protocol/approval-statement.ts';
import type { Database } from '../store/schema.ts';

/** Most that a configuration names. */
const MAX_PENDING = 256;

/** What must not be released, whatever is asked for by now. */
export interface Unapproved {
  /** `pendingName` of each, the newest first. */
  readonly pending: string[];
  /** What more of them there are is held by these names, and all else that is of them with it. */
  readonly heldTemplates: readonly string[];
  readonly heldEntries: readonly string[];
}

/**
 * What may have come to the cluster, or be on its way there by a proposal, and has not been approved: one that a Git host let
 * somebody merge with too few approvals, for example. An operation that says in its spec that it needs one holds itself,
 * and what a newer intent has followed is in no file any more.
 */
export async function unapprovedOf(db: Kysely<Database>, clusterId: string): Promise<Unapproved> {
  const rows = await db
    .selectFrom('approvals')
    .innerJoin('intents', 'intents.id', 'approvals.intent_id')
    .select(['approvals.spec_hash', 'intents.namespace', 'intents.name', 'intents.record'])
    .where('approvals.cluster_id', '=', clusterId)
    .where('approvals.state', '!=', 'approved')
    .where('intents.action', '!=', 'uninstall')
    .where('intents.awaits_approval', 'is', null)
    .where((eb) =>
      eb.or([eb('intents.delivered_at', 'is not', null), eb('intents.state', 'in', ['accepted', 'proposed'])]),
    )
    .where((eb) =>
      eb.or([
        eb('intents.action', '!=', 'operate'),
        eb('intents.render_inputs', 'is', null),
        eb('intents.render_inputs', 'not like', '%"approval":{"required":true%'),
      ]),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('intents as newer')
            .select('newer.id')
            .whereRef('newer.cluster_id', '=', 'intents.cluster_id')
            .whereRef('newer.target_kind', '=', 'intents.target_kind')
            .whereRef('newer.namespace', '=', 'intents.namespace')
            .whereRef('newer.name', '=', 'intents.name')
            .whereRef('newer.generation', '>', 'intents.generation')
            .where('newer.delivered_at', 'is not', null),
        ),
      ),
    )
    .orderBy('approvals.requested_at', 'desc')
    .orderBy('approvals.id', 'desc')
    .execute();
  const beyond = rows.slice(MAX_PENDING).map(({ record }) => JSON.parse(record) as IntentRecord);
  return {
    pending: rows
      .slice(0, MAX_PENDING)
      .map(({ namespace, name, spec_hash: hash }) => pendingName(namespace, name, hash)),
    heldTemplates: beyond.flatMap(({ operationTemplate }) => operationTemplate ?? []),
    heldEntries: beyond.flatMap(({ catalogEntry }) => catalogEntry ?? []),
  };
}
