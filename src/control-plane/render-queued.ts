import { parseExactJson } from '../protocol/exact-json.ts';
import type { Kysely } from 'kysely';
import type { DeliveryItem, Receipt } from '../delivery/delivery.ts';
import type { IntentRecord } from '../intent/intent-record.ts';
import { MAX_MANIFEST_BYTES } from '../intent/rendered.ts';
import { renderIntent, type RenderInputs } from '../intent/render.ts';
import type { EventSource } from '../protocol/event.ts';
import { renderInputsOf } from './accept-intent.ts';
import { approvalsOfIntents } from './store/approvals.ts';
import { findCatalogEntry, type StoredCatalogEntry } from './store/catalog-entries.ts';
import type { QueuedIntent } from './store/delivery-queue.ts';
import { reportedWhen } from './store/reported-when.ts';
import type { Database } from './store/schema.ts';

/** The catalog entry changed or went since the intent was accepted, so that it can no longer be rendered. */
export const NOT_RENDERABLE = 'NotRenderable';

export interface RenderedBatch {
  readonly rendered: readonly DeliveryItem[];
  /** Those that cannot be rendered, each with why. */
  readonly refused: readonly Extract<Receipt, { state: 'refused' }>[];
}

/**
 * Renders a batch with the catalog and the reports as they are now. What is handed over is rendered with those of its first
 * delivery, as far as they were kept: a switch of mode changes nothing that was not asked for.
 */
export async function renderQueued(db: Kysely<Database>, batch: readonly QueuedIntent[]): Promise<RenderedBatch> {
  const entries = new Map<string, StoredCatalogEntry | undefined>();
  const rendered: DeliveryItem[] = [];
  const refused: Extract<Receipt, { state: 'refused' }>[] = [];
  const approvals = await approvalsOfIntents(
    db,
    batch.map(({ id }) => id),
  );
  const inputsNow = async (queued: QueuedIntent, record: IntentRecord): Promise<RenderInputs> => {
    const entryKey = `${queued.organization_id} ${record.catalogEntry}`;
    if (record.catalogEntry !== undefined && !entries.has(entryKey)) {
      entries.set(entryKey, await findCatalogEntry(db, queued.organization_id, record.catalogEntry));
    }
    const uid = record.action === 'uninstall' ? await uidOf(db, queued) : undefined;
    return {
      ...renderInputsOf(entries.get(entryKey)),
      ...(uid === undefined ? {} : { uid }),
      ...(approvals.has(queued.id) ? { approval: { required: true } } : {}),
    };
  };
  for (const queued of batch) {
    const record = parseExactJson(queued.record) as IntentRecord;
    const isHandover = queued.handover !== null;
    // What was approved is delivered as it was looked at.
    const isCancellation = typeof queued.cancels === 'string';
    const isKept = isHandover || isCancellation || approvals.get(queued.id)?.state === 'approved';
    const inputs = (isKept ? inputsKept(queued) : undefined) ?? (await inputsNow(queued, record));
    const target = { clusterId: queued.cluster_id, slug: queued.slug, deliveryEpoch: queued.delivery_epoch };
    try {
      const one = renderIntent(record, target, inputs);
      const bytes = Buffer.byteLength(one.text, 'utf8');
      if (bytes > MAX_MANIFEST_BYTES)
        throw new Error(`the manifest has ${bytes} bytes, more than ${MAX_MANIFEST_BYTES}`);
      const isBrought = isHandover ? queued.action !== 'uninstall' : queued.action === 'operate';
      const wasApplied = isBrought && (await wasInCluster(db, queued));
      rendered.push({ ...one, inputs, ...(isHandover ? { isHandover } : {}), ...(wasApplied ? { wasApplied } : {}) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      refused.push({ state: 'refused', intentId: queued.id, reason: NOT_RENDERABLE, message });
    }
  }
  return { rendered, refused };
}

/** The API server took it, or the cluster told of it; where the receipt was lost, by what it told. */
async function wasInCluster(db: Kysely<Database>, queued: QueuedIntent): Promise<boolean> {
  if (queued.applied_at !== null) return true;
  const told = await db
    .selectFrom('resource_conditions')
    .select('uid')
    .where('cluster_id', '=', queued.cluster_id)
    .where('kind', '=', queued.target_kind)
    .where('namespace', '=', queued.namespace)
    .where('name', '=', queued.name)
    .where('source', 'like', `%${JSON.stringify(queued.id)}%`)
    .limit(1)
    .executeTakeFirst();
  return told !== undefined;
}

/** A deletion that named no object names the one that was reported since. */
function inputsKept({ render_inputs: text, action }: QueuedIntent): RenderInputs | undefined {
  const kept = text === null ? undefined : (parseExactJson(text) as RenderInputs);
  return action === 'uninstall' && kept?.uid === undefined ? undefined : kept;
}

/**
 * UID of the object as the cluster last reported it: then the tombstone names that incarnation and no other. One that was
 * reported for an earlier installation under the same name is gone, and naming it would make the uninstall do nothing.
 */
async function uidOf(db: Kysely<Database>, queued: QueuedIntent): Promise<string | undefined> {
  const install = await db
    .selectFrom('intents')
    .select('generation')
    .where('cluster_id', '=', queued.cluster_id)
    .where('target_kind', '=', queued.target_kind)
    .where('namespace', '=', queued.namespace)
    .where('name', '=', queued.name)
    .where('action', '=', 'install')
    .where('generation', '<', queued.generation)
    .orderBy('generation', 'desc')
    .limit(1)
    .executeTakeFirst();
  const reported = await db
    .selectFrom('resource_conditions')
    .select(['uid', 'source'])
    .where('cluster_id', '=', queued.cluster_id)
    .where('kind', '=', queued.target_kind)
    .where('namespace', '=', queued.namespace)
    .where('name', '=', queued.name)
    // A resource that was reported without its UID stands under `<kind>/<namespace>/<name>`.
    .where('uid', 'not like', '%/%')
    .orderBy(reportedWhen('resource_conditions'), 'desc')
    .orderBy('updated_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const { generation = 0 } = JSON.parse(reported?.source ?? '{}') as EventSource;
  return install === undefined || generation < install.generation ? undefined : reported?.uid;
}
