import { describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { registerAgent } from './running-agent.ts';

const refusal = ({ status, body }: Answer): string => `${status} ${String(body['error'])}`;

/** Tables that tell the past and stay: by design, each with its reason in docs/operations.md. */
const KEPT = ['audit', 'changes', 'channel_messages'];

/** Rows that name the cluster, by table. */
function traces(plane: RunningControlPlane, id: string): Record<string, unknown> {
  const tables = plane.query(
    process.env['TEST_STORE'] === 'postgres'
      ? "SELECT table_name AS name FROM information_schema.columns WHERE column_name = 'cluster_id' AND table_schema = current_schema() ORDER BY 1"
      : "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'cluster_id' WHERE m.type = 'table' ORDER BY 1",
  );
  const counts = tables.map(
    ({ name }) => `SELECT '${String(name)}' AS name, count(*) AS n FROM ${String(name)} WHERE cluster_id = ?`,
  );
  const rows = plane.query(counts.join(' UNION ALL '), ...tables.map(() => id));
  return Object.fromEntries(rows.map(({ name, n }) => [String(name), Number(n)] as const).filter(([, n]) => n !== 0));
}

async function usedCluster(plane: RunningControlPlane): Promise<string> {
  await plane.putPodinfo();
  const id = await plane.newCluster('prod-eu');
  const agent = await registerAgent(plane, id);
  await agent.get('/api/agent/config');
  const intent = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL, {
    headers: { 'idempotency-key': 'one' },
  });
  await plane.until(String(intent.body['id']), 'delivered');
  const condition = { type: 'Authenticated', status: 'True', reason: 'Registered', message: '' };
  const resourceRef = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', name: 'prod-eu', uid: 'u1' };
  const event = {
    kind: 'ConditionTransition',
    resourceRef,
    conditions: [condition],
    timestamp: '2026-03-01T10:00:00Z',
  };
  const events = Array.from({ length: 3 }, (_, n) => ({ ...event, eventKey: `condition/k/${n}` }));
  expect((await agent.post('/api/agent/events', { cluster_id: id, events })).status).toBe(204);
  return id;
}

describe('DELETE /clusters/{id}', () => {
  it('deletes everything of a disabled cluster but what tells its past, and touches nothing in Git', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await usedCluster(plane);
    const tip = await plane.git('rev-parse', 'main');
    expect(Object.keys(traces(plane, id))).toEqual(
      expect.arrayContaining(['agent_credentials', 'events', 'git_credentials', 'intents', 'signing_keys']),
    );
    const inUse = await plane.call('DELETE', '/clusters/prod-eu');
    expect(refusal(inUse)).toBe('409 conflict');
    expect(inUse.body['message']).toContain('disable it first');
    await plane.call('POST', '/clusters/prod-eu/disable');
    expect((await plane.call('DELETE', '/clusters/prod-eu')).status).toBe(204);
    expect(Object.keys(traces(plane, id)).filter((table) => !KEPT.includes(table))).toEqual([]);
    expect(plane.query('SELECT * FROM receipts')).toEqual([]);
    expect(await plane.git('rev-parse', 'main')).toBe(tip);
    expect(refusal(await plane.call('GET', '/clusters/prod-eu'))).toBe('404 not_found');
    expect(refusal(await plane.call('DELETE', '/clusters/prod-eu'))).toBe('404 not_found');
    for (const name of ['prod-eu', id]) {
      const { body } = await plane.call('GET', `/audit?cluster=${name}`);
      expect(body['items'][0]).toMatchObject({ kind: 'ClusterDeleted', actor: 'admin', clusterId: id });
    }
  });

  it('never gives its slug to another cluster, whose operator would take up what stands in Git', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.newCluster('prod-eu');
    expect((await plane.call('DELETE', '/clusters/prod-eu')).status).toBe(204);
    await expect(plane.newCluster('prod-eu')).rejects.toThrow(/409.*a slug is never used twice/);
  });

  it('takes force for a cluster in use, whose operator is answered 401 from then on', async () => {
    await using plane = await RunningControlPlane.start();
    const agent = await registerAgent(plane, await plane.newCluster('prod-eu'));
    expect((await plane.call('DELETE', '/clusters/prod-eu?force=true')).status).toBe(204);
    expect(refusal(await agent.get('/api/agent/config'))).toBe('401 invalid_token');
    expect(refusal(await plane.call('DELETE', '/clusters/prod-eu?force=perhaps'))).toBe('400 constraint_violated');
  });

  it('goes on where a crash left it: disabled, without credentials, and still to be deleted', async () => {
    await using plane = await RunningControlPlane.start();
    const id = await usedCluster(plane);
    await plane.execute("UPDATE clusters SET disabled_at = 'now', revoked_at = 'now'");
    await plane.execute('DELETE FROM events WHERE seq = 1');
    expect((await plane.call('DELETE', `/clusters/${id}`)).status).toBe(204);
    expect(Object.keys(traces(plane, id)).filter((table) => !KEPT.includes(table))).toEqual([]);
  });

  it("does not reach another organization's cluster", async () => {
    await using plane = await RunningControlPlane.start();
    const id = await plane.newCluster('prod-eu');
    const token = plane.addOrganization('other');
    for (const [method, path] of [
      ['DELETE', ''],
      ['POST', '/rebind'],
      ['POST', '/rotate'],
      ['POST', '/signing-keys'],
      ['GET', '/signing-keys'],
      ['DELETE', '/signing-keys/x'],
    ] as const) {
      const answer = await plane.call(method, `/clusters/${id}${path}`, undefined, { token });
      expect(refusal(answer)).toBe('404 not_found');
    }
  });
});
