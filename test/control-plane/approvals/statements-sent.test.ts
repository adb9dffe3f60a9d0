import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { registerAgent } from '../admin/running-agent.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { copyApprovals } from './copy-rows.ts';
import { storeApproval } from './stored-approval.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** Approved by a merge and delivered, with this instead of a statement. */
async function storeStatement(
  clusterId: string,
  name: string,
  { state, action, hour }: { readonly state: string; readonly action: string; readonly hour: number },
): Promise<void> {
  const { intent, approval } = await storeApproval(plane, clusterId, name);
  await plane.execute(
    "UPDATE intents SET state = ?, action = ?, awaits_approval = NULL, delivered_at = '2026-01-01T00:00:00.000Z' WHERE id = ?",
    state,
    action,
    intent,
  );
  await plane.execute(
    "UPDATE approvals SET state = 'approved', statement = ?, statement_expires_at = ? WHERE id = ?",
    name,
    `2999-01-01T0${hour}:00:00.000Z`,
    approval,
  );
}

it.for(['operate', 'install'])(
  'what failed (%s) takes the place of no statement that is waited for',
  async (action) => {
    const slug = `many-${action}`;
    const id = await plane.newCluster(slug, { connectivityMode: 'pull' });
    const agent = await registerAgent(plane, slug);
    await storeStatement(id, 'failed-first', { state: 'failed', action, hour: 1 });
    const [intent = {}] = plane.query("SELECT * FROM intents WHERE cluster_id = ? AND name = 'failed-first'", id);
    const [approval = {}] = plane.query('SELECT * FROM approvals WHERE intent_id = ?', String(intent['id']));
    await copyApprovals(plane, { intent, approval }, `failed-${action}`, 63);
    await storeStatement(id, 'next', { state: 'delivered', action, hour: 3 });
    await storeStatement(id, 'first', { state: 'applied', action, hour: 2 });
    const { approvals } = (await agent.get('/api/agent/config?wait=0')).body as AgentConfig;
    const failed = approvals?.statements.filter((name) => name.startsWith('failed-')) ?? [];
    expect(approvals?.statements.slice(0, 2)).toEqual(['first', 'next']);
    // An install that failed may be tried again by its operator.
    expect(failed).toHaveLength(action === 'install' ? 62 : 0);
  },
);
