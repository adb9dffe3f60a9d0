import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { RecoverCredential } from '../../../src/control-plane/recover-credential.ts';
import { RefusalAudit } from '../../../src/control-plane/refusal-audit.ts';
import type { RecoverResponse } from '../../../src/protocol/credentials.ts';
import { decryptWith, generateEncryptionKeypair, type EncryptionKeypair } from '../../../src/protocol/jwe.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

const CONFIG = '/api/agent/config';
const MINUTE = 60_000;

async function recover(server: AgentServer, clusterId: string): Promise<Answer> {
  const payload = JSON.stringify({ cluster_id: clusterId });
  return await server.call({ method: 'POST', url: '/api/agent/credentials/recover', payload });
}

/** What the cluster itself makes of the answer: only its private key opens it. */
async function opened(answer: Answer, { privateJwk }: EncryptionKeypair): Promise<string> {
  expect(answer.status).toBe(200);
  return (await decryptWith(privateJwk, (answer.body as RecoverResponse).token_jwe)).expose();
}

async function newAgentWithKey(server: AgentServer): Promise<{ agent: Agent; keys: EncryptionKeypair }> {
  const keys = await generateEncryptionKeypair();
  const { id, registrationToken } = await server.newCluster('prod-eu');
  const { body } = await server.register(registrationToken, { public_key: keys.publicJwk });
  return { agent: { id, token: (body as { token: string }).token }, keys };
}

async function statusWith(server: AgentServer, id: string, token: string): Promise<number> {
  return (await server.get({ id, token }, CONFIG)).status;
}

/** A refusal without what differs from one request to the next. */
function refusal({ status, body }: Answer): unknown {
  const { requestId: _own, ...rest } = body as Record<string, unknown>;
  return { status, ...rest };
}

describe('POST /api/agent/credentials/recover', () => {
  it('answers a credential that only the holder of the registered key can read, and ends no other', async () => {
    await using server = await AgentServer.start();
    const { agent, keys } = await newAgentWithKey(server);
    const answer = await recover(server, agent.id);
    expect(answer.body).toEqual({
      token_jwe: expect.stringMatching(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/) as string,
      expires_at: '2026-03-31T10:00:00.000Z',
      rotate_after: '2026-03-07T08:48:00.000Z',
    });
    expect(answer.headers['cache-control']).toBe('no-store');
    const token = await opened(answer, keys);
    expect([await statusWith(server, agent.id, token), await statusWith(server, agent.id, agent.token)]).toEqual([
      200, 200,
    ]);
    const other = await generateEncryptionKeypair();
    await expect(opened(answer, other)).rejects.toThrow('not in this keyring');
    const audit = await server.store.db.selectFrom('audit').select(['kind', 'reason']).orderBy('id', 'desc').execute();
    expect(audit[0]).toEqual({ kind: 'CredentialIssued', reason: 'Recovered' });
  });

  it('brings a cluster back that a restored control plane does not know the credential of', async () => {
    await using server = await AgentServer.start();
    const { agent, keys } = await newAgentWithKey(server);
    await server.store.write(async (trx) => await trx.deleteFrom('agent_credentials').execute());
    expect(await statusWith(server, agent.id, agent.token)).toBe(401);
    const token = await opened(await recover(server, agent.id), keys);
    expect(await statusWith(server, agent.id, token)).toBe(200);
  });

  it('answers unknown, keyless, pending, disabled and revoked clusters in the same words, and audits the known ones', async () => {
    await using server = await AgentServer.start();
    const { agent } = await newAgentWithKey(server);
    const keyless = await server.newAgent('keyless');
    const pending = await server.newCluster('pending');
    const refusals: unknown[] = [];
    for (const id of ['c-0123456789abcdef', 'nonsense', keyless.id, pending.id]) {
      refusals.push(refusal(await recover(server, id)));
    }
    for (const change of [{ disabled_at: 'now' }, { disabled_at: null, revoked_at: 'now' }]) {
      await server.store.write(async (trx) => {
        await trx.updateTable('clusters').set(change).where('id', '=', agent.id).execute();
      });
      refusals.push(refusal(await recover(server, agent.id)));
    }
    expect(refusals[0]).toMatchObject({ status: 403, error: 'forbidden' });
    expect(refusals).toEqual(refusals.map(() => refusals[0]));
    const audit = await server.store.db
      .selectFrom('audit')
      .select('summary')
      .where('kind', '=', 'CredentialRecoveryRefused')
      .orderBy('id')
      .execute();
    expect(audit.map(({ summary }) => summary.split(': ').at(-1))).toEqual([
      'it has registered no key',
      'it has never registered',
      'it is disabled',
    ]);
  });

  it('holds every cluster id to five an hour, known or not, and says when the next one counts', async () => {
    await using server = await AgentServer.start();
    const { agent } = await newAgentWithKey(server);
    for (const [id, status] of [
      [agent.id, 200],
      ['c-0123456789abcdef', 403],
    ] as const) {
      for (let n = 0; n < 5; n += 1) {
        expect((await recover(server, id)).status).toBe(status);
        server.clock.advance(MINUTE);
      }
      const refused = await recover(server, id);
      expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
      expect(refused.headers['retry-after']).toBe(String(55 * 60));
    }
    server.clock.advance(50 * MINUTE);
    expect((await recover(server, agent.id)).status).toBe(200);
  });

  it('counts what was issued in the database as well, so that a restart forgives nobody', async () => {
    await using server = await AgentServer.start();
    const { agent } = await newAgentWithKey(server);
    for (let n = 0; n < 5; n += 1) await recover(server, agent.id);
    const { store, clock } = server;
    const refusals = new RefusalAudit({ store, clock });
    const restarted = new RecoverCredential({ store, clock, refusals, randomBytes, random: Math.random });
    await expect(restarted.recover(agent.id)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 3600 });
  });

  it('lets nobody void what is on its way to the cluster, and ends what was never used later', async () => {
    await using server = await AgentServer.start();
    const { agent, keys } = await newAgentWithKey(server);
    const unused = await opened(await recover(server, agent.id), keys);
    const own = await opened(await recover(server, agent.id), keys);
    await recover(server, agent.id);
    expect(await statusWith(server, agent.id, own)).toBe(200);
    server.clock.advance(11 * MINUTE);
    await recover(server, agent.id);
    expect([await statusWith(server, agent.id, unused), await statusWith(server, agent.id, own)]).toEqual([401, 200]);
  });
});
