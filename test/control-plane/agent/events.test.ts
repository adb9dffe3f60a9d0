import { describe, expect, it } from 'vitest';
import { listEvents } from '../../../src/control-plane/store/events.ts';
import { listConditions } from '../../../src/control-plane/store/resource-conditions.ts';
import type { IntentState } from '../../../src/control-plane/store/schema.ts';
import type { Condition } from '../../../src/protocol/condition.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { conditionTransitionKey } from '../../../src/protocol/event-key.ts';
import { AgentServer, type Agent } from './agent-server.ts';

const EVENTS = '/api/agent/events';
const APP = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo' };
const CLUSTER = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'prod-eu', uid: 'cluster-uid' };

function transition(
  condition: Condition,
  more: Partial<Omit<AgentEvent, 'resourceRef'>> & { readonly resourceRef?: AgentEvent['resourceRef'] } = {},
): AgentEvent {
  const resourceRef = more.resourceRef ?? { ...APP, uid: 'app-uid', generation: 1 };
  return {
    eventKey: conditionTransitionKey(resourceRef, condition),
    kind: 'ConditionTransition',
    conditions: [{ lastTransitionTime: '2026-03-01T10:00:00Z', ...condition }],
    timestamp: '2026-03-01T10:00:01Z',
    ...more,
    resourceRef,
  };
}

async function counts(server: AgentServer): Promise<Record<string, number>> {
  const { db } = server.store;
  return {
    events: (await db.selectFrom('events').select('seq').execute()).length,
    conditions: (await db.selectFrom('resource_conditions').select('uid').execute()).length,
    audit: (await db.selectFrom('audit').select('id').where('kind', '<>', 'ClusterRegistered').execute()).length,
  };
}

async function newIntent(
  server: AgentServer,
  agent: Agent,
  id: string,
  state: IntentState = 'delivered',
): Promise<void> {
  await server.store.write(async (trx) => {
    const { length } = await trx.selectFrom('intents').select('id').execute();
    await trx
      .insertInto('intents')
      .values({
        id,
        organization_id: 'org-1',
        cluster_id: agent.id,
        target_kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
        generation: length + 1,
        action: 'install',
        record: '{}',
        idempotency_key: `intent/${id}`,
        state,
        requested_by: 'admin',
        accepted_at: server.clock.now().toISOString(),
        reason: null,
        delivered_at: null,
        applied_at: null,
        ready_at: null,
      })
      .execute();
  });
}

describe('POST /api/agent/events', () => {
  it('records a post once however often it is sent, and keeps status, audit and events together', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const events = [
      transition({ type: 'Ready', status: 'True', reason: 'HelmReleaseReady', message: 'released' }),
      transition({ type: 'Connected', status: 'True', reason: 'Polling' }, { resourceRef: CLUSTER, sequence: '1.7' }),
      transition({ type: 'Ready', status: 'True', reason: 'HelmReleaseReady', message: 'released' }),
    ];
    for (let post = 0; post < 3; post += 1) {
      expect((await server.post(agent, EVENTS, { cluster_id: agent.id, events })).status).toBe(204);
      server.clock.advance(60_000);
    }
    expect(await counts(server)).toEqual({ events: 2, conditions: 2, audit: 1 });
    const [connected] = await listEvents(server.store.db, agent.id, { limit: 1 });
    expect(connected).toMatchObject({
      event_key: events[1]?.eventKey,
      sequence: '1.7',
      received_at: '2026-03-01T10:00:00.000Z',
    });
    const audit = await server.store.db.selectFrom('audit').selectAll().orderBy('id', 'desc').executeTakeFirstOrThrow();
    expect(audit).toMatchObject({
      organization_id: 'org-1',
      source: 'agent',
      kind: 'ConditionTransition',
      cluster_id: agent.id,
      actor: null,
      summary: 'Connected (Polling)',
      reason: 'Polling',
      event_seq: connected?.seq,
    });
  });

  it('takes the newest word on where a status comes from out of an event that is recorded already', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const ready = { type: 'Ready', status: 'True', reason: 'HelmReleaseReady' } as const;
    const by = (epoch: number): NonNullable<AgentEvent['source']> => ({ mode: 'gitops', epoch, generation: 1 });
    const first = transition(ready, { sequence: '1.7', source: by(1) });
    const again = transition(ready, { sequence: '1.9', source: by(2) });
    for (const event of [first, again, first]) await server.post(agent, EVENTS, { events: [event] });
    expect(await counts(server)).toEqual({ events: 1, conditions: 1, audit: 1 });
    const [condition] = await listConditions(server.store.db, agent.id);
    expect(JSON.parse(condition?.source ?? '')).toEqual(by(2));
  });

  it('records the same key again when transition, reason or message differ', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const first = transition({ type: 'Connected', status: 'True' }, { resourceRef: CLUSTER });
    const later = transition(
      { type: 'Connected', status: 'True', lastTransitionTime: '2026-03-01T11:00:00Z' },
      { resourceRef: CLUSTER },
    );
    expect(later.eventKey).toBe(first.eventKey);
    await server.post(agent, EVENTS, { events: [first, later] });
    await server.post(agent, EVENTS, { events: [{ ...first, timestamp: '2026-03-01T12:00:00Z' }] });
    expect(await counts(server)).toMatchObject({ events: 2, audit: 2 });
  });

  it('never lets a late old event overwrite a newer state, in one post or in many', async () => {
    await using server = await AgentServer.start();
    const newest = transition({ type: 'Ready', status: 'True', reason: 'C' }, { sequence: '2.1' });
    const middle = transition({ type: 'Ready', status: 'False', reason: 'B' }, { sequence: '1.9' });
    const oldest = transition({ type: 'Ready', status: 'True', reason: 'A' }, { sequence: '1.10' });
    const unnumbered = transition({ type: 'Ready', status: 'False', reason: 'D' });
    const orders = [
      [[newest, middle, oldest, unnumbered]],
      [[unnumbered], [oldest], [middle], [newest]],
      [[middle], [newest, unnumbered], [oldest]],
    ];
    for (const [index, posts] of orders.entries()) {
      const agent = await server.newAgent(`cluster-${index}`);
      for (const events of posts) await server.post(agent, EVENTS, { events });
      const conditions = await listConditions(server.store.db, agent.id);
      expect(conditions.map(({ status, reason }) => `${status} ${reason}`)).toEqual(['True C']);
    }
  });

  it('settles events that tie the same way in every order', async () => {
    await using server = await AgentServer.start();
    const up = transition({ type: 'Ready', status: 'True', reason: 'Up' });
    const down = transition({ type: 'Ready', status: 'False', reason: 'Down' });
    const settled = new Set<string | null>();
    for (const [index, posts] of [
      [up, down],
      [down, up],
    ].entries()) {
      const agent = await server.newAgent(`cluster-${index}`);
      for (const event of posts) await server.post(agent, EVENTS, { events: [event] });
      settled.add((await listConditions(server.store.db, agent.id))[0]?.reason ?? null);
    }
    expect(settled.size).toBe(1);
  });

  it('takes nothing of a post with one bad event, and names its index', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const good = transition({ type: 'Ready', status: 'True' });
    const bad: readonly (readonly [object, string])[] = [
      [{ ...good, kind: 'Nonsense' }, '/events/1/kind'],
      [{ ...good, kind: 'CredentialRotated' }, '/events/1/resourceRef/kind'],
      [{ ...good, conditions: [] }, '/events/1/conditions'],
      [{ ...good, conditions: [{ type: 'Ready', status: 'Maybe' }] }, '/events/1/conditions/0/status'],
      [{ ...good, eventKey: undefined }, '/events/1/eventKey'],
      [{ ...good, sequence: '-1' }, '/events/1/sequence'],
    ];
    for (const [event, path] of bad) {
      const answer = await server.post(agent, EVENTS, { events: [good, event] });
      expect([path, answer]).toMatchObject([
        path,
        {
          status: 400,
          body: { error: 'constraint_violated', message: expect.stringContaining(path) as string, faults: [{ path }] },
        },
      ]);
    }
    expect(await counts(server)).toEqual({ events: 0, conditions: 0, audit: 0 });
  });

  it('takes 500 events and refuses 501, and takes fields that it does not know', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const events = Array.from({ length: 501 }, (_, n) => ({
      ...transition({ type: 'Ready', status: 'True' }, { resourceRef: { ...APP, uid: `u${n}` } }),
      future: true,
    }));
    const refused = await server.post(agent, EVENTS, { events });
    expect(refused).toMatchObject({ status: 400, body: { faults: [{ path: '/events' }] } });
    expect((await server.post(agent, EVENTS, { events: events.slice(0, 500) })).status).toBe(204);
    expect(await counts(server)).toEqual({ events: 500, conditions: 500, audit: 0 });
  });

  it("refuses another cluster's id, and audits the attempt once a minute", async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const body = { cluster_id: other.id, events: [transition({ type: 'Ready', status: 'True' })] };
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await server.post(agent, EVENTS, body)).toMatchObject({
        status: 403,
        body: { error: 'cluster_mismatch' },
      });
    }
    expect(await counts(server)).toEqual({ events: 0, conditions: 0, audit: 1 });
    server.clock.advance(60_000);
    await server.post(agent, EVENTS, body);
    expect(await counts(server)).toMatchObject({ audit: 2 });
  });

  it('moves the intents of its own cluster, and only those', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    await newIntent(server, agent, 'int-1');
    const report = transition(
      { type: 'Reconciling', status: 'True' },
      { sequence: '1.1', source: { intentId: 'int-1' } },
    );
    await server.post(other, EVENTS, { events: [report] });
    const read = async (): Promise<unknown> =>
      await server.store.db
        .selectFrom('intents')
        .select(['state', 'reason', 'applied_at', 'ready_at'])
        .executeTakeFirst();
    expect(await read()).toEqual({ state: 'delivered', reason: null, applied_at: null, ready_at: null });
    await server.post(agent, EVENTS, { events: [report] });
    const appliedAt = '2026-03-01T10:00:00.000Z';
    expect(await read()).toEqual({ state: 'applied', reason: null, applied_at: appliedAt, ready_at: null });
    server.clock.advance(1000);
    const degraded = {
      type: 'Degraded',
      status: 'True',
      reason: 'HelmReleaseUpgradeFailed',
      message: 'no image',
    } as const;
    await server.post(agent, EVENTS, { events: [transition(degraded, { source: { intentId: 'int-1' } })] });
    const reason = 'HelmReleaseUpgradeFailed: no image';
    expect(await read()).toEqual({ state: 'failed', reason, applied_at: appliedAt, ready_at: null });
    const ready = transition({ type: 'Ready', status: 'True' }, { source: { intentId: 'int-1', epoch: 1 } });
    await server.post(agent, EVENTS, { events: [ready] });
    const readyAt = '2026-03-01T10:00:01.000Z';
    expect(await read()).toEqual({ state: 'ready', reason: null, applied_at: appliedAt, ready_at: readyAt });
  });

  it('learns the applied revision from Synced, and not from a late or outdated report', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu', { delivery_epoch: 3 });
    const synced = (revision: string, sequence: string, epoch: number): AgentEvent =>
      transition(
        { type: 'Synced', status: 'True', message: revision },
        { resourceRef: CLUSTER, sequence, source: { revision, epoch } },
      );
    const applied = async (): Promise<unknown> =>
      (await server.store.db.selectFrom('clusters').select('applied_revision').executeTakeFirstOrThrow())
        .applied_revision;
    await server.post(agent, EVENTS, { events: [synced('tree-1', '1.1', 3), synced('tree-3', '1.3', 3)] });
    expect(await applied()).toBe('tree-3');
    await server.post(agent, EVENTS, { events: [synced('tree-2', '1.2', 3), synced('tree-9', '1.9', 2)] });
    expect(await applied()).toBe('tree-3');
  });
});
