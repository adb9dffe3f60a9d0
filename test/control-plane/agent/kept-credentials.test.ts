import { describe, expect, it } from 'vitest';
import {
  currentAgentCredential,
  deleteEndedAgentCredentials,
  ENDED_CREDENTIALS_KEPT_MS,
} from '../../../src/control-plane/store/agent-credentials.ts';
import type { RotateResponse } from '../../../src/protocol/credentials.ts';
import { AgentServer, type Agent } from './agent-server.ts';

const DAY = 86_400_000;

async function rotated(server: AgentServer, agent: Agent): Promise<Agent> {
  const { body } = await server.post(agent, '/api/agent/credentials/rotate', {});
  return { id: agent.id, token: (body as RotateResponse).token };
}

async function forget(server: AgentServer): Promise<number> {
  const before = new Date(server.clock.now().getTime() - ENDED_CREDENTIALS_KEPT_MS).toISOString();
  await server.store.write(async (trx) => {
    await deleteEndedAgentCredentials(trx, before);
  });
  const rows = await server.store.db.selectFrom('agent_credentials').select('id').execute();
  return rows.length;
}

describe('credentials that have ended', () => {
  it('are kept for 90 days, the newest of a cluster for ever', async () => {
    await using server = await AgentServer.start();
    let agent = await server.newAgent('prod-eu');
    for (let week = 0; week < 3; week += 1) {
      server.clock.advance(7 * DAY);
      agent = await rotated(server, agent);
    }
    expect(await forget(server)).toBe(4);
    server.clock.advance(85 * DAY);
    expect(await forget(server)).toBe(2);
    server.clock.advance(365 * DAY);
    expect(await forget(server)).toBe(1);
    expect(await server.get(agent, '/api/agent/config')).toMatchObject({ body: { error: 'expired_token' } });
    expect(await forget(server)).toBe(1);
  });

  it('do not stand for the one that the cluster calls with: the newest that was used', async () => {
    await using server = await AgentServer.start();
    const agent = await server.newAgent('prod-eu');
    const current = async (): Promise<string | undefined> =>
      (await currentAgentCredential(server.store.db, agent.id))?.issued_at;
    server.clock.advance(DAY);
    const fresh = await rotated(server, agent);
    expect(await current()).toBe('2026-03-01T10:00:00.000Z');
    await server.get(fresh, '/api/agent/config');
    expect(await current()).toBe('2026-03-02T10:00:00.000Z');
  });
});
