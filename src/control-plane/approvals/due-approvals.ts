import type { Kysely } from 'kysely';
import type { Database, IntentState } from '../store/schema.ts';
import { statementIsNeeded } from './statement-is-needed.ts';

/** Approvals of one turn and kind. What is beyond comes with the next one. */
const MAX_ROWS = 500;

/** States in which nothing waits for an approval any more. */
const OVER: readonly IntentState[] = ['ready', 'removed', 'superseded'];
/** The cluster has not told of it. */
const NOT_THERE: readonly IntentState[] = ['accepted', 'proposed', 'delivered'];

/** Approved, and the statement is not signed. */
export async function unsignedApprovals(db: Kysely<Database>, at: string): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'approved')
    .where('approvals.statement', 'is', null)
    .where('approvals.statement_expires_at', '>', at)
    .where(statementIsNeeded());
  return idsOf(await query.execute());
}

/** Signed by a key that was revoked since. */
export async function revokedStatements(db: Kysely<Database>): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'approved')
    .where('approvals.statement', 'is not', null)
    .where('approvals.statement_kid', 'in', (eb) =>
      eb.selectFrom('signing_keys').select('kid').where('revoked_at', 'is not', null),
    );
  return idsOf(await query.execute());
}

/** Nobody approved them in time. With a proposal they wait as long as it does. */
export async function expiredRequests(db: Kysely<Database>, at: string): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'pending')
    .where('approvals.expires_at', '<=', at)
    .where((eb) =>
      eb.or([eb('intents.awaits_approval', '=', 1), eb('intents.state', 'in', ['delivered', 'applied', 'failed'])]),
    );
  return idsOf(await query.execute());
}

/** Approved, and not in the cluster while it was good. */
export async function lateApprovals(db: Kysely<Database>, at: string): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'approved')
    .where('approvals.statement_expires_at', '<=', at)
    .where('intents.action', '!=', 'uninstall')
    .where('intents.state', 'in', NOT_THERE)
    .where('intents.applied_at', 'is', null);
  return idsOf(await query.execute());
}

/** Asked for, and the intent has ended without it. */
export async function endedRequests(db: Kysely<Database>): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'pending')
    .where((eb) =>
      eb.or([
        eb('intents.state', 'in', OVER),
        eb.and([eb('intents.state', '=', 'failed'), eb('intents.delivered_at', 'is', null)]),
      ]),
    );
  return idsOf(await query.execute());
}

/** Signed, and used or over. */
export async function spentStatements(db: Kysely<Database>, at: string): Promise<string[]> {
  const query = approvalsWithIntents(db)
    .where('approvals.state', '=', 'approved')
    .where('approvals.statement', 'is not', null)
    .where((eb) => eb.or([eb('approvals.statement_expires_at', '<=', at), eb.not(statementIsNeeded())]));
  return idsOf(await query.execute());
}

function approvalsWithIntents(db: Kysely<Database>) {
  return db
    .selectFrom('approvals')
    .innerJoin('intents', 'intents.id', 'approvals.intent_id')
    .select('approvals.id')
    .orderBy('approvals.id')
    .limit(MAX_ROWS);
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
