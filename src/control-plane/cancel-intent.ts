import type { Kysely } from 'kysely';
import { intentIdempotencyKey } from '../intent/intent-key.ts';
import type { IntentRecord } from '../intent/intent-record.ts';
import { AppError } from '../protocol/app-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { newId } from '../protocol/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { gitSettingsOf } from './git/git-settings.ts';
import { actOnProposal } from './proposals/act-on-proposal.ts';
import type { AdminIdentity } from './store/admin-tokens.ts';
import { appendAudit } from './store/audit.ts';
import { findCluster, raiseConfigRevision } from './store/clusters.ts';
import { insertIntent, lastIntentOf } from './store/intents.ts';
import { howItEnded } from './store/operation-views.ts';
import type { Store } from './store/open-store.ts';
import { proposalsOfIntents } from './store/proposals.ts';
import { reportedGenerationOf } from './store/reported-generations.ts';
import type { ClusterRow, Database, IntentRow } from './store/schema.ts';
import { configTopic, DELIVERY_TOPIC, PROPOSALS_TOPIC } from './topics.ts';
import { noteIntents, noteRows, OF_CHANGED } from './store/changes.ts';
import type { Wakeups } from './wakeups.ts';

/** Reason of an intent that was cancelled before it was delivered. */
export const CANCELLED = 'Cancelled';

export interface CancelIntentDeps {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
}

/** What became of the wish to cancel. */
export interface CancelledIntent {
  /** The intent whose operation is cancelled. */
  readonly id: string;
  readonly state: IntentRow['state'];
  readonly reason?: string;
  /** The intent that tells the cluster; absent: the operation had not left the control plane, and never will. */
  readonly cancellation?: { readonly id: string; readonly generation: number; readonly state: IntentRow['state'] };
}

type Outcome =
  | { readonly answer: CancelledIntent; /** Of what was changed: its cluster. */ readonly changed?: string }
  | { readonly withdraw: string };

/**
 * Cancels an operation:
 *
 * ```
 * waits for an approval ──────────────────► failed (Cancelled), its approval withdrawn
 * proposed ── its proposal is closed ─────► failed (Cancelled)
 * accepted, surely not delivered ─────────► failed (Cancelled)
 * accepted, perhaps delivered ──┐
 * delivered, applied, failed ───┴─ a new intent, the same spec and `cancel: true`, under the next generation
 * ended ──────────────────────────────────► conflict, which says how
 * ```
 *
 * Perhaps delivered is what a repository or an API server may have taken without that being known here. Then the cancellation
 * is delivered in its place: an operation that comes to its cluster with `cancel: true` never begins. Its approval, asked for
 * or given, is withdrawn in the same transaction: nothing is signed by it and nothing sent any more. The same call again
 * answers the same.
 *
 * @throws AppError `not_found`, or `conflict`: it is no operation, has ended, or its proposal is being merged
 */
export async function cancelIntent(
  deps: CancelIntentDeps,
  admin: AdminIdentity,
  id: string,
  reason: string | undefined,
): Promise<CancelledIntent> {
  const { store, wakeups } = deps;
  const write = async (isWithdrawn: boolean): Promise<Outcome> =>
    await store.write(async (trx) => await cancelIn(trx, deps, admin, { id, reason, isWithdrawn }));
  let outcome = await write(false);
  if ('withdraw' in outcome) {
    await actOnProposal(deps, admin, outcome.withdraw, { kind: 'supersede', comment: reason });
    outcome = await write(true);
    wakeups.notify(PROPOSALS_TOPIC);
  }
  if ('withdraw' in outcome) throw new AppError('unavailable', 'its proposal was opened anew meanwhile; try again');
  if (outcome.changed !== undefined) {
    wakeups.notify(DELIVERY_TOPIC);
    wakeups.notify(configTopic(outcome.changed));
  }
  return outcome.answer;
}

async function cancelIn(
  trx: Kysely<Database>,
  deps: CancelIntentDeps,
  admin: AdminIdentity,
  {
    id,
    reason,
    isWithdrawn,
  }: { readonly id: string; readonly reason: string | undefined; readonly isWithdrawn: boolean },
): Promise<Outcome> {
  const named = await intentOf(trx, admin.organization.id, id);
  if (named === undefined) throw new AppError('not_found', `there is no intent ${id}`);
  // Whoever names the cancellation means what it cancels.
  const intent = typeof named.cancels === 'string' ? await intentOf(trx, admin.organization.id, named.cancels) : named;
  const cluster = await findCluster(trx, named.cluster_id);
  if (intent === undefined || cluster === undefined) throw new AppError('not_found', `intent ${id} was just deleted`);
  const what = `${intent.namespace}/${intent.name}`;
  if (intent.action !== 'operate') {
    const message = `intent ${id} is no operation but an ${intent.action} of ${what}; only operations are cancelled: ask for what you want instead (update, uninstall), or withdraw its proposal`;
    throw new AppError('conflict', message);
  }
  const before = await cancellationOf(trx, intent.id);
  if (before !== undefined && before.state !== 'failed') return { answer: answerOf(intent, before) };
  if (before === undefined && intent.reason?.startsWith(`${CANCELLED}: `) === true && intent.delivered_at === null) {
    return { answer: answerOf(intent) };
  }
  const proposal = (await proposalsOfIntents(trx, [intent.id])).get(intent.id);
  if (proposal?.state === 'open') return { withdraw: proposal.id };
  if (isWithdrawn && proposal?.state === 'superseded' && intent.delivered_at === null) {
    return { answer: await endHere(trx, deps, { intent, cluster, admin, reason }), changed: cluster.id };
  }
  const ended = await howItEnded(trx, intent);
  if (ended !== undefined) {
    throw new AppError('conflict', `operation ${what} (${intent.id}) has ended: ${ended}`, {
      extra: { state: intent.state },
    });
  }
  if (proposal?.state === 'merging') {
    const message = `proposal ${proposal.id} of ${what} is being merged; cancel the operation when it is`;
    throw new AppError('conflict', message, { extra: { proposalId: proposal.id } });
  }
  if (await isSurelyHere(trx, intent, cluster)) {
    return { answer: await endHere(trx, deps, { intent, cluster, admin, reason }), changed: cluster.id };
  }
  return { answer: await tellCluster(trx, deps, { intent, cluster, admin, reason }), changed: cluster.id };
}

/** Whether nothing of it can be outside of this database. */
async function isSurelyHere(trx: Kysely<Database>, intent: IntentRow, cluster: ClusterRow): Promise<boolean> {
  if (intent.state !== 'accepted' || intent.applied_at !== null) return false;
  if (intent.awaits_approval !== null) return true;
  const { connectivity_mode: mode } = cluster;
  // Without its proposal it is on no branch that a cluster reads.
  if (mode === 'gitops') return gitSettingsOf(cluster).review === 'proposal';
  if (mode === 'push') return false;
  const job = await trx.selectFrom('jobs').select('id').where('intent_id', '=', intent.id).limit(1).executeTakeFirst();
  return job === undefined;
}

interface Cancelling {
  readonly intent: IntentRow;
  readonly cluster: ClusterRow;
  readonly admin: AdminIdentity;
  readonly reason: string | undefined;
}

/** It ends where it waits. */
async function endHere(
  trx: Kysely<Database>,
  deps: CancelIntentDeps,
  { intent, cluster, admin, reason }: Cancelling,
): Promise<CancelledIntent> {
  const why = `${CANCELLED}: by ${admin.name} before it was delivered${reason === undefined ? '' : `: ${reason}`}`;
  const at = deps.clock.now().toISOString();
  const ended = { ...intent, state: 'failed', reason: why, awaits_approval: null } as const;
  const { state, reason: text, awaits_approval } = ended;
  await trx.updateTable('intents').set({ state, reason: text, awaits_approval }).where('id', '=', intent.id).execute();
  noteIntents(trx, [intent]);
  await withdrawApproval(trx, { intent, cluster, admin }, at);
  await audit(trx, { intent, cluster, admin, reason }, at, 'before it was delivered');
  return answerOf(ended);
}

/** Given or not: what was cancelled is not approved, and the configuration of its cluster carries no statement of it. */
async function withdrawApproval(
  trx: Kysely<Database>,
  { intent, cluster, admin }: Omit<Cancelling, 'reason'>,
  at: string,
): Promise<void> {
  const withdrawn = await trx
    .updateTable('approvals')
    .set({
      state: 'withdrawn',
      decided_at: at,
      reason: `cancelled by ${admin.name}`,
      statement: null,
      statement_kid: null,
    })
    .where('intent_id', '=', intent.id)
    .where('state', 'in', ['pending', 'approved'])
    .returning(OF_CHANGED)
    .execute();
  noteRows(trx, 'approvals', withdrawn);
  if (withdrawn.length > 0) await raiseConfigRevision(trx, cluster.id);
}

/** A new intent about the object: all that was asked for, and that it is to stop. */
async function tellCluster(
  trx: Kysely<Database>,
  deps: CancelIntentDeps,
  { intent, cluster, admin, reason }: Cancelling,
): Promise<CancelledIntent> {
  const now = deps.clock.now();
  const at = now.toISOString();
  const { cluster_id: clusterId, target_kind: kind, namespace, name } = intent;
  const target = { clusterId, kind, namespace, name };
  const last = (await lastIntentOf(trx, target)) ?? intent;
  const { reason: _asked, ...record } = parseExactJson(intent.record) as IntentRecord;
  const cancellation: IntentRecord = {
    ...record,
    id: newId('int', now, deps.randomBytes),
    generation: Math.max(last.generation, await reportedGenerationOf(trx, target)) + 1,
    cancel: true,
    requestedBy: admin.name,
    requestedAt: at,
    ...(reason === undefined ? {} : { reason }),
  };
  const row: IntentRow = {
    ...intent,
    id: cancellation.id,
    cancels: intent.id,
    generation: cancellation.generation,
    record: JSON.stringify(cancellation),
    idempotency_key: intentIdempotencyKey(cancellation),
    state: 'accepted',
    reason: null,
    requested_by: admin.name,
    // As it was rendered: an approval that it came with stays, and a cancellation needs none of its own.
    render_inputs: intent.render_inputs ?? '{}',
    awaits_approval: null,
    accepted_at: last.accepted_at > at ? last.accepted_at : at,
    delivered_at: null,
    applied_at: null,
    ready_at: null,
  };
  await insertIntent(trx, row);
  await withdrawApproval(trx, { intent, cluster, admin }, at);
  await audit(trx, { intent, cluster, admin, reason }, at, `by ${row.id}, generation ${row.generation}`);
  return answerOf(intent, row);
}

async function audit(
  trx: Kysely<Database>,
  { intent, cluster, admin, reason }: Cancelling,
  at: string,
  how: string,
): Promise<void> {
  await appendAudit(trx, {
    organizationId: intent.organization_id,
    at,
    source: 'user',
    kind: 'OperationCancelled',
    clusterId: cluster.id,
    actor: admin.name,
    summary: `${cluster.slug}: cancel ${intent.namespace}/${intent.name} (${intent.id}) ${how}`,
    intentId: intent.id,
    ...(reason === undefined ? {} : { reason }),
  });
}

async function intentOf(trx: Kysely<Database>, organizationId: string, id: string): Promise<IntentRow | undefined> {
  const query = trx.selectFrom('intents').selectAll();
  return await query.where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst();
}

/** The newest, where several were asked for. */
async function cancellationOf(trx: Kysely<Database>, intentId: string): Promise<IntentRow | undefined> {
  const query = trx.selectFrom('intents').selectAll().where('cancels', '=', intentId);
  return await query.orderBy('generation', 'desc').limit(1).executeTakeFirst();
}

function answerOf({ id, state, reason }: IntentRow, cancellation?: IntentRow): CancelledIntent {
  return {
    id,
    state,
    ...(reason === null ? {} : { reason }),
    ...(cancellation === undefined
      ? {}
      : {
          cancellation: { id: cancellation.id, generation: cancellation.generation, state: cancellation.state },
        }),
  };
}
