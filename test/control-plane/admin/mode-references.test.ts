import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { silentCluster } from './silent-cluster.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function ask(cluster: string, body: Record<string, unknown>): Promise<Answer> {
  return await plane.call('POST', `/clusters/${cluster}/mode`, body);
}

describe('what a cluster that was moved still refers to', () => {
  it('goes with the cluster, whether a switch is under way or not', async () => {
    const id = await silentCluster(plane, 'leaves');
    expect((await ask('leaves', { mode: 'pull' })).status).toBe(202);
    expect((await plane.call('DELETE', '/clusters/leaves?force=true')).status).toBe(204);
    for (const table of ['mode_switches', 'mode_handovers', 'push_credentials']) {
      expect(plane.query(`SELECT * FROM ${table} WHERE cluster_id = ?`, id)).toEqual([]);
    }
  });

  it('lets its repository be deleted once no cluster reads there, and comes back to it no more', async () => {
    const write = { kind: 'token', token: 'a-token-of-nobody' };
    await plane.call('PUT', '/repositories/old', { url: 'https://127.0.0.1:1/acme/old.git', host: 'git', write });
    const id = await silentCluster(plane, 'moved', 'gitops', { git: { repository: 'old' } });
    const refused = await plane.call('DELETE', '/repositories/old');
    expect([refused.status, refused.body['message']]).toEqual([
      409,
      'the repository old is used by moved: delete these clusters, or move them to another mode, first',
    ]);
    expect((await ask('moved', { mode: 'pull' })).status).toBe(202);
    // As a switch that is over leaves it.
    await plane.execute("UPDATE clusters SET connectivity_mode = 'pull' WHERE id = ?", id);
    expect((await plane.call('GET', '/clusters/moved')).body).not.toHaveProperty('git');
    // One that is under way may go back there.
    expect((await plane.call('DELETE', '/repositories/old')).status).toBe(409);
    await plane.execute(
      "UPDATE mode_switches SET open_for = NULL, state = 'active', phase = 'over' WHERE cluster_id = ?",
      id,
    );
    expect((await plane.call('DELETE', '/repositories/old')).status).toBe(204);
    expect(plane.query('SELECT repository_id, git_directory FROM clusters WHERE id = ?', id)).toEqual([
      { repository_id: null, git_directory: null },
    ]);
  });
});
