import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginSwitch } from '../../../src/control-plane/modes/begin-switch.ts';
import { fence } from '../../../src/control-plane/modes/fence.ts';
import { lockCluster } from '../../../src/control-plane/store/lock-cluster.ts';
import { ensureRepositoryRow } from '../../../src/control-plane/store/repositories.ts';
import { configTopic } from '../../../src/control-plane/topics.ts';
import type { Agent } from './agent-server.ts';
import { jobsIn, JobsServer, turns } from './jobs-server.ts';

let server: JobsServer;
beforeEach(async () => {
  server = await JobsServer.start();
  server.agents.gitSource = { url: 'https://git.example/fleet.git', branch: 'main', path: 'clusters/prod-eu' };
});
afterEach(async () => await server[Symbol.asyncDispose]());

/** The fence of a switch, as the loop of the switches commits it. */
async function fenceTo(agent: Agent, to: 'pull' | 'gitops'): Promise<void> {
  const { store, clock, wakeups } = server.agents;
  const at = clock.now().toISOString();
  await store.write(async (trx) => {
    const organization = { id: 'org-1', name: 'first' };
    const repository = await ensureRepositoryRow(trx, organization, 'fleet', {
      clock,
      randomBytes,
      baseUrl: 'http://x',
    });
    const options = { git: { repositoryId: repository.id } };
    const { row } = await beginSwitch(
      trx,
      { clock, randomBytes },
      { clusterId: agent.id, to, options, requestedBy: 'admin' },
    );
    const cluster = await lockCluster(trx, agent.id);
    if (cluster === undefined) throw new Error('there is no cluster');
    await fence(trx, { ...row, phase: 'probing' }, cluster, { at, message: 'probed' });
  });
  wakeups.notify(configTopic(agent.id));
}

it('ends a job poll that is held in pull mode at once, empty and with the new revision', async () => {
  const agent = await server.newAgent('prod-eu');
  const held = await server.hold(agent, 300);
  expect(held.ended).toBe(false);
  const before = await server.agents.get(agent, '/api/agent/config');
  await fenceTo(agent, 'gitops');
  const answer = await held.answer;
  expect({ status: answer.status, jobs: jobsIn(answer) }).toEqual({ status: 200, jobs: [] });
  const after = await server.agents.get(agent, '/api/agent/config');
  expect(answer.headers['service-config-revision']).toBe(String(after.headers['etag']).replaceAll('"', ''));
  expect(after.headers['etag']).not.toBe(before.headers['etag']);
});

it('answers a held request for the configuration at once: the new mode and epoch, and where Git is read only in gitops', async () => {
  const agent = await server.newAgent('prod-eu');
  const before = await server.agents.get(agent, '/api/agent/config');
  expect(before.body).toMatchObject({ connectivity_mode: 'pull', delivery_epoch: 1 });
  expect(before.body).not.toHaveProperty('git');
  const known = { 'if-none-match': String(before.headers['etag']) };
  const held = server.agents.get(agent, '/api/agent/config?wait=300', known);
  await turns(50);
  await fenceTo(agent, 'gitops');
  const answer = await held;
  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({
    connectivity_mode: 'gitops',
    delivery_epoch: 2,
    git: { url: 'https://git.example/fleet.git' },
  });
});

it('offers nothing of the epoch before, and holds the next poll of who has the new revision', async () => {
  const agent = await server.newAgent('prod-eu');
  const { jobId } = await server.bring(agent);
  await fenceTo(agent, 'gitops');
  expect(jobsIn(await server.poll(agent))).toEqual([]);
  expect(await server.job(jobId)).toMatchObject({ state: 'closed', outcome: 'noop' });
  expect((await server.ack(agent, jobId)).status).toBe(409);
});
