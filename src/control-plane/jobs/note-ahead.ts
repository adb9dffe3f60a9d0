import type { Kysely } from 'kysely';
import { intentIdsOf } from '../../events/ingest/move-intents.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { compareSource, type SourcePair } from '../../resources/source-annotation.ts';
import { noteJobs, OF_CHANGED_JOB } from '../store/changes.ts';
import { appendAudit } from '../store/audit.ts';
import { raiseConfigRevision } from '../store/clusters.ts';
import { redeliverIntent } from '../store/intent-redelivery.ts';
import { lastIntentOf, type IntentTarget } from '../store/intents.ts';
import { closeJob } from '../store/jobs.ts';
import {
  overtakenIntents,
  recordReportedGeneration,
  reportedGenerationOf,
  unknownIntents,
} from '../store/reported-generations.ts';
import type { ClusterRow, Database } from '../store/schema.ts';
import { supersede, wasAskedForLater } from './number-on.ts';

/**
 * How far a report may be ahead of what is known here. A backup does not miss more intents of one object, nor more epochs.
 * Relative, so that one false number can neither use the numbers up nor lead to where the next ones would not be believed.
 */
export const MAX_AHEAD = 1_000_000;

/** What a cluster has of an object, made by an intent that is not known here. */
export interface ReportedAhead {
  readonly target: IntentTarget;
  readonly pair: SourcePair;
  readonly intentId: string | undefined;
}

/** What the caller does after the commit. */
export interface Ahead {
  /** Intents wait for delivery again: notify the delivery topic. */
  readonly redelivered: boolean;
  /** Notify the cluster's config topic: the epoch was raised. */
  readonly configChanged: boolean;
}

/** The kinds that intents are about. */
const KINDS: readonly string[] = ['ApplicationInstance', 'Operation'];

/**
 * Learns from a post of events what a control plane that was restored from an older backup has forgotten: intents that it
 * does not know, generations and a delivery epoch above its own. Nothing is recreated and nothing is taken back; numbers go
 * on from what the cluster has. Nearly always one query that finds every intent known.
 */
export async function noteAhead(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  events: readonly AgentEvent[],
  at: string,
): Promise<Ahead> {
  const epoch = highestEpoch(events, cluster.delivery_epoch + MAX_AHEAD);
  const raised = epoch > cluster.delivery_epoch ? await raiseDeliveryEpoch(trx, cluster, epoch, at) : undefined;
  const unknown = await unknownIntents(trx, cluster.id, intentIdsOf(events));
  let redelivered = raised?.redelivered ?? false;
  if (unknown.size > 0) {
    for (const reports of ofEachObject(cluster.id, events, unknown)) {
      const ahead = await highestBelieved(trx, cluster, reports);
      if (ahead !== undefined && (await noteReported(trx, cluster, ahead, at)).redelivered) redelivered = true;
    }
  }
  return { redelivered, configChanged: raised !== undefined };
}

/** One object: remembers the number, tells of it once, and settles the intents that were delivered below it. */
export async function noteReported(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  { target, pair, intentId }: ReportedAhead,
  at: string,
): Promise<{ readonly redelivered: boolean }> {
  const known = (await lastIntentOf(trx, target))?.generation ?? 0;
  const isNews = await recordReportedGeneration(trx, {
    cluster_id: cluster.id,
    target_kind: target.kind,
    namespace: target.namespace,
    name: target.name,
    generation: pair.generation,
    delivery_epoch: pair.epoch,
    intent_id: intentId ?? null,
    reported_at: at,
  });
  if (!isNews) return { redelivered: false };
  const object = `${target.kind} ${target.namespace}/${target.name}`;
  await appendAudit(trx, {
    organizationId: cluster.organization_id,
    at,
    source: 'agent',
    kind: 'ClusterAhead',
    clusterId: cluster.id,
    summary:
      `${cluster.slug}: has generation ${pair.generation} of ${object} by an intent that is not known here (known: ${known}); ` +
      'this control plane was restored from an older backup, and numbering goes on from there',
    ...(intentId === undefined ? {} : { reason: intentId }),
  });
  let redelivered = false;
  for (const overtaken of await overtakenIntents(trx, { target, states: ['delivered', 'applied'] })) {
    await closeOpenJobs(trx, overtaken.intent.id, 'superseded: the cluster has a newer generation of the object', at);
    if (!wasAskedForLater(overtaken)) await supersede(trx, overtaken, at);
    // The delivery loop numbers it on.
    else if (await redeliverIntent(trx, overtaken.intent.id, 'the cluster took it for old')) redelivered = true;
  }
  return { redelivered };
}

/**
 * The same from the result of one job, which alone tells of an object since deleted. Without an intent id what counts is
 * whether an intent here ever had the number.
 *
 * @returns undefined when the intent, or the number, is known here; `not believed` when it is too far from what is
 */
export async function noteSource(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  reported: { readonly target: IntentTarget; readonly source: SourcePair & { readonly intentId?: string } },
  at: string,
): Promise<{ readonly redelivered: boolean } | 'not believed' | undefined> {
  const { target, source } = reported;
  const { epoch, generation, intentId } = source;
  if (generation < 1) return undefined;
  const isKnown =
    intentId === undefined
      ? generation <= ((await lastIntentOf(trx, target))?.generation ?? 0)
      : (await unknownIntents(trx, cluster.id, [intentId])).size === 0;
  if (isKnown) return undefined;
  const ahead = { target, pair: { epoch, generation }, intentId };
  if ((await highestBelieved(trx, cluster, [ahead])) === undefined) return 'not believed';
  const raised = epoch > cluster.delivery_epoch ? await raiseDeliveryEpoch(trx, cluster, epoch, at) : undefined;
  const noted = await noteReported(trx, cluster, ahead, at);
  return { redelivered: noted.redelivered || raised?.redelivered === true };
}

/**
 * The fence goes up to what the cluster has seen. Jobs below it are closed and their intents delivered anew: the operator
 * would take them for work of an older epoch.
 */
async function raiseDeliveryEpoch(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  epoch: number,
  at: string,
): Promise<{ readonly redelivered: boolean }> {
  await trx.updateTable('clusters').set({ delivery_epoch: epoch }).where('id', '=', cluster.id).execute();
  await raiseConfigRevision(trx, cluster.id);
  await appendAudit(trx, {
    organizationId: cluster.organization_id,
    at,
    source: 'agent',
    kind: 'DeliveryEpochRaised',
    clusterId: cluster.id,
    summary: `${cluster.slug}: delivery epoch raised from ${cluster.delivery_epoch} to ${epoch}, which the cluster has seen; this control plane was restored from an older backup`,
  });
  const open = await trx
    .selectFrom('jobs')
    .select(['id', 'intent_id'])
    .where('cluster_id', '=', cluster.id)
    .where('state', 'in', ['pending', 'delivered', 'acknowledged'])
    .where('delivery_epoch', '<', epoch)
    .execute();
  let redelivered = false;
  for (const { id, intent_id: intentId } of open) {
    const error = `superseded: the delivery epoch was raised to ${epoch}`;
    await closeJob(trx, id, { outcome: 'noop', error, applied_ref: null }, at);
    if (await redeliverIntent(trx, intentId, `the delivery epoch was raised to ${epoch}`)) redelivered = true;
  }
  return { redelivered };
}

async function closeOpenJobs(trx: Kysely<Database>, intentId: string, error: string, at: string): Promise<void> {
  const closed = await trx
    .updateTable('jobs')
    .set({ state: 'closed', closed_at: at, outcome: 'noop', error })
    .where('intent_id', '=', intentId)
    .where('state', '!=', 'closed')
    .returning(OF_CHANGED_JOB)
    .execute();
  noteJobs(trx, closed);
}

function highestEpoch(events: readonly AgentEvent[], bound: number): number {
  let highest = 0;
  for (const { source } of events) {
    const epoch = source?.epoch ?? 0;
    if (epoch > highest && epoch <= bound) highest = epoch;
  }
  return highest;
}

/** Of the reports of one object the highest that is not too far from what is known here. */
async function highestBelieved(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  reports: readonly ReportedAhead[],
): Promise<ReportedAhead | undefined> {
  const [first] = reports;
  if (first === undefined) return undefined;
  const last = (await lastIntentOf(trx, first.target))?.generation ?? 0;
  const bound = Math.max(last, await reportedGenerationOf(trx, first.target)) + MAX_AHEAD;
  return reports
    .filter(({ pair }) => pair.generation <= bound && pair.epoch <= cluster.delivery_epoch + MAX_AHEAD)
    .toSorted((a, b) => compareSource(b.pair, a.pair))
    .at(0);
}

/** Of each object what unknown intents made. */
function ofEachObject(
  clusterId: string,
  events: readonly AgentEvent[],
  unknown: ReadonlySet<string>,
): readonly (readonly ReportedAhead[])[] {
  const found = new Map<string, ReportedAhead[]>();
  for (const { source, resourceRef } of events) {
    const { intentId, generation = 0, epoch = 0 } = source ?? {};
    if (intentId === undefined || !unknown.has(intentId) || !KINDS.includes(resourceRef.kind)) continue;
    if (generation < 1) continue;
    const { kind, namespace = '', name } = resourceRef;
    const key = `${kind}/${namespace}/${name}`;
    const reports = found.get(key) ?? [];
    reports.push({ target: { clusterId, kind, namespace, name }, pair: { epoch, generation }, intentId });
    found.set(key, reports);
  }
  return [...found.values()];
}
