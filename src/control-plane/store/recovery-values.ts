import type { Kysely } from 'kysely';
import type { IntentRecord } from '../../intent/intent-record.ts';
import type { Database, IntentRow } from './schema.ts';

/** The sealed secret values of an application as it is desired now. */
export interface RecoverableValues {
  /** Of the intent. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** To the cluster's key. */
  readonly sealedValues: string;
  /** The same to the recovery key; absent where there was none when the intent was accepted. */
  readonly recoveryValues?: string;
}

/** Of each application of the cluster the newest intent, where it holds sealed values; in the order of their ids. */
export async function listRecoverableValues(
  db: Kysely<Database>,
  clusterId: string,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<RecoverableValues[]> {
  const found: RecoverableValues[] = [];
  for (let after = page.after; found.length < page.limit;) {
    const rows = await newestWithSealedText(db, clusterId, page.limit, after);
    for (const { record, recovery_values: recoveryValues, ...row } of rows) {
      const { sealedValues } = JSON.parse(record) as IntentRecord;
      // The text alone may be the name of some chart's value.
      if (sealedValues === undefined) continue;
      found.push({ ...row, sealedValues, ...(recoveryValues === null ? {} : { recoveryValues }) });
    }
    if (rows.length < page.limit) break;
    after = rows.at(-1)?.id;
  }
  return found.slice(0, page.limit);
}

async function newestWithSealedText(
  db: Kysely<Database>,
  clusterId: string,
  limit: number,
  after: string | undefined,
): Promise<Pick<IntentRow, 'id' | 'namespace' | 'name' | 'generation' | 'record' | 'recovery_values'>[]> {
  let query = db
    .selectFrom('intents')
    .select(['id', 'namespace', 'name', 'generation', 'record', 'recovery_values'])
    .where('cluster_id', '=', clusterId)
    .where('action', 'in', ['install', 'update'])
    .where('record', 'like', '%"sealedValues":%')
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
            .whereRef('newer.generation', '>', 'intents.generation'),
        ),
      ),
    )
    .orderBy('id')
    .limit(limit);
  if (after !== undefined) query = query.where('id', '>', after);
  return await query.execute();
}
