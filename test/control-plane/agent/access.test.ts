import { describe, expect, it } from 'vitest';
import { revokeAgentCredentials } from '../../../src/control-plane/store/agent-credentials.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import { AgentServer, type Answer } from './agent-server.ts';

const EVENTS = '/api/agent/events';
const EMPTY = { events: [] };

/** Status, code, and that the answer keeps the form of every answer. */
function refusal(answer: Answer): string {
  const body = answer.body as { error: string; message: string; requestId: string };
  expect(answer.headers['content-type']).toBe(AGENT_MEDIA_TYPE);
  expect(body.requestId).toBe(answer.headers['service-request-id']);
  expect(body.message).not.toBe('');
  return `${answer.status} ${body.error}`;
}

describe('access to the agent API', () => {
  it('refuses a missing, malformed, foreign, unknown, expired or revoked credential', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { registrationToken } = await server.newCluster('prod-us');
    const url = '/api/agent/config';
    expect(refusal(await server.call({ method: 'GET', url }))).toBe('401 missing_token');
    for (const authorization of ['Basic YTpi', 'Bearer', `Bearer ${agent.token}x`, `Bearer ${registrationToken}`]) {
      expect(refusal(await server.call({ method: 'GET', url, headers: { authorization } }))).toBe('401 invalid_token');
    }
    server.clock.advance(30 * 24 * 3_600_000);
    expect(refusal(await server.get(agent, url))).toBe('401 expired_token');
    const other = await server.newAgent('prod-asia');
    await server.store.write(async (trx) => await revokeAgentCredentials(trx, other.id, 'now'));
    expect(refusal(await server.get(other, url))).toBe('401 invalid_token');
  });

  it('refuses a disabled cluster', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    await server.store.write(async (trx) => {
      await trx.updateTable('clusters').set({ disabled_at: 'now' }).where('id', '=', agent.id).execute();
    });
    const answers = [
      await server.get(agent, '/api/agent/config'),
      await server.post(agent, EVENTS, EMPTY),
      await server.get(agent, `/api/agent/jobs?cluster=${agent.id}`),
    ];
    for (const answer of answers) {
      expect([refusal(answer), answer.headers['service-config-revision']]).toEqual(['403 cluster_disabled', '2']);
    }
    const nowhere = await server.get(agent, '/api/agent/nowhere');
    expect([refusal(nowhere), nowhere.headers['service-config-revision']]).toEqual(['404 not_found', '2']);
  });

  it('remembers the first use of a credential and the last contact', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    server.clock.advance(1000);
    await server.get(agent, '/api/agent/config');
    server.clock.advance(1000);
    await server.get(agent, '/api/agent/config');
    const credential = await server.store.db.selectFrom('agent_credentials').selectAll().executeTakeFirstOrThrow();
    expect(credential.first_used_at).toBe('2026-03-01T10:00:01.000Z');
    expect(server.lastContact.pending(agent.id)).toBe('2026-03-01T10:00:02.000Z');
    await server.lastContact.flush();
    const cluster = await server.store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
    expect(cluster.last_contact_at).toBe('2026-03-01T10:00:02.000Z');
    expect(server.lastContact.pending(agent.id)).toBeUndefined();
  });

  it('takes a signed write within 300 s, whatever the order and spacing of its JSON', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const text = `{ "events": [ ], "cluster_id":"${agent.id}" }`;
    const answer = await server.post(agent, EVENTS, { cluster_id: agent.id, events: [] }, { text });
    expect(answer).toMatchObject({ status: 204, body: undefined });
    expect(answer.headers['service-config-revision']).toBe('2');
    expect(answer.headers['content-type']).toBe(AGENT_MEDIA_TYPE);
    const late = new Date(server.clock.now().getTime() - 300_000);
    expect((await server.post(agent, EVENTS, EMPTY, { at: late })).status).toBe(204);
  });

  it('refuses a write whose signature is missing, malformed, skewed, or over something else', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const headers = { authorization: `Bearer ${agent.token}` };
    const bare = await server.call({ method: 'POST', url: EVENTS, payload: '{"events":[]}', headers });
    expect(refusal(bare)).toBe('401 invalid_signature');
    const malformed = { 'service-signature': 'v1,t=1,mac=zz' };
    expect(refusal(await server.post(agent, EVENTS, EMPTY, { headers: malformed }))).toBe('401 invalid_signature');
    const text = '{"events":[],"more":1}';
    expect(refusal(await server.post(agent, EVENTS, EMPTY, { text }))).toBe('401 invalid_signature');
    const stolen = { authorization: `Bearer ${other.token}` };
    expect(refusal(await server.post(agent, EVENTS, EMPTY, { headers: stolen }))).toBe('401 invalid_signature');
    const skewed = await server.post(agent, EVENTS, EMPTY, { at: new Date(server.clock.now().getTime() + 301_000) });
    expect(refusal(skewed)).toBe('401 clock_skew');
    expect(skewed.body).toMatchObject({ serverTime: '2026-03-01T10:00:00.000Z' });
  });

  it('refuses ambiguous or broken JSON before it looks at the signature', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const text of ['{"events":[],"events":[]}', '{"events":["\\ud800"]}', '{"n":9007199254740993}', '{', '']) {
      const headers = { 'service-signature': '' };
      const answer = await server.post(agent, EVENTS, EMPTY, { text, headers });
      expect(refusal(answer)).toBe(text === '' ? '401 invalid_signature' : '400 invalid_body');
    }
  });

  it('refuses a body over 1 MiB', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const text = `{"events":[],"pad":"${'x'.repeat(1_048_576)}"}`;
    expect(refusal(await server.post(agent, EVENTS, EMPTY, { text }))).toBe('413 payload_too_large');
  });

  it('answers in the agent media type and says which it serves', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const accept of [
      '',
      '*/*',
      'application/*;q=0.5',
      `text/html, ${AGENT_MEDIA_TYPE};q=0.1`,
      'application/json',
      'application/json;q=0, */*',
      `*/*;q=0, ${AGENT_MEDIA_TYPE}`,
      `application/*;q=0, ${AGENT_MEDIA_TYPE}`,
    ]) {
      const answer = await server.get(agent, '/api/agent/config', { accept });
      expect([accept, answer.status, answer.headers['content-type']]).toEqual([accept, 200, AGENT_MEDIA_TYPE]);
    }
    for (const accept of [
      'application/vnd.service.agent.v2+json',
      'text/html',
      `${AGENT_MEDIA_TYPE};q=0`,
      `${AGENT_MEDIA_TYPE};q=0, */*`,
      `*/*, ${AGENT_MEDIA_TYPE}; q=0.000`,
      `application/json, ${AGENT_MEDIA_TYPE};q=0`,
      'application/*;q=0, */*',
    ]) {
      const answer = await server.get(agent, '/api/agent/config', { accept });
      expect(refusal(answer)).toBe('406 not_acceptable');
      expect(answer.body).toMatchObject({ served: [AGENT_MEDIA_TYPE] });
      expect(answer.headers['service-config-revision']).toBe('2');
    }
  });

  it('tells a known agent its revision where there is nothing, and keeps the form for a path that cannot be read', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const nowhere = await server.get(agent, '/api/agent/nowhere');
    expect([refusal(nowhere), nowhere.headers['service-config-revision']]).toEqual(['404 not_found', '2']);
    const unknown = await server.call({ method: 'GET', url: '/api/agent/nowhere' });
    expect([refusal(unknown), unknown.headers['service-config-revision']]).toEqual(['404 not_found', undefined]);
    expect([nowhere.headers['service-version'], unknown.headers['service-version']]).toEqual(['0.2.0', '0.2.0']);
    expect((await server.get(agent, '/api/agent/%zz')).headers['content-type']).toBe(AGENT_MEDIA_TYPE);
    const wrong = await server.call({ method: 'DELETE', url: '/api/agent/events' });
    expect([refusal(wrong), wrong.headers['allow']]).toEqual(['404 not_found', 'POST']);
  });

  it('takes bodies of the agent media type and application/json, with parameters, and no others', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const type of [`${AGENT_MEDIA_TYPE}; charset=utf-8`, 'application/json', 'Application/JSON; x=y']) {
      const answer = await server.post(agent, EVENTS, EMPTY, { headers: { 'content-type': type } });
      expect([type, answer.status]).toEqual([type, 204]);
    }
    for (const type of ['application/vnd.service.agent.v2+json', 'text/plain', 'nonsense']) {
      const answer = await server.post(agent, EVENTS, EMPTY, { headers: { 'content-type': type } });
      expect([type, refusal(answer)]).toEqual([type, '415 unsupported_media_type']);
    }
  });

  it('answers an unknown endpoint and a wrong method with not_found, and says what the path takes', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    expect(refusal(await server.get(agent, '/api/agent/nothing'))).toBe('404 not_found');
    const wrong = await server.get(agent, EVENTS);
    expect(refusal(wrong)).toBe('404 not_found');
    expect(wrong.headers['allow']).toBe('POST');
  });

  it('answers liveness and readiness, and not ready without its database', async () => {
    const server = await AgentServer.start();
    expect(await server.call({ method: 'GET', url: '/healthz' })).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
    expect(await server.call({ method: 'GET', url: '/readyz' })).toMatchObject({
      status: 200,
      body: { status: 'ready' },
    });
    await server.store[Symbol.asyncDispose]();
    const answer = await server.call({ method: 'GET', url: '/readyz' });
    expect(answer).toMatchObject({ status: 503, body: { error: 'unavailable' } });
    expect(answer.headers['retry-after']).toBe('5');
    await server.app.close();
  });
});
