import { describe, expect, it } from 'vitest';
import { revokeAgentCredentials } from '../../../src/control-plane/store/agent-credentials.ts';
import { raiseConfigRevision } from '../../../src/control-plane/store/clusters.ts';
import { configTopic } from '../../../src/control-plane/topics.ts';
import { jobsIn, JobsServer, turns } from './jobs-server.ts';

describe('GET /api/agent/jobs', () => {
  it('answers an apply job with the whole manifest, its key, its times and its place in the order', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { intentId, jobId } = await server.bring(agent, { values: { replicas: 2 } });
    const answer = await server.poll(agent);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/vnd.service.agent.v1+json' } });
    const [job, ...rest] = jobsIn(answer);
    expect(rest).toEqual([]);
    expect(job).toEqual({
      id: jobId,
      kind: 'apply',
      payload: expect.objectContaining({ apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' }),
      idempotencyKey: 'applicationinstance/shop/podinfo@1',
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
      signature: expect.stringMatching(/^[\w-]+\.\.[\w-]+$/),
      deliveryEpoch: 1,
      generation: 1,
      intentId,
    });
    expect(job?.payload).toMatchObject({
      metadata: {
        namespace: 'shop',
        name: 'podinfo',
        annotations: { 'app.service.io/source': '1.1', 'app.service.io/intent-id': intentId },
      },
      spec: { values: { replicas: 2 } },
    });
    expect(Date.parse(job?.expiresAt ?? '') - Date.parse(job?.createdAt ?? '')).toBe(24 * 3_600_000);
    expect(await server.job(jobId)).toMatchObject({ state: 'delivered' });
  });

  it('answers a delete job with an object reference', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    await server.bring(agent);
    await server.bring(agent, { action: 'uninstall' });
    expect(jobsIn(await server.poll(agent))).toMatchObject([
      {
        kind: 'delete',
        idempotencyKey: 'applicationinstance/shop/podinfo@2',
        payload: {
          apiVersion: 'apps.service.io/v1alpha1',
          kind: 'ApplicationInstance',
          namespace: 'shop',
          name: 'podinfo',
          source: '1.2',
        },
      },
    ]);
  });

  it('answers intent jobs where the cluster is set to them, under the key of the intent', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu', { deliver_intents: 1 });
    const { intentId } = await server.bring(agent);
    const intent = await server.intent(intentId);
    expect(jobsIn(await server.poll(agent))).toMatchObject([
      { kind: 'intent', idempotencyKey: intent.idempotency_key, payload: JSON.parse(intent.record) as object },
    ]);
  });

  it('answers a held poll as soon as an intent is accepted', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const held = await server.hold(agent, 300);
    const { jobId } = await server.bring(agent);
    expect(jobsIn(await held.answer).map(({ id }) => id)).toEqual([jobId]);
  });

  it('answers empty after the wait, 30 s by default, and at once with wait=0', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    expect((await server.poll(agent, 0)).body).toEqual({ jobs: [] });
    const answer = server.agents.get(agent, `/api/agent/jobs?cluster=${agent.id}`);
    let ended = false;
    void answer.finally(() => {
      ended = true;
    });
    await turns(50);
    server.agents.clock.advance(29_500);
    await turns(50);
    expect(ended).toBe(false);
    server.agents.clock.advance(750);
    expect(await answer).toMatchObject({ status: 200, body: { jobs: [] } });
  });

  it('offers a job to every poll until it is acknowledged (A10)', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const { jobId } = await server.bring(agent);
    for (let poll = 0; poll < 5; poll += 1) {
      expect(jobsIn(await server.poll(agent, 300)).map(({ id }) => id)).toEqual([jobId]);
    }
    expect((await server.ack(agent, jobId)).status).toBe(204);
    expect(jobsIn(await server.poll(agent))).toEqual([]);
  });

  it('answers in the order of acceptance', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const ids: string[] = [];
    for (const name of ['c', 'a', 'b']) ids.push((await server.bring(agent, { name })).jobId);
    expect(jobsIn(await server.poll(agent)).map(({ id }) => id)).toEqual(ids);
  });

  it('answers at most a hundred jobs, and the rest once those are acknowledged', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const intents: string[] = [];
    for (let index = 0; index < 103; index += 1) intents.push(await server.accept(agent, { name: `app-${index}` }));
    await server.jobOf(intents.at(-1) ?? '');
    const first = jobsIn(await server.poll(agent));
    expect(first).toHaveLength(100);
    for (const { id } of first) await server.ack(agent, id);
    expect(jobsIn(await server.poll(agent)).map(({ intentId }) => intentId)).toEqual(intents.slice(100));
  });

  it('answers at most 4 MiB of payloads', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    for (let index = 0; index < 10; index += 1) {
      await server.bring(agent, { name: `app-${index}`, values: { text: 'x'.repeat(500_000) } });
    }
    expect(jobsIn(await server.poll(agent))).toHaveLength(8);
  });

  it('ends early and empty when the configuration changes, and the answer tells of it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const held = await server.hold(agent, 300);
    await server.agents.store.write(async (trx) => await raiseConfigRevision(trx, agent.id));
    server.agents.wakeups.notify(configTopic(agent.id));
    expect(await held.answer).toMatchObject({
      status: 200,
      body: { jobs: [] },
      headers: { 'service-config-revision': '3' },
    });
  });

  it('answers at once when the caller says that it has another configuration', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const answer = await server.poll(agent, 300, { 'service-config-revision': '1' });
    expect(answer).toMatchObject({ body: { jobs: [] }, headers: { 'service-config-revision': '2' } });
    const held = await server.hold(agent, 300, { 'service-config-revision': '2' });
    expect(held.ended).toBe(false);
    server.agents.clock.advance(300_250);
    await held.answer;
  });

  it.each(['gitops', 'push'] as const)(
    'answers empty after its wait in %s mode, whatever is in the queue',
    async (mode) => {
      await using server = await JobsServer.start();
      const agent = await server.newAgent('prod-eu');
      await server.bring(agent);
      await server.agents.store.write(async (trx) => {
        await trx.updateTable('clusters').set({ connectivity_mode: mode }).where('id', '=', agent.id).execute();
      });
      const held = await server.hold(agent);
      expect(held.ended).toBe(false);
      server.agents.clock.advance(30_250);
      expect(await held.answer).toMatchObject({ status: 200, body: { jobs: [] } });
    },
  );

  it('ends a held poll with its error when the credential is revoked or the cluster disabled', async () => {
    await using server = await JobsServer.start();
    const { store, wakeups } = server.agents;
    const revoked = await server.newAgent('revoked');
    const disabled = await server.newAgent('disabled');
    const polls = [await server.hold(revoked, 300), await server.hold(disabled, 300)] as const;
    await store.write(async (trx) => {
      await revokeAgentCredentials(trx, revoked.id, 'now');
      await trx.updateTable('clusters').set({ disabled_at: 'now' }).where('id', '=', disabled.id).execute();
    });
    for (const { id } of [revoked, disabled]) wakeups.notify(configTopic(id));
    expect(await polls[0].answer).toMatchObject({ status: 401, body: { error: 'invalid_token' } });
    expect(await polls[1].answer).toMatchObject({ status: 403, body: { error: 'cluster_disabled' } });
  });

  it('refuses another cluster than the credential is for, and audits it', async () => {
    await using server = await JobsServer.start();
    const agent = await server.newAgent('prod-eu');
    const other = await server.newAgent('prod-us');
    const answer = await server.agents.get(agent, `/api/agent/jobs?cluster=${other.id}`);
    expect(answer).toMatchObject({ status: 403, body: { error: 'cluster_mismatch' } });
    const audit = await server.agents.store.db.selectFrom('audit').select(['kind', 'cluster_id', 'reason']).execute();
    expect(audit).toContainEqual({ kind: 'ClusterMismatch', cluster_id: agent.id, reason: 'cluster_mismatch' });
  });

  it.each(['?wait=1', '?cluster=ID&wait=301', '?cluster=ID&wait=-1', '?cluster=ID&wait=1.5', '?cluster=ID&wait='])(
    'refuses %s',
    async (query) => {
      await using server = await JobsServer.start();
      const agent = await server.newAgent('prod-eu');
      const answer = await server.agents.get(agent, `/api/agent/jobs${query.replace('ID', agent.id)}`);
      expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    },
  );

  it('encrypts payloads that hold chart values where the cluster requires it, and fails a job that it cannot', async () => {
    await using server = await JobsServer.start();
    const security = '{"requireSignedPayloads":false,"requireEncryptedSecretPayloads":true}';
    const agent = await server.newAgent('prod-eu', { security });
    const { intentId, jobId } = await server.bring(agent, { values: { a: 1 } });
    const plain = await server.bring(agent, {
      action: 'install',
      name: 'plain',
      catalogEntry: 'podinfo',
      chartVersion: '6.5.0',
    });
    const jobs = jobsIn(await server.poll(agent));
    // The catalog's default values count as well.
    expect(jobs).toEqual([]);
    expect(await server.job(jobId)).toMatchObject({ state: 'closed', outcome: 'failed' });
    expect(await server.intent(intentId)).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^EncryptionKeyMissing: /),
    });
    expect(await server.intent(plain.intentId)).toMatchObject({ state: 'failed' });
  });
});
