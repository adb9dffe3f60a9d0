import { describe, expect, it } from 'vitest';
import type { IntentRequest } from '../../../src/intent/intent-request.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { newId } from '../../../src/protocol/ids.ts';
import { randomBytes } from 'node:crypto';
import type { Agent } from './agent-server.ts';
import { jobsIn, JobsServer, turns } from './jobs-server.ts';

/** An intent of the time that the backup does not hold. */
function lostIntent(server: JobsServer): string {
  return newId('int', server.agents.clock.now(), randomBytes);
}

/** The operator's snapshot of one application. */
function report(intentId: string, generation: number, epoch = 1, name = 'podinfo'): AgentEvent {
  return {
    eventKey: `condition/apps.service.io/v1alpha1/ApplicationInstance/shop/${name}/uid-${name}/Ready/True@${generation}`,
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'shop',
      name,
      uid: `uid-${name}`,
      generation,
    },
    conditions: [{ type: 'Ready', status: 'True', reason: 'HelmReleaseReady' }],
    source: { mode: 'pull', epoch, intentId, generation },
  };
}

/** How an operation ended. */
function ended(name: string, source: NonNullable<AgentEvent['source']>): AgentEvent {
  return {
    ...report('', 1, 1, name),
    eventKey: `condition/ops.service.io/v1alpha1/Operation/shop/${name}/uid-${name}/Succeeded/True@1`,
    resourceRef: {
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
      namespace: 'shop',
      name,
      uid: `uid-${name}`,
    },
    conditions: [{ type: 'Succeeded', status: 'True', reason: 'JobCompleted' }],
    source,
  };
}

function operate(name: string): Partial<IntentRequest> {
  return {
    action: 'operate',
    name,
    operationTemplate: 'scale',
    parameters: { replicas: 2 },
    targetRef: { kind: 'Deployment', name: 'web' },
  };
}

async function post(server: JobsServer, agent: Agent, events: readonly AgentEvent[]): Promise<void> {
  const answer = await server.agents.post(agent, '/api/agent/events', { cluster_id: agent.id, events });
  expect(answer.status).toBe(204);
  await turns(100);
}

async function auditKinds(server: JobsServer): Promise<string[]> {
  const rows = await server.agents.store.db.selectFrom('audit').select('kind').where('source', '=', 'agent').execute();
  return rows.map(({ kind }) => kind).filter((kind) => !['ConditionTransition', 'ClusterRegistered'].includes(kind));
}

describe('a control plane that was restored from an older backup (A2)', () => {
  it('recreates nothing when the snapshot comes, counts on from it, and shows the difference once', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const known = await server.bring(agent);
    await server.result(agent, known.jobId, { outcome: 'succeeded' });
    server.agents.clock.advance(60_000);
    const lost = lostIntent(server);
    for (let time = 0; time < 2; time += 1) await post(server, agent, [report(lost, 8), report(lost, 3, 1, 'other')]);
    expect(jobsIn(await server.poll(agent))).toEqual([]);
    expect(await auditKinds(server)).toEqual(['ClusterAhead', 'ClusterAhead']);
    const audit = await server.agents.store.db.selectFrom('audit').select('summary').execute();
    expect(audit.map(({ summary }) => summary)).toContainEqual(
      expect.stringMatching(/^prod-eu: has generation 8 of .*shop\/podinfo .*\(known: 1\); .*restored/),
    );
    const next = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    expect(jobsIn(await server.poll(agent))).toMatchObject([
      { id: next.jobId, generation: 9, idempotencyKey: 'applicationinstance/shop/podinfo@9' },
    ]);
    // An application of which only the cluster knows can be taken over.
    const other = await server.bring(agent, { name: 'other' });
    expect(await server.job(other.jobId)).toMatchObject({ generation: 4 });
  });

  it('takes no operation under a name that has run, be it of a lost intent or made by hand', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const lost = lostIntent(server);
    await post(server, agent, [ended('lost', { mode: 'pull', epoch: 1, intentId: lost, generation: 1 })]);
    await post(server, agent, [ended('by-hand', { mode: 'pull' })]);
    for (const name of ['lost', 'by-hand']) {
      await expect(server.accept(agent, operate(name))).rejects.toThrow(/no intent here asked for.*another name/);
    }
    await server.accept(agent, operate('lost-2'));
  });

  it('numbers an intent on that was delivered below what the cluster has, when the snapshot tells', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const old = await server.bring(agent);
    await server.result(agent, old.jobId, { outcome: 'succeeded' });
    server.agents.clock.advance(60_000);
    const lost = lostIntent(server);
    server.agents.clock.advance(60_000);
    const asked = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    await server.ack(agent, asked.jobId);
    await post(server, agent, [report(lost, 8)]);
    const again = await server.jobOf(asked.intentId);
    expect(again).toMatchObject({ generation: 9, idempotency_key: 'applicationinstance/shop/podinfo@9' });
    expect(JSON.parse(again.payload)).toMatchObject({
      metadata: { annotations: { 'app.service.io/source': '1.9', 'app.service.io/intent-id': asked.intentId } },
    });
    expect(await server.job(asked.jobId)).toMatchObject({ state: 'closed', outcome: 'noop' });
    const intent = await server.intent(asked.intentId);
    expect(intent).toMatchObject({ state: 'delivered', generation: 9 });
    expect(intent.reason).toMatch(/^NumberedOn: generation 9 instead of 2; /);
    expect(JSON.parse(intent.record)).toMatchObject({ generation: 9, chartVersion: '6.6.0' });
    expect(await auditKinds(server)).toEqual(['ClusterAhead', 'IntentNumberedOn']);
    await server.result(agent, again.id, { outcome: 'succeeded' });
    expect(await server.intent(asked.intentId)).toMatchObject({ state: 'ready', reason: null });
  });

  it('numbers an intent on when the result of its job tells which pair the cluster has', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const lost = lostIntent(server);
    const asked = await server.bring(agent);
    const source = { epoch: 3, generation: 4, intentId: lost };
    await server.result(agent, asked.jobId, { outcome: 'noop', source });
    const again = await server.jobOf(asked.intentId);
    expect(again).toMatchObject({ generation: 5, delivery_epoch: 3 });
    expect(await auditKinds(server)).toEqual(['DeliveryEpochRaised', 'ClusterAhead', 'IntentNumberedOn']);
  });

  it('supersedes an intent that is older than what the cluster has, and says why', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const old = await server.bring(agent);
    server.agents.clock.advance(60_000);
    const lost = lostIntent(server);
    await post(server, agent, [report(lost, 8)]);
    expect(await server.intent(old.intentId)).toMatchObject({
      state: 'superseded',
      reason: expect.stringMatching(
        /^RestoredFromBackup: the cluster has generation 8 of shop\/podinfo, by intent int-/,
      ),
    });
    expect(await server.job(old.jobId)).toMatchObject({ state: 'closed', outcome: 'noop' });
    expect(jobsIn(await server.poll(agent))).toEqual([]);
    expect(await auditKinds(server)).toEqual(['ClusterAhead', 'IntentSuperseded']);
  });

  it('supersedes before delivery what waited in the backup, and numbers on what was asked for since', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const waited = await server.bring(agent);
    server.agents.clock.advance(60_000);
    const lost = lostIntent(server);
    server.agents.clock.advance(60_000);
    const since = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    const { store } = server.agents;
    // As the backup had it: accepted, without jobs.
    await store.write(async (trx) => {
      await trx.deleteFrom('jobs').execute();
      await trx.deleteFrom('receipts').execute();
      await trx.updateTable('clusters').set({ connectivity_mode: 'gitops' }).execute();
      await trx.updateTable('intents').set({ state: 'accepted', delivered_at: null }).execute();
    });
    await post(server, agent, [report(lost, 8)]);
    await store.write(async (trx) => await trx.updateTable('clusters').set({ connectivity_mode: 'pull' }).execute());
    server.agents.wakeups.notify('delivery');
    expect(await server.jobOf(since.intentId)).toMatchObject({ generation: 9 });
    expect(await server.intent(waited.intentId)).toMatchObject({ state: 'superseded', generation: 1 });
  });

  it('raises the delivery epoch to what the cluster has seen, and delivers open jobs anew in it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    const held = await server.hold(agent, 300, { 'service-config-revision': '2' });
    await server.ack(agent, jobId);
    await post(server, agent, [report(lostIntent(server), 3, 4, 'other')]);
    const cluster = await server.agents.store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
    expect(cluster).toMatchObject({ delivery_epoch: 4, config_revision: 3 });
    expect((await held.answer).status).toBe(200);
    const again = await server.jobOf(intentId);
    expect(again).toMatchObject({ delivery_epoch: 4, generation: 1 });
    expect(JSON.parse(again.payload)).toMatchObject({
      metadata: { annotations: { 'app.service.io/source': '4.1' } },
    });
    expect(await server.job(jobId)).toMatchObject({ state: 'closed', outcome: 'noop' });
  });

  it('does nothing of it while every reported intent is known here', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const first = await server.bring(agent);
    const second = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    await post(server, agent, [report(second.intentId, 2)]);
    await server.result(agent, first.jobId, { outcome: 'noop', source: { epoch: 1, generation: 2 } });
    expect(await auditKinds(server)).toEqual([]);
    expect(await server.agents.store.db.selectFrom('reported_generations').selectAll().execute()).toEqual([]);
    expect(await server.intent(second.intentId)).toMatchObject({ state: 'ready', generation: 2 });
  });

  it('ignores numbers that nobody can have counted to', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const lost = lostIntent(server);
    await post(server, agent, [report(lost, 999_999_999), report(lost, 1_000_001), report(lost, 3, 1_000_002)]);
    expect(await auditKinds(server)).toEqual([]);
    const asked = await server.bring(agent);
    expect(await server.intent(asked.intentId)).toMatchObject({ generation: 1 });
    const cluster = await server.agents.store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
    expect(cluster.delivery_epoch).toBe(1);
  });

  it('believes the number below a false one of the same object, and goes on from it however far it comes', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const lost = lostIntent(server);
    await post(server, agent, [report(lost, 8), report(lost, 999_999_999)]);
    for (let times = 1; times <= 3; times += 1) await post(server, agent, [report(lost, 8 + times * 1_000_000)]);
    server.agents.clock.advance(60_000);
    const asked = await server.bring(agent);
    expect(await server.intent(asked.intentId)).toMatchObject({ generation: 3_000_009 });
    await post(server, agent, [report(asked.intentId, 3_000_009)]);
    await post(server, agent, [report(lost, 3_000_010)]);
    server.agents.clock.advance(60_000);
    const next = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    expect(await server.intent(next.intentId)).toMatchObject({ generation: 3_000_011 });
  });

  it('fails an intent whose object carries a number that cannot be, instead of taking it for done', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const asked = await server.bring(agent);
    await server.result(agent, asked.jobId, { outcome: 'noop', source: { epoch: 1, generation: 999_999_999 } });
    expect(await server.intent(asked.intentId)).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^SourceNotBelieved: .* shop\/podinfo .* 1\.999999999, /),
    });
    expect(await auditKinds(server)).toEqual([]);
  });
});
