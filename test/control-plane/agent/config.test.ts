import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { revokeAgentCredentials } from '../../../src/control-plane/store/agent-credentials.ts';
import { raiseConfigRevision, setDesiredRevision } from '../../../src/control-plane/store/clusters.ts';
import { findSigningKeys } from '../../../src/control-plane/store/signing-keys.ts';
import { configTopic } from '../../../src/control-plane/topics.ts';
import { DEFAULT_INTERVALS } from '../../../src/protocol/agent-config.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

const CONFIG = '/api/agent/config';

async function turns(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !until(); turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  expect(until()).toBe(true);
}

/** A request that is held, once the server has come to its wait. */
async function hold(
  server: AgentServer,
  agent: Agent,
  wait: string,
  holding = 1,
): Promise<{ answer: Promise<Answer> }> {
  const answer = server.get(agent, `${CONFIG}${wait}`, { 'if-none-match': '"2"' });
  await turns(() => server.clock.sleeping === holding);
  return { answer };
}

async function raise(server: AgentServer, agent: Agent): Promise<void> {
  await server.store.write(async (trx) => await raiseConfigRevision(trx, agent.id));
  server.wakeups.notify(configTopic(agent.id));
}

describe('GET /api/agent/config', () => {
  it('answers the whole projection with its revision as ETag', async () => {
    await using server = await AgentServer.start();
    await server.store.write(async (trx) => {
      const row = {
        organization_id: 'org-1',
        default_values: null,
        values_schema: null,
        approval: null,
        updated_at: '',
      };
      const chart = '{"type":"oci","url":"oci://ghcr.io/charts/podinfo","name":"podinfo"}';
      await trx
        .insertInto('catalog_entries')
        .values([
          { ...row, name: 'podinfo', chart, versions: '>=6 <7' },
          { ...row, name: 'not-allowed', chart, versions: '*' },
        ])
        .execute();
    });
    server.gitSource = {
      url: 'http://127.0.0.1/git/clusters/prod-eu.git',
      branch: 'main',
      path: 'clusters/prod-eu',
      credential_jwe: 'a.b.c.d.e',
      credential: { username: 'x', password: 'never over plain HTTP' },
    };
    const agent = await server.newAgent('prod-eu');
    const [key] = await findSigningKeys(server.store.db, agent.id);
    const answer = await server.get(agent, CONFIG);
    expect(answer.status).toBe(200);
    expect(answer.headers['etag']).toBe('"2"');
    expect(answer.headers['service-config-revision']).toBe('2');
    expect(answer.body).toEqual({
      cluster_id: agent.id,
      credential: { expires_at: '2026-03-31T10:00:00.000Z', rotate_after: '2026-03-07T08:48:00.000Z' },
      allowed_namespaces: ['shop'],
      catalog_entries: [
        {
          entry: 'podinfo',
          chart: { type: 'oci', url: 'oci://ghcr.io/charts/podinfo', name: 'podinfo' },
          versions: '>=6 <7',
        },
      ],
      operation_templates: ['scale'],
      approvals: { namespaces: [], operation_templates: [], catalog_entries: [], statements: [], pending: [] },
      connectivity_mode: 'gitops',
      delivery_epoch: 1,
      intervals: DEFAULT_INTERVALS,
      security: { requireSignedPayloads: false, requireEncryptedSecretPayloads: false },
      signing_public_keys: { keys: [JSON.parse(key?.public_jwk ?? '')] },
      git: {
        url: 'http://127.0.0.1/git/clusters/prod-eu.git',
        branch: 'main',
        path: 'clusters/prod-eu',
        credential_jwe: 'a.b.c.d.e',
      },
    });
  });

  it('has no git part in other modes', async () => {
    await using server = await AgentServer.start();
    server.gitSource = { url: 'u', branch: 'b', path: 'p' };
    const agent = await server.newAgent('prod-eu', { connectivity_mode: 'pull' });
    expect((await server.get(agent, CONFIG)).body).not.toHaveProperty('git');
  });

  it('answers 304 when nothing changed within the wait, 30 s by default', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const [wait, ms] of [
      ['', 30_000],
      ['?wait=300', 300_000],
    ] as const) {
      const { answer } = await hold(server, agent, wait);
      server.clock.advance(ms - 1);
      await turns(() => server.clock.sleeping === 1);
      server.clock.advance(1);
      expect(await answer).toMatchObject({ status: 304, body: undefined, headers: { etag: '"2"' } });
    }
    const at = await server.get(agent, `${CONFIG}?wait=0`, { 'if-none-match': 'W/"2", "9"' });
    expect(at).toMatchObject({ status: 304, headers: { 'service-config-revision': '2' } });
  });

  it('answers a held request at once when the revision changes', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { answer } = await hold(server, agent, '');
    const changed = await server.store.write(async (trx) => await setDesiredRevision(trx, agent.id, 'tree-1'));
    server.wakeups.notify(configTopic(agent.id));
    expect(changed).toBe(true);
    expect(await answer).toMatchObject({ status: 200, headers: { etag: '"3"', 'service-config-revision': '3' } });
    expect(await server.store.write(async (trx) => await setDesiredRevision(trx, agent.id, 'tree-1'))).toBe(false);
  });

  it('goes on waiting when it is woken for nothing', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { answer } = await hold(server, agent, '');
    server.wakeups.notify(configTopic(agent.id));
    await turns(() => server.clock.sleeping === 1);
    server.clock.advance(30_000);
    expect((await answer).status).toBe(304);
  });

  it('ends a held request whose credential is revoked', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { answer } = await hold(server, agent, '');
    await server.store.write(async (trx) => await revokeAgentCredentials(trx, agent.id, 'now'));
    server.wakeups.notify(configTopic(agent.id));
    expect(await answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });

  it('holds three requests of a cluster; a fourth ends the oldest', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const oldest = await hold(server, agent, '', 1);
    const second = await hold(server, agent, '', 2);
    const third = await hold(server, agent, '', 3);
    const fourth = await hold(server, agent, '', 3);
    expect((await oldest.answer).status).toBe(304);
    await raise(server, agent);
    for (const { answer } of [second, third, fourth]) expect((await answer).status).toBe(200);
  });

  it('forgets a held request whose client is gone', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    await server.app.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect((server.app.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `GET ${CONFIG} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\nIf-None-Match: "2"\r\n\r\n`,
    );
    await turns(() => server.clock.sleeping === 1);
    socket.destroy();
    await turns(() => server.clock.sleeping === 0);
    expect(server.clock.sleeping).toBe(0);
  });

  it('ends held requests when the server closes', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { answer } = await hold(server, agent, '?wait=300');
    await server.app.close();
    expect((await answer).status).toBe(304);
  });

  it('refuses a wait that is over 300, below 0 or not an integer', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (const wait of ['301', '-1', '1.5', 'soon', '']) {
      const answer = await server.get(agent, `${CONFIG}?wait=${wait}`);
      expect([wait, answer.status, answer.body]).toMatchObject([
        wait,
        400,
        { error: 'constraint_violated', faults: [{ path: '/wait' }] },
      ]);
    }
  });
});
