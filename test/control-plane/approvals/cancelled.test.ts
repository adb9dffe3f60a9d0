import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import { ReviewedCluster } from '../proposals/reviewed-cluster.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { ApprovingCluster, RESTART } from './approving-cluster.ts';

const SOON = { timeout: 10_000 };
const OPERATION = { ...RESTART, catalogEntry: undefined, chartVersion: undefined };

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const cancel = async (id: unknown): Promise<Answer> => await plane.call('POST', `/intents/${String(id)}/cancel`, {});
const statementsOf = async (agent: RunningAgent): Promise<readonly string[]> =>
  ((await agent.get('/api/agent/config?wait=0')).body as AgentConfig).approvals?.statements ?? [];
const approvalOf = (intentId: unknown): Record<string, unknown> =>
  plane.query(
    'SELECT state, statement, statement_kid, reason FROM approvals WHERE intent_id = ?',
    String(intentId),
  )[0] ?? {};
const WITHDRAWN = { state: 'withdrawn', statement: null, statement_kid: null, reason: 'cancelled by admin' };

describe('the approval of an operation that is cancelled', () => {
  it('is withdrawn with it, however both acts meet, and nothing of it is signed or sent', async () => {
    const cluster = await ApprovingCluster.create(plane, 'race');
    const agent = await registerAgent(plane, 'race');
    await cluster.requires({ count: 1 });
    await cluster.token('bert');
    // Held, so that what is cancelled has surely not left.
    await plane.execute('UPDATE clusters SET delivery_held = 1 WHERE id = ?', cluster.id);
    for (const name of ['a', 'b', 'c', 'd']) {
      const id = await cluster.ask({ name });
      const [, cancelled] = await Promise.all([cluster.act(id, 'approve', 'bert'), cancel(id)]);
      expect(cancelled.status).toBe(200);
      expect(approvalOf(id)).toEqual(WITHDRAWN);
    }
    // The loop has looked after all of them.
    const other = await cluster.ask({ name: 'other' });
    await cluster.act(other, 'approve', 'bert');
    await expect.poll(() => approvalOf(other)['statement'], SOON).not.toBeNull();
    expect(plane.query("SELECT id FROM approvals WHERE state = 'withdrawn' AND statement IS NOT NULL")).toEqual([]);
    expect(await statementsOf(agent)).toEqual([]);
  });

  it('goes from the configuration at once when it had been signed, and no other key signs it again', async () => {
    await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 1 } });
    const cluster = await ReviewedCluster.create(plane, 'signed');
    const agent = await registerAgent(plane, 'signed');
    const { id, intentId } = await cluster.propose(OPERATION);
    await cluster.act(id, 'approve');
    await cluster.until(id, 'merged');
    await plane.until(intentId, 'delivered');
    await expect.poll(async () => await statementsOf(agent), SOON).toHaveLength(1);
    expect((await cancel(intentId)).status).toBe(202);
    expect(await statementsOf(agent)).toEqual([]);
    expect(approvalOf(intentId)).toEqual(WITHDRAWN);
    const [key] = plane.query(
      "SELECT kid FROM signing_keys WHERE cluster_id IN (SELECT id FROM clusters WHERE slug = 'signed')",
    );
    await plane.call('POST', '/clusters/signed/signing-keys');
    await plane.call('DELETE', `/clusters/signed/signing-keys/${String(key?.['kid'])}`);
    await plane.restart();
    expect(approvalOf(intentId)).toEqual(WITHDRAWN);
    expect(await statementsOf(agent)).toEqual([]);
  });

  it('is asked for no more where it was merged with too few: 409, saying why', async () => {
    await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 1 } });
    const cluster = await ReviewedCluster.create(plane, 'too-few');
    const agent = await registerAgent(plane, 'too-few');
    const { id, intentId, branch } = await cluster.propose(OPERATION);
    await plane.git('update-ref', 'refs/heads/main', String(branch));
    await plane.call('PATCH', '/clusters/too-few', { git: { merge: 'automatic' } });
    await plane.restart();
    await cluster.until(id, 'merged');
    await plane.until(intentId, 'delivered');
    expect((await cancel(intentId)).status).toBe(202);
    const token = await cluster.token('carl');
    expect(await plane.call('POST', `/intents/${intentId}/approve`, {}, { token })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('it is withdrawn (cancelled by admin); ask for it anew') },
    });
    expect(await statementsOf(agent)).toEqual([]);
  });
});

describe('the approval of an operation that failed', () => {
  it('is sent no more, and not signed again when its key is revoked', async () => {
    await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 1 } });
    const cluster = await ReviewedCluster.create(plane, 'failed');
    const agent = await registerAgent(plane, 'failed');
    const { id, intentId } = await cluster.propose(OPERATION);
    await cluster.act(id, 'approve');
    await cluster.until(id, 'merged');
    await plane.until(intentId, 'delivered');
    await expect.poll(async () => await statementsOf(agent), SOON).toHaveLength(1);
    await plane.execute(
      "UPDATE intents SET state = 'failed', applied_at = delivered_at WHERE id = ?",
      String(intentId),
    );
    expect(await statementsOf(agent)).toEqual([]);
    await plane.restart();
    await expect.poll(() => approvalOf(intentId)['statement'], SOON).toBeNull();
    const [key] = plane.query(
      "SELECT kid FROM signing_keys WHERE cluster_id IN (SELECT id FROM clusters WHERE slug = 'failed')",
    );
    await plane.call('POST', '/clusters/failed/signing-keys');
    await plane.call('DELETE', `/clusters/failed/signing-keys/${String(key?.['kid'])}`);
    await plane.restart();
    expect(approvalOf(intentId)['statement']).toBeNull();
    expect(await statementsOf(agent)).toEqual([]);
  });
});
