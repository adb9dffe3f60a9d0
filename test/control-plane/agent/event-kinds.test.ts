import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_EVENT_POST_BYTES } from '../../../src/protocol/event.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

const EVENTS = '/api/agent/events';
const KINDS = ['ApplicationInstance', 'Operation', 'Cluster'] as const;
const AT = '2026-03-01T10:00:00Z';

/** The specification's table of event kinds, with the two that it names beside it. */
const TABLE: readonly (readonly [kind: string, about: readonly string[], audited: boolean])[] = [
  ['ConditionTransition', KINDS, false],
  ['CredentialRotated', ['Cluster'], true],
  ['OperationAccepted', ['Operation'], true],
  ['OperationBlocked', ['Operation'], true],
  ['OperationRunning', ['Operation'], true],
  ['OperationSucceeded', ['Operation'], true],
  ['OperationFailed', ['Operation'], true],
  ['JobPayloadSignatureInvalid', ['Cluster'], true],
  ['JobPayloadDecryptionFailed', ['Cluster'], true],
  ['ClusterHeartbeat', ['Cluster'], false],
];

const HIGH_SIGNAL = ['Succeeded', 'Failed', 'Running', 'Cancelled', 'Blocked', 'Connected', 'Disconnected'];

let server: AgentServer;
let agent: Agent;
let number = 0;

function event(kind: string, about: string, ...conditions: readonly object[]): Record<string, unknown> {
  number += 1;
  return {
    eventKey: `key-${number}`,
    kind,
    resourceRef: { apiVersion: 'ops.service.io/v1alpha1', kind: about, name: 'a', uid: `uid-${number}` },
    conditions: conditions.length === 0 ? [{ type: 'Ready', status: 'True' }] : conditions,
    timestamp: AT,
  };
}

async function post(...events: readonly object[]): Promise<Answer> {
  return await server.post(agent, EVENTS, { events });
}

async function audited(key: unknown): Promise<{ summary: string; reason: string | null; kind: string } | undefined> {
  return await server.store.db
    .selectFrom('audit')
    .innerJoin('events', 'events.seq', 'audit.event_seq')
    .select(['audit.summary', 'audit.reason', 'audit.kind'])
    .where('events.event_key', '=', String(key))
    .executeTakeFirst();
}

beforeAll(async () => {
  server = await AgentServer.start({ events: 10_000 });
  agent = await server.newAgent('prod-eu');
});
afterAll(async () => await server[Symbol.asyncDispose]());

describe.for(TABLE)('an event of kind %s', ([kind, about, isAudited]) => {
  it.for(KINDS)('is taken or refused about %s as the table has it', async (resource) => {
    const sent = event(kind, resource);
    const answer = await post(sent);
    if (about.includes(resource)) {
      expect(answer.status).toBe(204);
      const entry = await audited(sent['eventKey']);
      expect(entry).toEqual(isAudited ? { kind, summary: `${kind}: Ready`, reason: null } : undefined);
    } else {
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'constraint_violated', faults: [{ path: '/events/0/resourceRef/kind', allowed: about }] },
      });
    }
  });
});

describe('the durable-entry rule of transitions', () => {
  it.for(KINDS.flatMap((kind) => HIGH_SIGNAL.map((type) => [kind, type] as const)))(
    'makes an entry of %s %s/True and of no other status',
    async ([about, type]) => {
      for (const status of ['True', 'False', 'Unknown']) {
        const condition = { type, status, reason: 'Because', message: 'in words' };
        const sent = event('ConditionTransition', about, condition);
        expect((await post(sent)).status).toBe(204);
        const entry = { kind: 'ConditionTransition', summary: `${type} (Because): in words`, reason: 'Because' };
        expect(await audited(sent['eventKey'])).toEqual(status === 'True' ? entry : undefined);
      }
    },
  );

  it('is met by one of several conditions, and only that one is summarised', async () => {
    const sent = event(
      'ConditionTransition',
      'Operation',
      { type: 'Accepted', status: 'True', reason: 'Other' },
      { type: 'Failed', status: 'True', reason: 'BackupFailed' },
    );
    await post(sent);
    expect(await audited(sent['eventKey'])).toMatchObject({ summary: 'Failed (BackupFailed)', reason: 'BackupFailed' });
  });

  it.for(['Ready', 'Degraded', 'Authenticated', 'BufferOverflow', 'ControllersHealthy', 'succeeded'])(
    'is not met by %s',
    async (type) => {
      const sent = event('ConditionTransition', 'Cluster', { type, status: 'True', reason: 'Because' });
      await post(sent);
      expect(await audited(sent['eventKey'])).toBeUndefined();
    },
  );
});

describe('a post of events', () => {
  it('is 204 without any', async () => {
    expect(await post()).toMatchObject({ status: 204, body: undefined });
  });

  it.for([
    ['timestamp', { timestamp: '2026-02-30T10:00:00Z' }, '/events/1/timestamp'],
    ['timestamp', { timestamp: 'yesterday' }, '/events/1/timestamp'],
    [
      'transition time',
      { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-04-31T10:00:00Z' }] },
      '/events/1/conditions/0/lastTransitionTime',
    ],
  ] as const)('is refused for a %s that is no time, by its path', async ([, change, path]) => {
    const answer = await post(event('ClusterHeartbeat', 'Cluster'), {
      ...event('ClusterHeartbeat', 'Cluster'),
      ...change,
    });
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated', faults: [{ path }] } });
  });

  it.for(['2026-12-31T23:59:60Z', '2026-03-01t10:00:00.123456789z', '2024-02-29T12:00:00+02:00'])(
    'takes the time %s',
    async (timestamp) => {
      expect((await post({ ...event('ClusterHeartbeat', 'Cluster'), timestamp })).status).toBe(204);
    },
  );

  it('takes one of just 1 MiB and refuses the next byte with the limit', async () => {
    const body = { events: [event('ConditionTransition', 'Cluster')], pad: '' };
    const room = MAX_EVENT_POST_BYTES - Buffer.byteLength(JSON.stringify(body));
    const full = await server.post(agent, EVENTS, { ...body, pad: 'x'.repeat(room) });
    expect(full.status).toBe(204);
    const over = await server.post(agent, EVENTS, { ...body, pad: 'x'.repeat(room + 1) });
    expect(over).toMatchObject({
      status: 413,
      body: { error: 'payload_too_large', message: expect.stringContaining(String(MAX_EVENT_POST_BYTES)) as string },
    });
  });

  it('says of every event what is wrong with it', async () => {
    const answer = await post(
      event('CredentialRotated', 'Operation'),
      event('ClusterHeartbeat', 'Cluster'),
      event('OperationFailed', 'Cluster'),
    );
    expect(answer.body).toMatchObject({
      faults: [{ path: '/events/0/resourceRef/kind' }, { path: '/events/2/resourceRef/kind' }],
    });
  });
});
