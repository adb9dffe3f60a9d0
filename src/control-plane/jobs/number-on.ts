import type { Kysely } from 'kysely';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { intentIdempotencyKey } from '../../intent/intent-key.ts';
import type { IntentRecord } from '../../intent/intent-record.ts';
import { isLaterIntent } from '../../resources/intent-ids.ts';
import { appendAudit } from '../store/audit.ts';
import type { AuditKind } from '../store/audit-kinds.ts';
import type { Store } from '../store/open-store.ts';
import { overtakenIntents, type OvertakenIntent } from '../store/reported-generations.ts';
import { noteIntents } from '../store/changes.ts';
import type { Database, IntentRow } from '../store/schema.ts';

/**
 * Before intents are delivered: those whose numbers the cluster has seen already, from intents that are not known here, are
 * numbered on above them or superseded. That happens after this control plane was restored from an older backup; else the
 * table of reported generations is empty.
 *
 * @returns ids of the intents that changed: they are to be read again
 */
export async function numberOn(store: Store, ids: readonly string[], at: string): Promise<readonly string[]> {
  if ((await overtakenIntents(store.db, { ids })).length === 0) return [];
  return await store.write(async (trx) => {
    const overtaken = await overtakenIntents(trx, { ids });
    for (const one of overtaken) {
      if (wasAskedForLater(one)) await numberAbove(trx, one, at);
      else await supersede(trx, one, at);
    }
    return overtaken.map(({ intent }) => intent.id);
  });
}

/** Whether the intent was accepted after the one that the cluster has. What cannot be told is taken for older. */
export function wasAskedForLater({ intent, reported }: OvertakenIntent): boolean {
  return isLaterIntent(intent.id, reported.intent_id ?? '');
}

/** The intent is older than what the cluster has: bringing it about would undo something newer. */
export async function supersede(
  trx: Kysely<Database>,
  { intent, reported }: OvertakenIntent,
  at: string,
): Promise<void> {
  const by = reported.intent_id === null ? 'an intent' : `intent ${reported.intent_id}`;
  const reason =
    `RestoredFromBackup: the cluster has generation ${reported.generation} of ${intent.namespace}/${intent.name}, by ${by} that ` +
    'this control plane no longer knows; this intent is older, or not known to be newer. Ask again for what you want';
  await trx.updateTable('intents').set({ state: 'superseded', reason }).where('id', '=', intent.id).execute();
  noteIntents(trx, [intent]);
  await tell(trx, intent, at, 'IntentSuperseded', reason);
}

async function numberAbove(trx: Kysely<Database>, { intent, reported }: OvertakenIntent, at: string): Promise<void> {
  const highest = await trx
    .selectFrom('intents')
    .select((eb) => eb.fn.max('generation').as('generation'))
    .where('cluster_id', '=', intent.cluster_id)
    .where('target_kind', '=', intent.target_kind)
    .where('namespace', '=', intent.namespace)
    .where('name', '=', intent.name)
    .executeTakeFirstOrThrow();
  const generation = Math.max(highest.generation, reported.generation) + 1;
  const record: IntentRecord = { ...(parseExactJson(intent.record) as IntentRecord), generation };
  const reason =
    `NumberedOn: generation ${generation} instead of ${intent.generation}; the cluster has ${reported.generation} by ` +
    'an intent that this control plane, restored from a backup, no longer knows';
  await trx
    .updateTable('intents')
    .set({ generation, record: JSON.stringify(record), idempotency_key: intentIdempotencyKey(record), reason })
    .where('id', '=', intent.id)
    .execute();
  noteIntents(trx, [intent]);
  await tell(trx, intent, at, 'IntentNumberedOn', reason);
}

async function tell(
  trx: Kysely<Database>,
  intent: IntentRow,
  at: string,
  kind: AuditKind,
  reason: string,
): Promise<void> {
  await appendAudit(trx, {
    organizationId: intent.organization_id,
    at,
    source: 'agent',
    kind,
    clusterId: intent.cluster_id,
    summary: `intent ${intent.id}: ${intent.action} ${intent.namespace}/${intent.name}`,
    intentId: intent.id,
    reason,
  });
}
