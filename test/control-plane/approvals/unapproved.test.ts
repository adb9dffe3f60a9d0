import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import { ReviewedCluster } from '../proposals/reviewed-cluster.ts';
import { PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { copyApprovals } from './copy-rows.ts';

const SOON = { timeout: 10_000 };
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function approvalsOf(agent: RunningAgent): Promise<AgentConfig['approvals']> {
  return ((await agent.get('/api/agent/config?wait=0')).body as AgentConfig).approvals;
}

it('what was merged with too few approvals stays named after its entry asks for none, until it is approved', async () => {
  await plane.call('PUT', '/catalog/guarded', { ...PODINFO, approval: { count: 2 } });
  const cluster = await ReviewedCluster.create(plane, 'few');
  const agent = await registerAgent(plane, 'few');
  await plane.call('PATCH', '/clusters/few', { allowedCatalogEntries: ['guarded'] });
  expect(await approvalsOf(agent)).toMatchObject({ catalog_entries: ['guarded'], pending: [] });
  const { id, intentId, branch } = await cluster.propose({ catalogEntry: 'guarded', values: { a: 1 } });
  const hashed = (): string => {
    const [row] = plane.query('SELECT spec_hash FROM approvals WHERE intent_id = ?', String(intentId));
    return `shop/podinfo@${String(row?.['spec_hash'])}`;
  };
  // Before anybody can merge it.
  expect((await approvalsOf(agent))?.pending).toEqual([hashed()]);
  await plane.git('update-ref', 'refs/heads/main', String(branch));
  await plane.call('PATCH', '/clusters/few', { git: { merge: 'automatic' } });
  await plane.restart();
  await cluster.until(id, 'merged');
  await plane.until(intentId, 'delivered');
  await plane.call('PUT', '/catalog/guarded', PODINFO);
  expect(await approvalsOf(agent)).toMatchObject({ catalog_entries: [], statements: [], pending: [hashed()] });
  for (const who of ['carl', 'dora']) {
    await plane.call('POST', `/intents/${intentId}/approve`, {}, { token: await cluster.token(who) });
  }
  await expect
    .poll(async () => await approvalsOf(agent), SOON)
    .toMatchObject({ statements: [expect.any(String)], pending: [] });
});

it('what is more than a configuration names is held by its entry or template', async () => {
  await plane.call('PUT', '/catalog/many', { ...PODINFO, approval: { count: 1 } });
  const cluster = await ReviewedCluster.create(plane, 'many');
  const agent = await registerAgent(plane, 'many');
  await plane.call('PATCH', '/clusters/many', { allowedCatalogEntries: ['many'] });
  await cluster.propose({ catalogEntry: 'many' });
  await plane.call('PUT', '/catalog/many', PODINFO);
  expect(await approvalsOf(agent)).toMatchObject({ catalog_entries: [], pending: [expect.any(String)] });
  const [intent = {}] = plane.query("SELECT * FROM intents WHERE catalog_entry = 'many'");
  const [approval = {}] = plane.query('SELECT * FROM approvals WHERE intent_id = ?', String(intent['id']));
  await copyApprovals(plane, { intent, approval }, 'copy', 256);
  const held = await approvalsOf(agent);
  expect(held?.pending).toHaveLength(256);
  expect(held?.catalog_entries).toEqual(['many']);
});
