import type { Kysely } from 'kysely';
import type { RenderInputs } from '../../intent/render.ts';
import type { ApprovalStatement } from '../../protocol/approval-statement.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { PayloadSigner } from '../payload-signer.ts';
import { lockApproval, updateApproval } from '../store/approvals.ts';
import { raiseConfigRevision } from '../store/clusters.ts';
import type { Store } from '../store/open-store.ts';
import type { ApprovalRow, Database, IntentRow } from '../store/schema.ts';
import { configTopic, DELIVERY_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import { release } from './carry-out.ts';
import { statementIsNeeded } from './statement-is-needed.ts';

export interface SignStatementDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly signer: Pick<PayloadSigner, 'approve'>;
}

/**
 * Signs the statement of what was approved, and lets its intent be delivered with it. Outside of any transaction, since
 * unsealing the key takes time; whoever comes second, and a second time after a crash, changes nothing. A key that was revoked
 * meanwhile signs nothing that counts: it is signed again at the next look. What was cancelled meanwhile, or has ended, is
 * not stored and goes nowhere.
 */
export async function signStatement(deps: SignStatementDeps, id: string): Promise<void> {
  const { store, wakeups, signer, clock } = deps;
  const row = await store.db.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined || !isUnsigned(row, clock.now())) return;
  const intent = await intentInNeed(store.db, row.intent_id);
  if (intent === undefined) return;
  const { statement, kid } = await signer.approve(claimsOf(row, intent));
  const stored = await store.write(async (trx) => {
    const locked = await lockApproval(trx, id);
    if (locked === undefined || !isUnsigned(locked, clock.now())) return 'nothing';
    const key = await trx.selectFrom('signing_keys').select('revoked_at').where('kid', '=', kid).executeTakeFirst();
    if (key === undefined || key.revoked_at !== null) return 'nothing';
    const still = await intentInNeed(trx, row.intent_id);
    if (still === undefined) return 'nothing';
    await updateApproval(trx, id, { statement, statement_kid: kid });
    return await handOn(trx, still, locked, statement);
  });
  if (stored === 'config') wakeups.notify(configTopic(row.cluster_id));
  if (stored !== 'nothing') wakeups.notify(DELIVERY_TOPIC);
}

/** Where the statement travels: with the object that is still to be delivered, or by the configuration of the cluster. */
async function handOn(
  trx: Kysely<Database>,
  intent: IntentRow,
  row: ApprovalRow,
  statement: string,
): Promise<'object' | 'config'> {
  if (intent.awaits_approval === 1 && intent.state === 'accepted') {
    const inputs = { ...inputsIn(intent), approval: { required: true, statement } };
    await trx
      .updateTable('intents')
      .set({ render_inputs: JSON.stringify(inputs) })
      .where('id', '=', intent.id)
      .execute();
    await release(trx, intent.id);
    return 'object';
  }
  await raiseConfigRevision(trx, row.cluster_id);
  return 'config';
}

/** Undefined: nothing becomes of it any more. */
async function intentInNeed(db: Kysely<Database>, id: string): Promise<IntentRow | undefined> {
  const query = db.selectFrom('intents').selectAll().where('id', '=', id);
  return await query.where(statementIsNeeded()).executeTakeFirst();
}

export function inputsIn({ render_inputs: text }: Pick<IntentRow, 'render_inputs'>): RenderInputs {
  return text === null ? {} : (parseExactJson(text) as RenderInputs);
}

function isUnsigned(row: ApprovalRow, now: Date): boolean {
  const { state, statement, statement_expires_at: until } = row;
  return state === 'approved' && statement === null && until !== null && until > now.toISOString();
}

function claimsOf(row: ApprovalRow, intent: Pick<IntentRow, 'namespace' | 'name'>): ApprovalStatement {
  const { jti, decided_at: from, statement_expires_at: until, approved_by: approvedBy } = row;
  if (jti === null || from === null || until === null || approvedBy === null) {
    throw new Error(`approval ${row.id} is not approved`);
  }
  return {
    cluster_id: row.cluster_id,
    namespace: intent.namespace,
    name: intent.name,
    specHash: row.spec_hash,
    approvedBy,
    requestedBy: row.requested_by,
    iat: seconds(from),
    exp: seconds(until),
    jti,
  };
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}
