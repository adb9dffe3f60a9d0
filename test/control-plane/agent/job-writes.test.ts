import { describe, expect, it } from 'vitest';
import { findJob } from '../../../src/control-plane/store/jobs.ts';
import { statusTopic } from '../../../src/control-plane/topics.ts';
import { jobsIn, JobsServer } from './jobs-server.ts';

const APPLIED = {
  apiVersion: 'apps.service.io/v1alpha1',
  kind: 'ApplicationInstance',
  namespace: 'shop',
  name: 'podinfo',
  uid: '7f3c1e9a',
  generation: 1,
};
const RECONCILING = {
  phase: 'Reconciling',
  conditions: [{ type: 'Reconciling', status: 'True', reason: 'HelmReleaseInstalling' }],
  message: 'the release is being installed',
  timestamp: '2026-03-01T10:00:05Z',
};

/** One of many events that mean nothing. */
function flooding(key: string) {
  return {
    eventKey: `condition/flood/${key}`,
    kind: 'ConditionTransition',
    resourceRef: { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop', name: key },
    conditions: [{ type: 'Reconciling', status: 'True', message: 'x'.repeat(1000) }],
  };
}

describe('the life of a job', () => {
  it('goes from intent to ready: poll, ack, status, result', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    expect(await server.intent(intentId)).toMatchObject({ state: 'delivered' });
    const receipts = server.agents.store.db.selectFrom('receipts').select(['intent_id', 'mode', 'job_id']);
    expect(await receipts.execute()).toEqual([{ intent_id: intentId, mode: 'pull', job_id: jobId }]);
    expect(jobsIn(await server.poll(agent))).toHaveLength(1);
    expect(await server.ack(agent, jobId)).toMatchObject({ status: 204, body: undefined });
    expect(await server.job(jobId)).toMatchObject({ state: 'acknowledged', phase: null });
    const { wakeups } = server.agents;
    const before = wakeups.version(statusTopic(agent.id));
    expect((await server.status(agent, jobId, RECONCILING)).status).toBe(204);
    expect(wakeups.version(statusTopic(agent.id))).not.toBe(before);
    expect(await server.intent(intentId)).toMatchObject({ state: 'applied', applied_at: expect.any(String) });
    expect(await server.job(jobId)).toMatchObject({
      phase: 'Reconciling',
      status_message: RECONCILING.message,
      status_conditions: JSON.stringify(RECONCILING.conditions),
      status_at: RECONCILING.timestamp,
    });
    expect((await server.result(agent, jobId, { outcome: 'succeeded', appliedRef: APPLIED })).status).toBe(204);
    expect(await server.intent(intentId)).toMatchObject({ state: 'ready', ready_at: expect.any(String), reason: null });
    expect(await server.job(jobId)).toMatchObject({
      state: 'closed',
      outcome: 'succeeded',
      applied_ref: JSON.stringify(APPLIED),
      closed_at: expect.any(String),
    });
  });

  it('takes one result; the second is 409 and changes nothing (A10)', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    const results = await Promise.all([
      server.result(agent, jobId, { outcome: 'failed', error: 'first' }),
      server.result(agent, jobId, { outcome: 'succeeded' }),
    ]);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([204, 409]));
    expect(results.find(({ status }) => status === 409)).toMatchObject({ body: { error: 'result_exists' } });
    // Which of the two is the first is the database's to say.
    const failed = results[0].status === 204;
    const outcome = failed ? { outcome: 'failed', error: 'first' } : { outcome: 'succeeded', error: null };
    expect(await server.job(jobId)).toMatchObject(outcome);
    const intent = failed ? { state: 'failed', reason: 'first' } : { state: 'ready', reason: null };
    expect(await server.intent(intentId)).toMatchObject(intent);
  });

  it('takes a result, and a status, without an ack before it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const first = await server.bring(agent, { name: 'one' });
    const second = await server.bring(agent, { name: 'two' });
    expect((await server.status(agent, first.jobId, { phase: 'Accepted' })).status).toBe(204);
    expect(await server.job(first.jobId)).toMatchObject({ state: 'acknowledged', phase: 'Accepted' });
    expect(await server.intent(first.intentId)).toMatchObject({ state: 'delivered' });
    expect((await server.result(agent, second.jobId, { outcome: 'succeeded' })).status).toBe(204);
    expect(await server.job(second.jobId)).toMatchObject({ state: 'closed', acknowledged_at: expect.any(String) });
    expect(jobsIn(await server.poll(agent))).toEqual([]);
  });

  it('answers ack 204 until the job is closed, then ack and status 409', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    for (let time = 0; time < 3; time += 1) expect((await server.ack(agent, jobId)).status).toBe(204);
    await server.result(agent, jobId, { outcome: 'succeeded' });
    const closed = { status: 409, body: { error: 'job_closed' } };
    expect(await server.ack(agent, jobId)).toMatchObject(closed);
    expect(await server.status(agent, jobId, { phase: 'Ready' })).toMatchObject(closed);
  });

  it.each([
    [{ outcome: 'succeeded' }, 'ready', null, expect.any(String)],
    [{ outcome: 'failed', error: 'chart not found' }, 'failed', 'chart not found', null],
    [{ outcome: 'failed', error: 'Stalled', appliedRef: APPLIED }, 'failed', 'Stalled', expect.any(String)],
    [{ outcome: 'conflict', error: 'kubectl owns it' }, 'failed', 'ApplyConflict: kubectl owns it', null],
    [{ outcome: 'noop' }, 'applied', null, expect.any(String)],
  ] as const)('moves the intent by %j, applied only where it was', async (result, state, reason, appliedAt) => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    expect((await server.result(agent, jobId, result)).status).toBe(204);
    expect(await server.intent(intentId)).toMatchObject({ state, reason, applied_at: appliedAt });
  });

  it('removes an application by the result of its delete', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const install = await server.bring(agent);
    await server.result(agent, install.jobId, { outcome: 'succeeded' });
    const { intentId, jobId } = await server.bring(agent, { action: 'uninstall' });
    await server.status(agent, jobId, { phase: 'Deleting' });
    expect(await server.intent(intentId)).toMatchObject({ state: 'applied' });
    await server.result(agent, jobId, { outcome: 'succeeded' });
    expect(await server.intent(intentId)).toMatchObject({ state: 'removed' });
  });

  it('takes a delete that found nothing for removed, unless something newer stands under the name', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const [name, result, state] of [
      ['gone', { outcome: 'noop', error: 'the object is not in the cluster' }, 'removed'],
      ['newer', { outcome: 'noop', error: 'stale', source: { epoch: 1, generation: 2 } }, 'applied'],
    ] as const) {
      const install = await server.bring(agent, { name });
      await server.result(agent, install.jobId, { outcome: 'succeeded' });
      const { intentId, jobId } = await server.bring(agent, { action: 'uninstall', name });
      expect((await server.result(agent, jobId, result)).status).toBe(204);
      expect(await server.intent(intentId)).toMatchObject({ state });
    }
  });

  it('closes the jobs that a newer one overtook before they were acknowledged, and only those', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const acknowledged = await server.bring(agent);
    await server.ack(agent, acknowledged.jobId);
    const offered = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    await server.poll(agent);
    const newest = await server.bring(agent, { action: 'update', chartVersion: '6.6.1' });
    expect(jobsIn(await server.poll(agent)).map(({ id }) => id)).toEqual([newest.jobId]);
    expect(await server.job(offered.jobId)).toMatchObject({
      state: 'closed',
      outcome: 'noop',
      error: 'superseded by generation 3, which was delivered before this job was acknowledged',
    });
    expect(await server.intent(offered.intentId)).toMatchObject({ state: 'superseded' });
    expect(await server.ack(agent, offered.jobId)).toMatchObject({ status: 409, body: { error: 'job_closed' } });
    // What the operator has in its hands takes its result; the intent is over all the same.
    expect((await server.result(agent, acknowledged.jobId, { outcome: 'succeeded' })).status).toBe(204);
    expect(await server.intent(acknowledged.intentId)).toMatchObject({ state: 'superseded' });
  });

  it('records the result of an older epoch and moves nothing by it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    await server.agents.store.write(async (trx) => {
      await trx.updateTable('clusters').set({ delivery_epoch: 2 }).where('id', '=', agent.id).execute();
    });
    expect((await server.result(agent, jobId, { outcome: 'failed', error: 'late' })).status).toBe(204);
    expect(await server.job(jobId)).toMatchObject({ state: 'closed', outcome: 'failed' });
    expect(await server.intent(intentId)).toMatchObject({ state: 'delivered' });
  });
});

describe('an ack beside a flood of events', () => {
  it('is answered before most of what came earlier (A3)', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    const order: string[] = [];
    const post = async (index: number): Promise<void> => {
      const events = Array.from({ length: 100 }, (_, event) => flooding(`${index}/${event}`));
      const answer = await server.agents.post(agent, '/api/agent/events', { cluster_id: agent.id, events });
      order.push(`events ${answer.status}`);
    };
    const flood = Array.from({ length: 60 }, async (_, index) => await post(index));
    const { status } = await server.ack(agent, jobId);
    order.push(`ack ${status}`);
    await Promise.all(flood);
    expect(order.filter((answer) => answer === 'events 204')).toHaveLength(60);
    expect(order.indexOf('ack 204')).toBeGreaterThanOrEqual(0);
    expect(order.indexOf('ack 204')).toBeLessThan(30);
  });
});

describe('what a write to a job must be', () => {
  it('refuses another cluster’s job on every path, and audits it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const { jobId } = await server.bring(other);
    const answers = [
      await server.ack(agent, jobId),
      await server.status(agent, jobId, { phase: 'Ready' }),
      await server.result(agent, jobId, { outcome: 'succeeded' }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 403, body: { error: 'cluster_mismatch' } });
    expect(await findJob(server.agents.store.db, jobId)).toMatchObject({ state: 'pending' });
    const audit = await server.agents.store.db.selectFrom('audit').select(['kind', 'cluster_id']).execute();
    expect(audit).toContainEqual({ kind: 'ClusterMismatch', cluster_id: agent.id });
  });

  it('answers 404 for a job that is not there', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const missing = { status: 404, body: { error: 'job_not_found' } };
    expect(await server.ack(agent, 'job-none')).toMatchObject(missing);
    expect(await server.status(agent, 'job-none', { phase: 'Ready' })).toMatchObject(missing);
    expect(await server.result(agent, 'job-none', { outcome: 'succeeded' })).toMatchObject(missing);
  });

  it.each([
    [{ outcome: 'done' }, '/outcome'],
    [{}, '/outcome'],
    [{ outcome: 'failed' }, '/error'],
    [{ outcome: 'failed', error: ' ' }, '/error'],
    [{ outcome: 'succeeded', appliedRef: { kind: 'x' } }, '/appliedRef/apiVersion'],
  ])('refuses the result %j', async (body, path) => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    const answer = await server.result(agent, jobId, body);
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    expect((answer.body as { faults: { path: string }[] }).faults.map((fault) => fault.path)).toContain(path);
    expect(await server.job(jobId)).toMatchObject({ state: 'pending' });
  });

  it('keeps phases that it does not know, and ignores fields that it does not know', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    expect((await server.status(agent, jobId, { phase: 'Baking', oven: 3 })).status).toBe(204);
    expect(await server.job(jobId)).toMatchObject({ phase: 'Baking' });
  });

  it('takes an ack with an empty body whatever its content type says, and refuses one without a MAC', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    const url = `/api/agent/jobs/${jobId}/ack`;
    for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
      const answer = await server.agents.post(agent, url, undefined, { headers: { 'content-type': type }, text: '' });
      expect([type, answer.status]).toEqual([type, 204]);
    }
    const headers = { authorization: `Bearer ${agent.token}` };
    expect(await server.agents.call({ method: 'POST', url, headers })).toMatchObject({
      status: 401,
      body: { error: 'invalid_signature' },
    });
  });

  it('refuses a status or result of more than 1 MiB, naming the limit, and other clusters notice nothing (A12)', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const { jobId } = await server.bring(agent);
    const theirs = await server.bring(other);
    const message = 'x'.repeat(5 * 1024 * 1024);
    for (const [path, body] of [
      ['status', { phase: 'Reconciling', message }],
      ['result', { outcome: 'failed', error: message }],
    ] as const) {
      const answer = await server.agents.post(agent, `/api/agent/jobs/${jobId}/${path}`, body);
      expect(answer).toMatchObject({
        status: 413,
        body: { error: 'payload_too_large', faults: [{ allowed: { maxBytes: 1_048_576 } }] },
      });
      expect((answer.body as { message: string }).message).toContain('1048576');
    }
    expect(await server.job(jobId)).toMatchObject({ state: 'pending', phase: null });
    expect((await server.result(other, theirs.jobId, { outcome: 'succeeded' })).status).toBe(204);
  });
});
