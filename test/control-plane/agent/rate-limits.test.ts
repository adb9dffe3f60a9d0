import { describe, expect, it } from 'vitest';
import { AgentServer, type Answer } from './agent-server.ts';

const EVENTS = '/api/agent/events';
const EMPTY = { events: [] };

function refusalOf({ status, headers, body }: Answer): readonly unknown[] {
  const seconds = Number(headers['retry-after']);
  return [status, (body as { error: string }).error, Number.isInteger(seconds) && seconds >= 1 && seconds <= 60];
}

describe('rate limits', () => {
  it('refuses the posts of a credential over its limit and says when to come back', async () => {
    await using server = await AgentServer.start({ events: 2 });
    const agent = await server.newAgent('prod-eu');
    expect((await server.post(agent, EVENTS, EMPTY)).status).toBe(204);
    const second = await server.post(agent, EVENTS, EMPTY);
    expect([second.status, second.headers['x-ratelimit-limit']]).toEqual([204, undefined]);
    const third = await server.post(agent, EVENTS, EMPTY);
    expect(refusalOf(third)).toEqual([429, 'rate_limited', true]);
    expect(third.body).toMatchObject({ message: 'more than 2 requests of this credential within 10 s' });
    expect(third.headers['service-config-revision']).toBe('2');
  });

  it('counts each credential, and polls apart from events', async () => {
    await using server = await AgentServer.start({ events: 1, polls: 1 });
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    expect((await server.post(agent, EVENTS, EMPTY)).status).toBe(204);
    expect((await server.get(agent, '/api/agent/config?wait=0')).status).toBe(200);
    expect((await server.post(other, EVENTS, EMPTY)).status).toBe(204);
    expect((await server.post(agent, EVENTS, EMPTY)).status).toBe(429);
    expect(refusalOf(await server.get(agent, '/api/agent/config?wait=0'))).toEqual([429, 'rate_limited', true]);
  });

  it('counts acks, statuses and results together, and polls of jobs with those of the configuration', async () => {
    await using server = await AgentServer.start({ writes: 3, polls: 3 });
    const agent = await server.newAgent('prod-eu');
    const statuses: number[] = [];
    for (const [verb, body] of [
      ['ack', undefined],
      ['status', { phase: 'Applying' }],
      ['result', { outcome: 'succeeded' }],
      ['ack', undefined],
      ['status', { phase: 'Applying' }],
    ] as const) {
      statuses.push((await server.post(agent, `/api/agent/jobs/job-unknown/${verb}`, body)).status);
    }
    expect(statuses).toEqual([404, 404, 404, 429, 429]);
    const polls: number[] = [];
    for (const path of [`jobs?cluster=${agent.id}&wait=0`, 'config?wait=0', 'config?wait=0', 'config?wait=0']) {
      polls.push((await server.get(agent, `/api/agent/${path}`)).status);
    }
    expect(polls).toEqual([200, 200, 200, 429]);
    expect((await server.post(agent, EVENTS, EMPTY)).status).toBe(204);
  });

  it('counts registrations by address, right and wrong tokens alike', async () => {
    await using server = await AgentServer.start({ register: 2 });
    const { registrationToken } = await server.newCluster('prod-eu');
    expect((await server.register('svcreg_wrong')).status).toBe(401);
    expect((await server.register('svcreg_wrong')).status).toBe(401);
    const third = await server.register(registrationToken);
    expect(refusalOf(third)).toEqual([429, 'rate_limited', true]);
    expect(third.body).toMatchObject({ message: 'more than 2 requests of this address within 60 s' });
  });
});
