import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { generateEncryptionKeypair } from '../../../src/protocol/jwe.ts';
import type { RotateResponse } from '../../../src/protocol/credentials.ts';
import { isWellFormedToken } from '../../../src/protocol/token.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

const ROTATE = '/api/agent/credentials/rotate';
const CONFIG = '/api/agent/config';
const HOUR = 3_600_000;

/** Asks for a rotation without a body or a signature, as the least of clients may. */
async function rotate(server: AgentServer, agent: Agent): Promise<Answer> {
  return await server.call({ method: 'POST', url: ROTATE, headers: { authorization: `Bearer ${agent.token}` } });
}

/** The agent with the credential of a rotation. */
function renewed(agent: Agent, answer: Answer): Agent {
  expect(answer.status).toBe(200);
  return { id: agent.id, token: (answer.body as RotateResponse).token };
}

async function audited(server: AgentServer): Promise<string[]> {
  const rows = await server.store.db.selectFrom('audit').select(['kind', 'reason']).orderBy('id').execute();
  return rows.map(({ kind, reason }) => `${kind} ${reason}`);
}

async function works(server: AgentServer, agent: Agent): Promise<string> {
  const { status, body } = await server.get(agent, CONFIG);
  return status === 200 ? 'works' : `${status} ${(body as { error: string }).error}`;
}

describe('POST /api/agent/credentials/rotate', () => {
  it('answers a new credential and keeps accepting the old one for the grace period', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    server.clock.advance(7 * 24 * HOUR);
    const answer = await rotate(server, old);
    expect(answer.body).toEqual({
      token: expect.any(String) as string,
      expires_at: '2026-04-07T10:00:00.000Z',
      // 7 days × (0.7 + 0.3 × 0.5)
      rotate_after: '2026-03-14T08:48:00.000Z',
    });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'service-config-revision': '2' });
    const fresh = renewed(old, answer);
    expect(isWellFormedToken('svcagt', fresh.token)).toBe(true);
    expect([await works(server, old), await works(server, fresh)]).toEqual(['works', 'works']);
    server.clock.advance(24 * HOUR - 1);
    expect([await works(server, old), await works(server, fresh)]).toEqual(['works', 'works']);
    server.clock.advance(1);
    expect([await works(server, old), await works(server, fresh)]).toEqual(['401 expired_token', 'works']);
    expect(await rotate(server, old)).toMatchObject({ status: 401, body: { error: 'expired_token' } });
    expect(await audited(server)).toEqual(['ClusterRegistered Registered', 'CredentialIssued Rotated']);
  });

  it('A7: an answer that is lost, or a crash before it is saved, costs another call and nothing else', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    const lost = renewed(old, await rotate(server, old));
    server.clock.advance(HOUR);
    const saved = renewed(old, await rotate(server, old));
    // The one that nobody saved is worth nothing; the two that are in use both work, whichever a loop holds.
    expect(await works(server, lost)).toBe('401 invalid_token');
    expect([await works(server, old), await works(server, saved)]).toEqual(['works', 'works']);
    expect(await audited(server)).toEqual([
      'ClusterRegistered Registered',
      'CredentialIssued Rotated',
      'CredentialIssued RotatedAgain',
    ]);
  });

  it('A7: counts the grace period from the first rotation, however often it is repeated', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    for (let hour = 0; hour < 24; hour += 8) {
      renewed(old, await rotate(server, old));
      server.clock.advance(8 * HOUR);
    }
    expect(await works(server, old)).toBe('401 expired_token');
  });

  it('never says of the old credential that its rotation is due after its end', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    renewed(old, await rotate(server, old));
    const { body } = await server.get(old, CONFIG);
    expect((body as AgentConfig).credential).toEqual({
      expires_at: '2026-03-02T10:00:00.000Z',
      rotate_after: '2026-03-02T10:00:00.000Z',
    });
  });

  it('A7: refuses a second rotation once the replacement is in use, and lets the old credential work on', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    const fresh = renewed(old, await rotate(server, old));
    expect(await works(server, fresh)).toBe('works');
    const again = await rotate(server, old);
    expect(again).toMatchObject({ status: 409, body: { error: 'already_rotated' } });
    expect((again.body as { message: string }).message).toContain('2026-03-02T10:00:00.000Z');
    expect([await works(server, old), await works(server, fresh)]).toEqual(['works', 'works']);
    // The replacement itself may be rotated in its turn, while the first one's grace goes on.
    const third = renewed(old, await rotate(server, fresh));
    expect([await works(server, old), await works(server, fresh), await works(server, third)]).toEqual(
      Array.from({ length: 3 }, () => 'works'),
    );
    expect((await audited(server)).slice(1)).toEqual([
      'CredentialIssued Rotated',
      'CredentialAlreadyRotated already_rotated',
      'CredentialIssued Rotated',
    ]);
  });

  it('leaves exactly one replacement when many rotations race', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    const answers = await Promise.all(Array.from({ length: 12 }, async () => await rotate(server, old)));
    const tokens = answers.map((answer) => renewed(old, answer));
    const working: Agent[] = [];
    for (const agent of tokens) if ((await works(server, agent)) === 'works') working.push(agent);
    expect(working).toHaveLength(1);
    const rows = await server.store.db.selectFrom('agent_credentials').select('replaces').execute();
    expect(rows).toHaveLength(2);
    expect(await works(server, old)).toBe('works');
  });

  it('ends both with a revocation, the rotation that is under way included', async () => {
    await using server = await AgentServer.start();
    const old = await server.newAgent('prod-eu');
    const fresh = renewed(old, await rotate(server, old));
    await server.store.write(async (trx) => {
      await trx.updateTable('agent_credentials').set({ revoked_at: 'now' }).execute();
    });
    expect([await works(server, old), await works(server, fresh)]).toEqual(['401 invalid_token', '401 invalid_token']);
    expect(await rotate(server, old)).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
  });

  it("takes the grace period from the organization's settings, and never lets it outlive the credential", async () => {
    await using server = await AgentServer.start();
    await server.store.write(async (trx) => {
      await trx.updateTable('organizations').set({ settings: '{"rotationGraceSeconds":7200}' }).execute();
    });
    const early = await server.newAgent('prod-eu');
    const late = await server.newAgent('prod-us');
    renewed(early, await rotate(server, early));
    server.clock.advance(2 * HOUR - 1);
    expect(await works(server, early)).toBe('works');
    server.clock.advance(1);
    expect(await works(server, early)).toBe('401 expired_token');
    server.clock.advance((30 * 24 - 3) * HOUR);
    renewed(late, await rotate(server, late));
    server.clock.advance(HOUR);
    expect(await works(server, late)).toBe('401 expired_token');
  });

  it('verifies a signature that is there and asks for none that is not', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const wrong = await server.post(agent, ROTATE, {}, { text: '{"more":1}' });
    expect(wrong).toMatchObject({ status: 401, body: { error: 'invalid_signature' } });
    expect((await server.post(agent, ROTATE, {})).status).toBe(200);
    // An absent body is signed as zero bytes.
    expect((await server.post(agent, ROTATE, undefined, { text: '' })).status).toBe(200);
  });

  it('takes a new encryption key, to which the projection is sealed from then on', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const { publicJwk } = await generateEncryptionKeypair();
    const answer = await server.post(agent, ROTATE, { public_key: publicJwk });
    expect(answer.headers['service-config-revision']).toBe('3');
    const row = await server.store.db.selectFrom('clusters').select('public_key').executeTakeFirstOrThrow();
    expect(JSON.parse(row.public_key ?? '')).toEqual(publicJwk);
    const fresh = renewed(agent, answer);
    const again = await server.post(fresh, ROTATE, { public_key: publicJwk });
    expect(again.headers['service-config-revision']).toBe('3');
    const bad = await server.post(renewed(agent, again), ROTATE, { public_key: { ...publicJwk, d: 'x' } });
    expect(bad).toMatchObject({ status: 400, body: { faults: [{ path: '/public_key/d' }] } });
  });

  it('holds a cluster to 20 rotations a minute', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    for (let n = 0; n < 20; n += 1) expect((await rotate(server, agent)).status).toBe(200);
    const refused = await rotate(server, agent);
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });
});
