import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { newEncryptionKey } from '../../conformance/agent-identity.ts';
import { storeProposal } from '../proposals/stored-proposal.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { silentCluster } from './silent-cluster.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  await plane.putPodinfo();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function ask(cluster: string, body: Record<string, unknown>): Promise<Answer> {
  return await plane.call('POST', `/clusters/${cluster}/mode`, body);
}

function faults({ status, body }: Answer): unknown {
  return [status, body['faults'] ?? body['message']];
}

describe('POST /clusters/{id}/mode', () => {
  it('stores the switch, shows it with its cluster, and answers the same target once more with the same switch', async () => {
    const id = await silentCluster(plane, 'first');
    const asked = await ask('first', { mode: 'pull' });
    expect(asked).toMatchObject({
      status: 202,
      body: {
        switch: {
          clusterId: id,
          clusterSlug: 'first',
          from: 'gitops',
          to: 'pull',
          requestedBy: 'admin',
          objects: { total: 0 },
        },
      },
    });
    const again = await ask(id, { mode: 'pull' });
    expect([again.status, again.body['switch'].id]).toEqual([202, asked.body['switch'].id]);
    expect([asked.body['warnings'], again.body['warnings']]).toEqual([
      undefined,
      [expect.stringMatching(/^sw-\S+ to pull mode was under way already, asked for by admin at \S+Z$/)],
    ]);
    const { body: cluster } = await plane.call('GET', '/clusters/first');
    expect(cluster['modeSwitch']).toMatchObject({ id: asked.body['switch'].id, to: 'pull' });
    expect(cluster['connectivityMode']).toBe('gitops');
    const condition = cluster['conditions'].find(({ type }: { type: string }) => type === 'Switching');
    expect(condition).toMatchObject({ status: 'True', reason: 'SwitchUnderWay' });
    const dry = await ask('first', { mode: 'pull', dryRun: true });
    expect([dry.status, dry.body['switchId']]).toEqual([409, asked.body['switch'].id]);
    const other = await ask('first', { mode: 'gitops' });
    expect([other.status, other.body['switchId']]).toEqual([409, asked.body['switch'].id]);
  });

  it('refuses the mode that the cluster is in', async () => {
    await silentCluster(plane, 'same', 'pull');
    expect(faults(await ask('same', { mode: 'pull' }))).toEqual([409, 'cluster same is in pull mode already']);
  });

  it('refuses fields of another mode, each at its path, and a review that nobody would approve', async () => {
    await silentCluster(plane, 'fields', 'pull');
    expect(faults(await ask('fields', { mode: 'gitops', push: { kubeconfig: 'x' } }))).toEqual([
      400,
      [{ path: '/push', message: 'belongs to mode push only; this switch is to gitops' }],
    ]);
    expect(faults(await ask('fields', { mode: 'push', git: { repository: 'fleet' } }))).toEqual([
      400,
      [{ path: '/git', message: 'belongs to mode gitops only; this switch is to push' }],
    ]);
    expect(faults(await ask('fields', { mode: 'gitops', git: { repository: 'clusters' } }))).toEqual([
      400,
      [expect.objectContaining({ path: '/git/repository' })],
    ]);
    await plane.execute(`UPDATE clusters SET git_settings = '{"requiredApprovals":{"count":0}}' WHERE slug = 'fields'`);
    expect(faults(await ask('fields', { mode: 'gitops', git: { review: 'proposal' } }))).toEqual([
      400,
      [expect.objectContaining({ path: '/git/requiredApprovals/count' })],
    ]);
    expect(
      plane.query("SELECT id FROM mode_switches WHERE cluster_id = (SELECT id FROM clusters WHERE slug = 'fields')"),
    ).toEqual([]);
  });

  it('refuses push without anything to write with, and a kubeconfig that cannot be taken, without quoting it', async () => {
    await silentCluster(plane, 'push', 'pull');
    expect(faults(await ask('push', { mode: 'push' }))).toEqual([
      400,
      [{ path: '/push/kubeconfig', message: expect.stringContaining('servicectl clusters push-access') }],
    ]);
    const secret = 'a-token-that-is-nobody-s';
    const answer = await ask('push', { mode: 'push', push: { kubeconfig: `token: ${secret}` } });
    expect(faults(answer)).toEqual([400, [expect.objectContaining({ path: '/push/kubeconfig' })]]);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
  });

  it('refuses clusters whose operator cannot be told, and says what to do', async () => {
    await plane.newCluster('pending', { connectivityMode: 'pull' });
    for (const body of [{ mode: 'gitops' }, { mode: 'push', dryRun: true }]) {
      expect(faults(await ask('pending', body))).toEqual([409, expect.stringContaining('has not registered yet')]);
    }
    await silentCluster(plane, 'disabled', 'pull');
    await plane.call('POST', '/clusters/disabled/disable');
    expect(faults(await ask('disabled', { mode: 'gitops' }))).toEqual([
      409,
      'cluster disabled is disabled; enable it first',
    ]);
    await silentCluster(plane, 'revoked', 'pull');
    await plane.call('POST', '/clusters/revoked/revoke');
    expect(faults(await ask('revoked', { mode: 'gitops' }))).toEqual([
      409,
      expect.stringContaining('servicectl clusters recovery-command revoked'),
    ]);
  });

  it('makes a repository of the own host that is named for the first time, and says so', async () => {
    await silentCluster(plane, 'named', 'pull', { key: { public_key: newEncryptionKey().publicKey } });
    const dry = await ask('named', { mode: 'gitops', git: { repository: 'shops' }, dryRun: true });
    expect([dry.status, dry.body['warnings']]).toEqual([
      200,
      ["git.repository: there is no repository shops; it would be made on the control plane's own Git host"],
    ]);
    const answer = await ask('named', { mode: 'gitops', git: { repository: 'shops' } });
    expect([answer.status, answer.body['warnings']]).toEqual([
      202,
      ["git.repository: there was no repository shops, so it was made on the control plane's own Git host"],
    ]);
    const again = await ask('named', { mode: 'gitops', git: { repository: 'others' } });
    expect(again.body['warnings']).toEqual([
      expect.stringMatching(/; the git settings given now were not used: cancel the switch first, and ask anew$/),
    ]);
    const { body } = await plane.call('GET', '/repositories');
    expect(body['items'].map(({ name }: { name: string }) => name)).toContain('shops');
    // A switch is to read there.
    expect((await plane.call('DELETE', '/repositories/shops')).status).toBe(409);
  });

  it('refuses to leave gitops mode over open proposals unless they are to be closed', async () => {
    const id = await silentCluster(plane, 'reviewed');
    await storeProposal(plane, id, 'waits');
    const refused = await ask('reviewed', { mode: 'pull' });
    expect([refused.status, refused.body['proposals']]).toEqual([409, [{ id: 'prop-waits', title: 'install' }]]);
    const dry = await ask('reviewed', { mode: 'pull', dryRun: true });
    expect([dry.status, dry.body['switch'].plan]).toMatchObject([
      200,
      { wouldStart: false, proposals: { open: 1, ids: ['prop-waits'] } },
    ]);
    expect((await ask('reviewed', { mode: 'pull', closeProposals: true })).status).toBe(202);
  });
});

describe('a dry run', () => {
  it('says what would be handed over, what comes and goes and what is in the way, and changes nothing', async () => {
    const id = await silentCluster(plane, 'dry', 'gitops', { key: { public_key: newEncryptionKey().publicKey } });
    const { body: intent } = await plane.call('POST', '/clusters/dry/intents', INSTALL);
    await plane.until(String(intent['id']), 'delivered');
    const before = plane.query('SELECT * FROM clusters ORDER BY id');
    const audit = plane.query('SELECT count(*) AS n FROM audit');
    const { status, body } = await ask('dry', { mode: 'pull', dryRun: true });
    expect(status).toBe(200);
    expect(body['switch']).not.toHaveProperty('id');
    expect(body['switch']).toMatchObject({
      clusterId: id,
      dryRun: true,
      from: 'gitops',
      to: 'pull',
      probes: [{ name: 'operator-credential', ok: true }],
      credentials: [
        { kind: 'agent', change: 'kept' },
        { kind: 'git-read', name: 'fleet', change: 'revoked' },
      ],
      plan: {
        wouldStart: true,
        blockers: [],
        epoch: 2,
        objects: {
          total: 1,
          items: [
            { kind: 'ApplicationInstance', namespace: 'shop', name: 'podinfo', action: 'install', generation: 1 },
          ],
          left: [],
        },
        jobs: { open: 0, acknowledged: 0 },
        proposals: { open: 0, ids: [] },
        staleFiles: [],
        config: [
          { field: 'connectivityMode', from: 'gitops', to: 'pull' },
          { field: 'deliveryEpoch', from: '1', to: '2' },
          { field: 'git.repository', from: 'fleet', to: '-' },
          { field: 'git.path', from: 'clusters/dry', to: '-' },
          { field: 'git.review', from: 'direct', to: '-' },
        ],
        operator: expect.stringContaining('not in contact, and waited for: last contact at 2026-01-01T00:00:00.000Z'),
      },
    });
    expect(plane.query('SELECT * FROM clusters ORDER BY id')).toEqual(before);
    expect(plane.query('SELECT count(*) AS n FROM audit')).toEqual(audit);
    expect(plane.query('SELECT id FROM mode_switches WHERE cluster_id = ?', id)).toEqual([]);
  });

  it('finds that the operator would get no credential to read with, and names a repository that is to be made', async () => {
    await silentCluster(plane, 'keyless', 'pull');
    const body = { mode: 'gitops', git: { repository: 'not-there' }, dryRun: true };
    const { body: answer } = await ask('keyless', body);
    expect(answer['switch'].probes).toEqual([
      expect.objectContaining({ name: 'operator-credential', ok: true }),
      expect.objectContaining({ name: 'repository', ok: true, message: expect.stringContaining('is made') }),
      expect.objectContaining({
        name: 'read-credential',
        ok: false,
        message: expect.stringContaining('SERVICE_BASE_URL'),
      }),
    ]);
    expect(answer['switch'].plan).toMatchObject({ wouldStart: false });
    const { body: repositories } = await plane.call('GET', '/repositories');
    expect(JSON.stringify(repositories)).not.toContain('not-there');
  });

  it("says of another host's credential that it is withdrawn, who has it still, and where to delete it otherwise", async () => {
    const write = { kind: 'token', token: 'a-token-of-nobody' };
    await plane.call('PUT', '/repositories/lab', { url: 'https://127.0.0.1:1/acme/lab.git', host: 'git', write });
    await silentCluster(plane, 'lab-one', 'gitops', { git: { repository: 'lab' } });
    const alone = await ask('lab-one', { mode: 'pull', dryRun: true });
    expect(alone.body['switch'].credentials.at(-1)).toEqual({
      kind: 'repository',
      name: 'lab',
      change: 'withdrawn',
      message:
        'the operator is no longer given it; no other cluster uses it: delete it at 127.0.0.1:1, then here: servicectl repositories delete lab',
    });
    await silentCluster(plane, 'lab-two', 'gitops', { git: { repository: 'lab' } });
    const shared = await ask('lab-one', { mode: 'pull', dryRun: true });
    expect(shared.body['switch'].credentials.at(-1).message).toMatch(
      /; it goes on for lab-two; this cluster had it too/,
    );
    await silentCluster(plane, 'lab-three', 'pull');
    const to = await ask('lab-three', { mode: 'gitops', git: { repository: 'lab' }, dryRun: true });
    expect(to.body['switch'].probes).toEqual([
      expect.objectContaining({ name: 'operator-credential', ok: true }),
      expect.objectContaining({ name: 'repository', ok: false, message: expect.stringContaining('docs/git-hosts.md') }),
      expect.objectContaining({ name: 'read-access', ok: true, warning: expect.stringContaining('public') }),
    ]);
  });

  it('is refused for what the switch itself is refused for', async () => {
    await silentCluster(plane, 'dry-same', 'pull');
    expect((await ask('dry-same', { mode: 'pull', dryRun: true })).status).toBe(409);
  });
});

describe('switches of a cluster', () => {
  it('are listed in pages, the newest first, shown one by one, and cancelled once', async () => {
    const id = await silentCluster(plane, 'listed');
    const ids: string[] = [];
    for (const n of [1, 2, 3]) {
      const { body } = await ask('listed', { mode: 'pull' });
      ids.unshift(body['switch'].id);
      const at = `/clusters/listed/mode-switches/${body['switch'].id}`;
      const cancelled = await plane.call('POST', `${at}/cancel`);
      expect([n, cancelled.status]).toEqual([n, 202]);
      await expect
        .poll(async () => (await plane.call('GET', at)).body['state'], { timeout: 10_000, interval: 20 })
        .toBe('rolled-back');
      expect((await plane.call('POST', `${at}/cancel`)).status).toBe(409);
    }
    const first = await plane.call('GET', `/clusters/${id}/mode-switches?limit=2`);
    const second = await plane.call('GET', `/clusters/${id}/mode-switches?limit=2&cursor=${first.body['nextCursor']}`);
    const seen = [...first.body['items'], ...second.body['items']].map((one: { id: string }) => one.id);
    expect([seen, second.body['nextCursor']]).toEqual([ids, undefined]);
    const { body: one } = await plane.call('GET', `/clusters/listed/mode-switches/${ids[0]}`);
    expect(one).toMatchObject({ state: 'rolled-back', phase: 'over', reason: 'cancelled by admin' });
    expect(await plane.call('GET', `/clusters/same/mode-switches/${ids[0]}`)).toMatchObject({ status: 404 });
    expect((await plane.call('GET', '/clusters/listed')).body).not.toHaveProperty('modeSwitch');
    const { body: audit } = await plane.call('GET', `/audit?cluster=${id}&limit=500`);
    const acts = audit['items'].filter(({ kind }: { kind: string }) => kind === 'ModeSwitch');
    expect(acts.map(({ actor, source }: Record<string, string>) => `${source} ${actor}`)).toEqual(
      Array(9).fill('user admin'),
    );
  });
});
