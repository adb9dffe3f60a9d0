import { must, mustBe, mustRefuse, isObject, type Check } from '../check.ts';
import { unknownClusterId } from '../agent-identity.ts';
import type { ClusterClient } from '../cluster-client.ts';
import type { Answer } from '../http-client.ts';
import { sampleClusterEvent, sampleEvent } from '../sample-event.ts';
import { DECISIONS, PAGE, SPEC } from '../sections.ts';
import type { Stage } from '../stage.ts';

const EVENTS = '/api/agent/events';

async function postEvents(cluster: ClusterClient, ...events: readonly unknown[]): Promise<Answer> {
  return await cluster.post(EVENTS, { cluster_id: cluster.id, events });
}

/** Events that the control plane has of a cluster of the suite's own, newest first. */
async function recorded(stage: Stage, cluster: ClusterClient): Promise<Record<string, unknown>[]> {
  const { items } = await stage.admin.succeed('GET', `/clusters/${cluster.id}/events?limit=100`);
  must(Array.isArray(items), 'a list of events');
  return items.filter(isObject);
}

/** What a post of events may hold, what it is answered, and what is kept of it. */
export const EVENT_CHECKS: readonly Check[] = [
  {
    id: 'events.takes-a-batch',
    section: SPEC.endpoints,
    heading: PAGE.events,
    sentence: 'a post of events is answered 204',
    run: async (stage) => {
      mustBe(await postEvents(await stage.cluster(), sampleEvent(), sampleEvent()), 204);
    },
  },
  {
    id: 'events.takes-a-replay',
    section: SPEC.events,
    heading: PAGE.keys,
    sentence: 'replay after a reconnect is safe: the same events are 204 again',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const event = sampleEvent();
      mustBe(await postEvents(cluster, event), 204);
      mustBe(await postEvents(cluster, event, event), 204);
    },
  },
  {
    id: 'events.empty-batch',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'an empty batch is 204',
    run: async (stage) => {
      mustBe(await postEvents(await stage.cluster()), 204);
    },
  },
  {
    id: 'events.every-kind',
    section: SPEC.events,
    heading: PAGE.events,
    sentence: 'every kind of the table is taken, about its kind of resource',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const about = [
        'CredentialRotated',
        'ClusterHeartbeat',
        'JobPayloadSignatureInvalid',
        'JobPayloadDecryptionFailed',
      ];
      const operations = ['Accepted', 'Blocked', 'Running', 'Succeeded', 'Failed'].map((word) =>
        sampleClusterEvent(`Operation${word}`, {
          resourceRef: {
            apiVersion: 'ops.service.io/v1alpha1',
            kind: 'Operation',
            namespace: 'conformance',
            name: 'op',
          },
        }),
      );
      mustBe(await postEvents(cluster, ...about.map((kind) => sampleClusterEvent(kind)), ...operations), 204);
    },
  },
  {
    id: 'events.unknown-kind',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'an unknown event kind is 400',
    run: async (stage) => {
      const answer = await postEvents(await stage.cluster(), sampleEvent({ kind: 'SomethingElse' }));
      mustRefuse(answer, 400, 'constraint_violated');
    },
  },
  {
    id: 'events.kind-of-resource',
    section: SPEC.events,
    heading: PAGE.events,
    sentence: 'a direct audit kind about another kind of resource is 400',
    run: async (stage) => {
      const { resourceRef } = sampleEvent();
      const event = sampleClusterEvent('CredentialRotated', { resourceRef });
      mustRefuse(await postEvents(await stage.cluster(), event), 400, 'constraint_violated');
    },
  },
  {
    id: 'events.required-fields',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence:
      'eventKey, kind, resourceRef.apiVersion, kind and name, and one condition with type and status are required',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const broken = [
        { eventKey: undefined },
        { eventKey: '' },
        { kind: undefined },
        { resourceRef: undefined },
        ...['apiVersion', 'kind', 'name'].map((name) => ({
          resourceRef: { ...(sampleEvent()['resourceRef'] as object), [name]: undefined },
        })),
        { conditions: undefined },
        { conditions: [] },
        { conditions: [{ type: 'Ready' }] },
        { conditions: [{ status: 'True' }] },
        { conditions: [{ type: 'Ready', status: 'Perhaps' }] },
      ];
      for (const changes of broken) {
        mustRefuse(await postEvents(cluster, plain(sampleEvent(changes))), 400, 'constraint_violated');
      }
    },
  },
  {
    id: 'events.unknown-status',
    section: DECISIONS.events,
    heading: PAGE.conditions,
    sentence: "a condition's status may be Unknown",
    run: async (stage) => {
      const event = sampleEvent({ conditions: [{ type: 'Ready', status: 'Unknown' }] });
      mustBe(await postEvents(await stage.cluster(), event), 204);
    },
  },
  {
    id: 'events.names-the-index',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'a 400 names the index of the bad event',
    run: async (stage) => {
      const events = [sampleEvent(), sampleEvent(), sampleEvent({ kind: 'SomethingElse' })];
      const answer = await postEvents(await stage.cluster(), ...events);
      mustRefuse(answer, 400, 'constraint_violated');
      must(answer.text.includes('/events/2/kind'), 'the path /events/2/kind', answer);
    },
  },
  {
    id: 'events.another-cluster',
    section: SPEC.rule(3),
    heading: PAGE.events,
    sentence: "a cluster_id that is not the credential's is 403",
    run: async (stage) => {
      const cluster = await stage.cluster();
      const answer = await cluster.post(EVENTS, { cluster_id: unknownClusterId(), events: [sampleEvent()] });
      mustRefuse(answer, 403, 'cluster_mismatch');
    },
  },
  {
    id: 'events.cluster-id-may-be-absent',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'cluster_id may be left out',
    run: async (stage) => {
      mustBe(await (await stage.cluster()).post(EVENTS, { events: [sampleEvent()] }), 204);
    },
  },
  {
    id: 'events.most-events',
    section: DECISIONS.events,
    heading: PAGE.limits,
    sentence: 'a post holds at most 500 events',
    run: async (stage) => {
      const cluster = await stage.cluster();
      const event = sampleEvent();
      mustBe(await postEvents(cluster, ...Array<unknown>(500).fill(event)), 204);
      mustRefuse(await postEvents(cluster, ...Array<unknown>(501).fill(event)), 400, 'constraint_violated');
    },
  },
  {
    id: 'events.recorded-once',
    section: SPEC.events,
    heading: PAGE.keys,
    sentence: 'the same event is recorded once however often it is posted, whatever its own timestamp',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const event = sampleEvent();
      const later = { ...event, timestamp: new Date(Date.now() + 1000).toISOString() };
      for (const post of [[event], [event, event], [later]]) mustBe(await postEvents(cluster, ...post), 204);
      const found = (await recorded(stage, cluster)).filter(({ eventKey }) => eventKey === event['eventKey']);
      must(found.length === 1, `one record, not ${found.length}`);
    },
  },
  {
    id: 'events.another-transition',
    section: DECISIONS.events,
    heading: PAGE.keys,
    sentence: 'the same key with another transition time, reason or message is a new record',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const event = sampleEvent();
      const [condition] = event['conditions'] as object[];
      const changes = [{}, { reason: 'Other' }, { message: 'other' }, { lastTransitionTime: '2026-01-01T00:00:00Z' }];
      for (const change of changes) {
        mustBe(await postEvents(cluster, { ...event, conditions: [{ ...condition, ...change }] }), 204);
      }
      const found = (await recorded(stage, cluster)).filter(({ eventKey }) => eventKey === event['eventKey']);
      must(found.length === changes.length, `${changes.length} records, not ${found.length}`);
    },
  },
  {
    id: 'events.all-or-nothing',
    section: DECISIONS.events,
    heading: PAGE.events,
    sentence: 'of a post with one bad event nothing is recorded',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const event = sampleEvent();
      mustRefuse(await postEvents(cluster, event, sampleEvent({ kind: 'Other' })), 400, 'constraint_violated');
      const found = (await recorded(stage, cluster)).filter(({ eventKey }) => eventKey === event['eventKey']);
      must(found.length === 0, 'no record');
    },
  },
  {
    id: 'events.durable-entry',
    section: 'Specification, Events (durable-entry rule)',
    heading: PAGE.events,
    sentence: 'a transition becomes an audit entry with source agent when it is high-signal, and otherwise not',
    needs: 'admin',
    run: async (stage) => {
      const cluster = await stage.other();
      const resourceRef = {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        namespace: 'n',
        name: 'o',
        uid: 'u',
      };
      const transition = (type: string, message: string): Record<string, unknown> =>
        sampleEvent({ resourceRef, eventKey: `k/${message}`, conditions: [{ type, status: 'True', message }] });
      const loud = `loud ${cluster.id}`;
      const quiet = `quiet ${cluster.id}`;
      mustBe(await postEvents(cluster, transition('Succeeded', loud), transition('Accepted', quiet)), 204);
      const { items } = await stage.admin.succeed('GET', `/audit?cluster=${cluster.id}&source=agent`);
      const summaries = (items as { summary: string }[]).map(({ summary }) => summary);
      must(
        summaries.some((summary) => summary.includes(loud)),
        'an entry for Succeeded/True',
      );
      must(!summaries.some((summary) => summary.includes(quiet)), 'none for Accepted/True');
    },
  },
];

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
