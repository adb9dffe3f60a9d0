import { describe, expect, it } from 'vitest';
import type { RegisterResponse } from '../../../src/protocol/register.ts';
import { jobsIn, JobsServer } from './jobs-server.ts';

describe('A1: a cluster that registers again', () => {
  it('is offered what it had acknowledged and not answered, in order, and not what is closed', async () => {
    await using server = await JobsServer.start();
    const { agents } = server;
    const old = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const closed = await server.bring(old, { name: 'closed' });
    await server.result(old, closed.jobId, { outcome: 'succeeded' });
    const acknowledged = await server.bring(old);
    const elsewhere = await server.bring(other);
    for (const [agent, { jobId }] of [
      [old, acknowledged],
      [other, elsewhere],
    ] as const)
      await server.ack(agent, jobId);
    await server.status(old, acknowledged.jobId, { phase: 'Reconciling' });
    const pending = await server.bring(old, { name: 'second' });
    const again = await agents.register(await agents.newRegistrationToken(old.id));
    const fresh = { id: old.id, token: (again.body as RegisterResponse).token };
    expect(jobsIn(await server.poll(fresh)).map(({ id }) => id)).toEqual([acknowledged.jobId, pending.jobId]);
    expect(jobsIn(await server.poll(other))).toEqual([]);

    expect((await server.ack(fresh, acknowledged.jobId)).status).toBe(204);
    expect((await server.result(fresh, acknowledged.jobId, { outcome: 'noop', error: 'applied' })).status).toBe(204);
    expect(await server.result(fresh, acknowledged.jobId, { outcome: 'succeeded' })).toMatchObject({ status: 409 });
    expect(jobsIn(await server.poll(fresh)).map(({ id }) => id)).toEqual([pending.jobId]);
  });
});
