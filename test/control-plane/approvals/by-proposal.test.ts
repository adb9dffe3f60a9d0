import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/protocol/agent-config.ts';
import { registerAgent, type RunningAgent } from '../admin/running-agent.ts';
import { ReviewedCluster } from '../proposals/reviewed-cluster.ts';
import { PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { readStatement, RESTART } from './approving-cluster.ts';

const SOON = { timeout: 10_000 };

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 2, roles: { security: 1 } } });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const configOf = async (agent: RunningAgent): Promise<AgentConfig> =>
  (await agent.get('/api/agent/config?wait=0')).body as AgentConfig;
const row = (intentId: unknown): Record<string, unknown> =>
  plane.query('SELECT * FROM approvals WHERE intent_id = ?', String(intentId))[0] ?? {};
const fileOf = async (slug: string): Promise<string> => {
  const names = await plane.git('ls-tree', '-r', '--name-only', 'main');
  const file = names.split('\n').find((name) => name.includes(`/${slug}/`) && name.endsWith('restart-web.yaml'));
  return await plane.git('show', `main:${file ?? ''}`);
};

describe('where a cluster is reviewed by proposals', () => {
  it('merging is the approval: as many as both ask for, the same row and audit, and its statement by the configuration', async () => {
    const cluster = await ReviewedCluster.create(plane, 'merged');
    const operator = await registerAgent(plane, 'merged');
    const proposal = await cluster.propose({ ...RESTART, catalogEntry: undefined, chartVersion: undefined });
    const { id, intentId } = proposal;
    expect(proposal['approvals']).toMatchObject({ required: { count: 2, roles: { security: 1 } } });
    expect((await plane.call('GET', `/intents/${intentId}`)).body).toMatchObject({ approval: { state: 'pending' } });
    // There, and not here.
    const elsewhere = await plane.call('POST', `/intents/${intentId}/approve`, {}, { token: await cluster.token('x') });
    expect(elsewhere).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining(`approve ${id} instead`) },
    });

    await cluster.token('sec', ['security']);
    await cluster.act(id, 'approve', 'anna');
    expect((await cluster.show(id))['state']).toBe('open');
    await cluster.act(id, 'approve', 'sec');
    await cluster.until(id, 'merged');
    await expect.poll(() => row(intentId)['statement'], SOON).not.toBeNull();
    const approval = row(intentId);
    expect(approval).toMatchObject({
      state: 'approved',
      via: 'proposal',
      proposal_id: id,
      approved_by: 'anna-merged, sec-merged',
    });
    const file = await fileOf('merged');
    expect(file).toContain('required: true');
    expect(file).not.toContain('statement');
    const statement = String(approval['statement']);
    expect(readStatement(statement).claims).toMatchObject({
      specHash: approval['spec_hash'],
      approvedBy: 'anna-merged, sec-merged',
      requestedBy: 'admin',
    });
    const { approvals } = await configOf(operator);
    expect(approvals).toMatchObject({ operation_templates: ['rollout-restart'], statements: [statement] });
    const { body: audit } = await plane.call('GET', '/audit?cluster=merged&limit=500');
    const approved = audit['items'].filter(({ kind }: { kind: string }) => kind === 'OperationApproved');
    expect(approved).toMatchObject([
      { summary: expect.stringContaining(`was approved by anna-merged, sec-merged and merged as ${id}`) },
    ]);
    // Used: it travels no more.
    await plane.execute("UPDATE intents SET state = 'ready' WHERE id = ?", String(intentId));
    await plane.call('POST', `/intents/${intentId}/approve`, {}, { token: await cluster.token('x') });
    await expect.poll(async () => (await configOf(operator)).approvals?.statements, SOON).toEqual([]);
  });

  it('what was merged with fewer approvals than it needs stays unapproved, and the rest is given here', async () => {
    const cluster = await ReviewedCluster.create(plane, 'by-hand');
    const operator = await registerAgent(plane, 'by-hand');
    const { id, intentId, branch } = await cluster.propose({
      ...RESTART,
      catalogEntry: undefined,
      chartVersion: undefined,
    });
    await cluster.act(id, 'approve', 'anna');
    // Somebody who may write to the branch did not wait.
    await plane.git('update-ref', 'refs/heads/main', String(branch));
    await plane.call('PATCH', '/clusters/by-hand', { git: { merge: 'automatic' } });
    await plane.restart();
    await cluster.until(id, 'merged');
    await plane.until(intentId, 'delivered');
    expect(row(intentId)).toMatchObject({ state: 'pending', statement: null, proposal_id: id });
    expect((await configOf(operator)).approvals?.statements).toEqual([]);
    expect((await plane.call('GET', `/intents/${intentId}`)).body).toMatchObject({
      approval: { given: ['anna-by-hand'], missing: { count: 1, roles: { security: 1 } } },
    });
    const token = await cluster.token('sec', ['security']);
    expect((await plane.call('POST', `/intents/${intentId}/approve`, {}, { token })).body).toMatchObject({
      state: 'approved',
      via: 'api',
    });
    expect((await configOf(operator)).approvals?.statements).toEqual([row(intentId)['statement']]);
  });

  it('an intent whose cluster is not reviewed any more waits to be approved here', async () => {
    const cluster = await ReviewedCluster.create(plane, 'unreviewed');
    const proposal = await cluster.propose({ ...RESTART, catalogEntry: undefined, chartVersion: undefined });
    await plane.execute("UPDATE proposals SET state = 'superseded' WHERE id = ?", String(proposal['id']));
    await plane.execute("UPDATE intents SET state = 'accepted' WHERE id = ?", String(proposal['intentId']));
    await plane.call('PATCH', '/clusters/unreviewed', { git: { review: 'direct' } });
    await cluster.ask({ name: 'wakes-delivery' });
    await expect
      .poll(async () => (await plane.call('GET', `/intents/${proposal['intentId']}`)).body['reason'], SOON)
      .toMatch(/^Waiting: approval apr-.* lacks 2 approvals, 1 of role security$/);
  });

  it('an entry that asks for approvals by the time of the merge has them counted, too', async () => {
    await plane.call('PUT', '/catalog/late', PODINFO);
    const cluster = await ReviewedCluster.create(plane, 'late-entry');
    await plane.call('PATCH', '/clusters/late-entry', { allowedCatalogEntries: ['late'] });
    const { id, intentId } = await cluster.propose({ catalogEntry: 'late' });
    await plane.call('PUT', '/catalog/late', { ...PODINFO, approval: { count: 2 } });
    expect((await cluster.act(id, 'approve', 'anna')).body['state']).toBe('open');
    await cluster.act(id, 'approve', 'bert');
    await cluster.until(id, 'merged');
    await expect.poll(() => row(intentId)['statement'], SOON).not.toBeNull();
    expect(row(intentId)).toMatchObject({ state: 'approved', approved_by: 'anna-late-entry, bert-late-entry' });
  });
});
