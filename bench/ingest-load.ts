import { randomBytes } from 'node:crypto';
import { insertPendingCluster } from '../src/control-plane/store/clusters.ts';
import { eventIngestStore } from '../src/control-plane/store/event-ingest-store.ts';
import { openStore, type Store } from '../src/control-plane/store/open-store.ts';
import type { ClusterRow } from '../src/control-plane/store/schema.ts';
import { checkEvents } from '../src/events/ingest/check-events.ts';
import { foldEvents } from '../src/events/ingest/fold-events.ts';
import { ingestEvents } from '../src/events/ingest/ingest-events.ts';
import { EventsRequest, type AgentEvent } from '../src/protocol/event.ts';
import { conditionTransitionKey, eventFingerprint } from '../src/protocol/event-key.ts';
import { compileParser } from '../src/protocol/parse.ts';
import { parseStrictJson } from '../src/protocol/strict-json.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createLogger } from '../src/runtime/logger.ts';

export const POSTS = 200;
export const EVENTS_PER_POST = 100;
const RESOURCES = 500;
/** Of all transitions, how many are high-signal and so become audit entries. */
const AUDITED = 0.1;

const parseBody = compileParser(EventsRequest);

function eventOf(round: number, number: number): AgentEvent {
  const audited = number % Math.round(1 / AUDITED) === 0;
  const resourceRef = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: `app-${number % RESOURCES}`,
    uid: `0b0ce2a1-9d3f-4c55-8e7a-${String(number % RESOURCES).padStart(12, '0')}`,
    generation: round * 1000 + Math.floor(number / RESOURCES),
  };
  const condition = {
    type: audited ? 'Succeeded' : 'Ready',
    status: 'True',
    reason: 'HelmReleaseReady',
    message: 'Helm install succeeded for release shop/podinfo.v1 with chart podinfo@6.5.0',
    lastTransitionTime: new Date(Date.UTC(2026, 2, 1) + number * 1000).toISOString(),
    observedGeneration: resourceRef.generation,
  } as const;
  return {
    eventKey: conditionTransitionKey(resourceRef, condition),
    kind: 'ConditionTransition',
    resourceRef,
    conditions: [condition],
    timestamp: condition.lastTransitionTime,
    sequence: `${round + 1}.${number + 1}`,
    source: { mode: 'gitops', epoch: 1, revision: 'a'.repeat(40), generation: 1 },
  };
}

/** The posts of a round, as they come over the wire. */
export function bodiesOf(round: number): Buffer[] {
  return Array.from({ length: POSTS }, (_, post) => {
    const events = Array.from({ length: EVENTS_PER_POST }, (_, index) =>
      eventOf(round, post * EVENTS_PER_POST + index),
    );
    return Buffer.from(JSON.stringify({ events }));
  });
}

/** The whole way of a post behind HTTP: strict JSON, schema, checks, record, fold, audit, COMMIT. */
export async function ingestPost(store: Store, cluster: ClusterRow, body: Buffer): Promise<void> {
  const { events } = parseBody(parseStrictJson(body));
  checkEvents(events);
  await store.write(async (trx) => {
    const ingest = eventIngestStore(trx, cluster, systemClock.now().toISOString());
    await ingestEvents({ store: ingest, deliveryEpoch: 1, events });
  });
}

export interface BareRows {
  readonly events: readonly (string | null)[][];
  readonly audit: readonly (string | null)[][];
  readonly conditions: readonly (string | number | null)[][];
}

/** The rows that ingest writes, made beforehand so that only the inserting is measured. */
export function rowsOf(round: number, clusterId: string): BareRows[] {
  const at = systemClock.now().toISOString();
  return Array.from({ length: POSTS }, (_, post) => {
    const events = Array.from({ length: EVENTS_PER_POST }, (_, index) =>
      eventOf(round, post * EVENTS_PER_POST + index),
    );
    return {
      events: events.map((event) =>
        [
          [clusterId, event.eventKey, eventFingerprint(event), event.kind, JSON.stringify(event.resourceRef)],
          [JSON.stringify(event.conditions), event.timestamp ?? null, event.sequence ?? null],
          [JSON.stringify(event.source), at],
        ].flat(),
      ),
      audit: events
        .filter(({ conditions: [condition] }) => condition?.type === 'Succeeded')
        .map(({ kind }) => [
          'org',
          at,
          'agent',
          kind,
          clusterId,
          null,
          'Succeeded (HelmReleaseReady): Helm install succeeded',
          'HelmReleaseReady',
          null,
        ]),
      conditions: foldEvents(events).map(({ uid, event: { resourceRef, source }, condition, orderKey }) =>
        [
          [clusterId, uid, condition.type, resourceRef.apiVersion, resourceRef.kind, resourceRef.namespace ?? ''],
          [resourceRef.name, condition.status, condition.reason ?? null, condition.message ?? null],
          [condition.lastTransitionTime ?? null, resourceRef.generation ?? null, orderKey],
          [JSON.stringify(source), at],
        ].flat(),
      ),
    };
  });
}

/** A store with clusters that are registered for nothing. */
export async function openSeeded(
  url: string,
  count = 1,
): Promise<{ store: Store; cluster: ClusterRow; clusters: readonly ClusterRow[] }> {
  const store = await openStore({ url, clock: systemClock, logger: createLogger('bench', 'silent') });
  const clusters: ClusterRow[] = [];
  await store.write(async (trx) => {
    await trx.insertInto('organizations').values({ id: 'org', name: 'org', created_at: '' }).execute();
  });
  for (let number = 0; number < count; number += 1) {
    clusters.push(
      await store.write(
        async (trx) =>
          await insertPendingCluster(trx, {
            id: `c-${randomBytes(8).toString('hex')}`,
            organization_id: 'org',
            slug: `bench-${number}`,
            display_name: 'bench',
            connectivity_mode: 'gitops',
            allowed_namespaces: '[]',
            allowed_catalog_entries: '[]',
            allowed_operation_templates: '[]',
            security: '{}',
            intervals: '{}',
            repository_id: null,
            git_directory: null,
            created_at: '',
          }),
      ),
    );
  }
  const [cluster] = clusters;
  if (cluster === undefined) throw new Error('a bench needs a cluster');
  return { store, cluster, clusters };
}
