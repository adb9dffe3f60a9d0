import { describe, expect, it } from 'vitest';
import { keepJobs } from '../../../src/control-plane/jobs/job-upkeep.ts';
import { jobsIn, JobsServer, turns, until } from './jobs-server.ts';

const HOUR_MS = 3_600_000;

/** Hours go by; upkeep looks at the end of them. The credential would expire after 30 days. */
async function pass(server: JobsServer, hours: number): Promise<void> {
  server.agents.clock.advance(hours * HOUR_MS);
  await keepJobs(server.agents);
  await turns(50);
}

describe('a job that nobody took in time', () => {
  it('is offered for 24 hours more and takes a result that says expired; its intent is delivered anew', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    await pass(server, 47);
    const [offered] = jobsIn(await server.poll(agent));
    expect(offered).toMatchObject({ id: jobId });
    expect(Date.parse(offered?.expiresAt ?? '')).toBeLessThan(server.agents.clock.now().getTime());
    expect((await server.result(agent, jobId, { outcome: 'noop', error: 'expired' })).status).toBe(204);
    const again = await server.jobOf(intentId);
    expect(again.id).not.toBe(jobId);
    expect(again).toMatchObject({ idempotency_key: 'applicationinstance/shop/podinfo@1', generation: 1 });
    expect(await server.intent(intentId)).toMatchObject({
      state: 'delivered',
      reason: expect.stringMatching(/^delivered anew: its job expired at /),
    });
    const receipts = server.agents.store.db.selectFrom('receipts').select(['intent_id', 'job_id']);
    expect(await receipts.execute()).toEqual([{ intent_id: intentId, job_id: again.id }]);
    await server.result(agent, again.id, { outcome: 'succeeded' });
    expect(await server.intent(intentId)).toMatchObject({ state: 'ready', reason: null });
  });

  it.each(['delivered', 'acknowledged'])('is closed as expired a day after that when it was only %s', async (state) => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    await server.poll(agent);
    if (state === 'acknowledged') await server.ack(agent, jobId);
    await pass(server, 47);
    expect(await server.job(jobId)).toMatchObject({ state });
    await pass(server, 2);
    expect(await server.job(jobId)).toMatchObject({ state: 'closed', outcome: 'noop', error: 'expired' });
    const again = await server.jobOf(intentId);
    expect(jobsIn(await server.poll(agent)).map(({ id }) => id)).toEqual([again.id]);
    expect(await server.result(agent, jobId, { outcome: 'succeeded' })).toMatchObject({
      status: 409,
      body: { error: 'result_exists' },
    });
  });

  it('is not delivered anew when its intent is over', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const first = await server.bring(agent);
    await server.ack(agent, first.jobId);
    const second = await server.bring(agent, { action: 'update', chartVersion: '6.6.0' });
    await server.result(agent, second.jobId, { outcome: 'succeeded' });
    await pass(server, 49);
    expect(await server.job(first.jobId)).toMatchObject({ state: 'closed', error: 'expired' });
    expect(await server.intent(first.intentId)).toMatchObject({ state: 'superseded' });
    expect(await server.jobsOf(first.intentId)).toHaveLength(1);
  });

  it('fails its intent when the operator calls it expired long before it is: its clock is wrong', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent);
    await server.result(agent, jobId, { outcome: 'noop', error: 'expired' });
    expect(await server.intent(intentId)).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^OperatorClock: .*set the clock of its node$/),
    });
    expect(await server.jobsOf(intentId)).toHaveLength(1);
  });

  it('is found by its id for 30 days after it was closed, then 404', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    await server.result(agent, jobId, { outcome: 'succeeded' });
    await pass(server, 29 * 24);
    expect((await server.ack(agent, jobId)).status).toBe(409);
    await pass(server, 2 * 24);
    const { registrationToken } = {
      registrationToken: await server.agents.newRegistrationToken(agent.id),
    };
    const { body } = await server.agents.register(registrationToken);
    const renewed = { id: agent.id, token: (body as { token: string }).token };
    expect(await server.ack(renewed, jobId)).toMatchObject({ status: 404, body: { error: 'job_not_found' } });
  });

  it('does nothing on a second turn', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId } = await server.bring(agent);
    await pass(server, 49);
    await until(async () => ((await server.jobsOf(intentId)).length === 2 ? true : undefined));
    await keepJobs(server.agents);
    await turns(50);
    expect(await server.jobsOf(intentId)).toHaveLength(2);
  });
});
