import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sandboxCluster, type TransportCluster } from '../../support/transport-contract/transport-cluster.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';

const CLUSTER = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster' } as const;
const APP = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', namespace: 'shop' } as const;
const TABLES = ['push_credentials', 'audit', 'clusters', 'channel_messages', 'request_keys'];

let plane: RunningControlPlane;
let cluster: TransportCluster;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  cluster = await sandboxCluster();
});
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** The operator of the one API server registers as this cluster, and its Cluster resource says so. */
async function registersAs(id: string): Promise<void> {
  const metadata = { name: 'here', namespace: 'service-system' };
  const object: KubeObject = { ...CLUSTER, metadata, spec: { controlPlaneBaseUrl: 'https://cp.example.com' } };
  await cluster.admin.apply(object, { fieldManager: 'test', force: true });
  const status = { ...CLUSTER, metadata, status: { clusterId: id } };
  await cluster.admin.apply(status, { fieldManager: 'test', subresource: 'status', force: true });
  await plane.execute("UPDATE clusters SET status = 'Active' WHERE id = ?", id);
}

const conditionOf = ({ body }: Answer, type: string): unknown =>
  (body['conditions'] as { type: string; status: string; reason: string }[])
    .filter((condition) => condition.type === type)
    .map(({ status, reason }) => [status, reason]);

const auditOf = async (slug: string): Promise<string[]> => {
  const { body } = await plane.call('GET', `/audit?cluster=${slug}&limit=100`);
  return (body['items'] as { kind: string }[]).map(({ kind }) => kind);
};

it('takes a kubeconfig with a new cluster, and nowhere shows or stores it in the clear', async () => {
  const { status, body } = await plane.call('POST', '/clusters', {
    slug: 'new',
    displayName: 'new',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    connectivityMode: 'push',
    push: { kubeconfig: cluster.pushKubeconfig },
  });
  const token = /token: (\S+)/.exec(cluster.pushKubeconfig)?.[1] ?? '';
  expect([status, token.length > 20]).toEqual([201, true]);
  expect(body['warnings']).toEqual([expect.stringContaining('push.kubeconfig was not tried')]);
  expect(body['cluster'].push).toMatchObject({ state: 'untried', proof: ['token'], setBy: expect.any(String) });
  const stored = TABLES.map((table) => JSON.stringify(plane.query(`SELECT * FROM ${table}`))).join('');
  expect(JSON.stringify(body) + stored).not.toContain(token);
});

it('refuses one that does not belong to the mode, or is not one', async () => {
  const record = { displayName: 'x', allowedNamespaces: [], allowedCatalogEntries: [], allowedOperationTemplates: [] };
  const pull = { ...record, slug: 'x', push: { kubeconfig: cluster.pushKubeconfig } };
  const wrong = { ...record, slug: 'x', connectivityMode: 'push', push: { kubeconfig: 'a: b' } };
  const answers = [await plane.call('POST', '/clusters', pull), await plane.call('POST', '/clusters', wrong)];
  expect(answers.map(({ status, body }) => [status, body['error'], body['faults'][0].path])).toEqual([
    [400, 'constraint_violated', '/push'],
    [400, 'constraint_violated', '/push/kubeconfig'],
  ]);
  await plane.newCluster('pulled', { connectivityMode: 'pull' });
  const put = await plane.call('PUT', '/clusters/pulled/push-credential', { kubeconfig: cluster.pushKubeconfig });
  expect([put.status, put.body['error']]).toEqual([409, 'conflict']);
  expect(put.body['message']).toContain('servicectl clusters mode pulled push --kubeconfig FILE');
});

it('keeps accepted intents until there is a credential and the operator shows whose API server it is', async () => {
  const id = await plane.newCluster('late', { connectivityMode: 'push' });
  const none = await plane.call('GET', '/clusters/late');
  expect(none.body['push']).toEqual({ state: 'missing' });
  expect(conditionOf(none, 'PushReachable')).toEqual([['False', 'PushCredentialMissing']]);
  const accepted = await plane.call('POST', '/clusters/late/intents', { ...INSTALL, name: 'late' });
  expect([accepted.status, accepted.body['state']]).toEqual([202, 'accepted']);
  // Its operator is not there yet, so nobody can say whose API server it is.
  const put = await plane.call('PUT', '/clusters/late/push-credential', { kubeconfig: cluster.pushKubeconfig });
  expect([put.status, put.body['push'].probe.ok]).toEqual([200, false]);
  await vi.waitFor(async () => {
    const { body } = await plane.call('GET', '/clusters/late');
    expect(body['push']).toMatchObject({ state: 'failing', reach: { message: expect.stringContaining('operator') } });
  }, 30_000);
  expect(await cluster.admin.get({ ...APP, name: 'late' })).toBeUndefined();
  await registersAs(id);
  await plane.until(String(accepted.body['id']), 'delivered');
  const object = await cluster.admin.get<KubeObject>({ ...APP, name: 'late' });
  expect(object?.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
    ['service-control-plane', 'Apply'],
  ]);
  await vi.waitFor(async () => {
    expect(conditionOf(await plane.call('GET', '/clusters/late'), 'PushReachable')).toEqual([['True', 'PushReady']]);
  }, 30_000);
});

it('refuses the kubeconfig of another cluster, and goes on with the one before', async () => {
  const id = await plane.newCluster('mine', { connectivityMode: 'push' });
  await registersAs(id);
  const kubeconfig = cluster.pushKubeconfig;
  expect((await plane.call('PUT', '/clusters/mine/push-credential', { kubeconfig })).status).toBe(200);
  const before = plane.query("SELECT id FROM push_credentials WHERE cluster_id = ? AND state = 'current'", id);
  await registersAs('c-zzzzzzzzzzzzzzzz');
  const answer = await plane.call('PUT', '/clusters/mine/push-credential', { kubeconfig });
  expect([answer.status, answer.body['error'], answer.body['faults']]).toEqual([
    400,
    'constraint_violated',
    [{ path: '/kubeconfig', message: expect.stringMatching(/^same-cluster: .*is that of another cluster/) }],
  ]);
  const after = plane.query("SELECT id FROM push_credentials WHERE cluster_id = ? AND state = 'current'", id);
  expect([before.length, after]).toEqual([1, before]);
});

it('probes what is used, keeps what it found, and revokes what is replaced', async () => {
  const id = await plane.newCluster('probed', { connectivityMode: 'push' });
  expect((await plane.call('POST', '/clusters/probed/push-credential/probe')).status).toBe(409);
  await registersAs(id);
  const kubeconfig = cluster.pushKubeconfig;
  expect((await plane.call('PUT', '/clusters/probed/push-credential', { kubeconfig })).status).toBe(200);
  expect((await plane.call('PUT', '/clusters/probed/push-credential', { kubeconfig })).status).toBe(200);
  const rows = plane.query(
    'SELECT state, credential_sealed FROM push_credentials WHERE cluster_id = ? ORDER BY created_at, state DESC',
    id,
  );
  expect(rows.map((row) => [row['state'], row['credential_sealed'] === null])).toEqual(
    expect.arrayContaining([
      ['revoked', true],
      ['current', false],
    ]),
  );
  const probe = await plane.call('POST', '/clusters/probed/push-credential/probe');
  expect([probe.status, probe.body['push'].state, probe.body['push'].probe.ok]).toEqual([200, 'ready', true]);
  const set = await plane.call('GET', '/audit?cluster=probed&limit=100');
  const said = (set.body['items'] as { kind: string; summary: string }[]).filter(
    ({ kind }) => kind === 'PushCredentialSet',
  );
  expect(said.map(({ summary }) => summary.includes('before it was erased'))).toEqual([true, false]);
  expect(await auditOf('probed')).toEqual(
    expect.arrayContaining(['PushCredentialSet', 'PushCredentialProbed', 'ClusterCreated']),
  );
});

it('stops writing once a probe has found another cluster, says so, and goes on once it is right again', async () => {
  const id = await plane.newCluster('swapped', { connectivityMode: 'push' });
  await registersAs(id);
  await plane.call('PUT', '/clusters/swapped/push-credential', { kubeconfig: cluster.pushKubeconfig });
  const first = await plane.call('POST', '/clusters/swapped/intents', { ...INSTALL, name: 'swapped' });
  await plane.until(String(first.body['id']), 'delivered');
  await registersAs('c-zzzzzzzzzzzzzzzz');
  await plane.call('POST', '/clusters/swapped/push-credential/probe');
  const second = await plane.call('POST', '/clusters/swapped/intents', { ...INSTALL, name: 'wrong' });
  const view = await plane.call('GET', '/clusters/swapped');
  expect(conditionOf(view, 'PushReachable')).toEqual([['False', 'PushFailing']]);
  expect(view.body['push'].reach).toMatchObject({ other: true, message: expect.stringContaining('another cluster') });
  await vi.waitFor(async () => {
    const { body } = await plane.call('GET', `/intents/${String(second.body['id'])}`);
    expect([body['state'], body['reason']]).toEqual(['accepted', expect.stringContaining('another cluster')]);
  }, 30_000);
  expect(await cluster.admin.get({ ...APP, name: 'wrong' })).toBeUndefined();
  await registersAs(id);
  await plane.until(String(second.body['id']), 'delivered');
  const { body } = await plane.call('GET', `/intents/${String(second.body['id'])}`);
  expect([body['reason'] ?? null]).toEqual([null]);
});

it('ends with all credentials of the cluster when these are revoked', async () => {
  const id = await plane.newCluster('revoked', { connectivityMode: 'push' });
  await registersAs(id);
  await plane.call('PUT', '/clusters/revoked/push-credential', { kubeconfig: cluster.pushKubeconfig });
  const { status, body } = await plane.call('POST', '/clusters/revoked/revoke');
  expect([status, body['push']]).toEqual([200, { state: 'missing' }]);
  const rows = plane.query('SELECT state, credential_sealed FROM push_credentials WHERE cluster_id = ?', id);
  expect(rows).toEqual([{ state: 'revoked', credential_sealed: null }]);
  const audit = await plane.call('GET', '/audit?cluster=revoked&limit=1');
  expect(JSON.stringify(audit.body)).toContain('that of push mode too');
});

it('shows that a credential is about to end, and that it has', async () => {
  const id = await plane.newCluster('ending', { connectivityMode: 'push' });
  await registersAs(id);
  await plane.call('PUT', '/clusters/ending/push-credential', { kubeconfig: cluster.pushKubeconfig });
  const ends = async (inMs: number): Promise<unknown[]> => {
    const at = new Date(Date.now() + inMs).toISOString();
    await plane.execute('UPDATE push_credentials SET expires_at = ? WHERE cluster_id = ?', at, id);
    const answer = await plane.call('GET', '/clusters/ending');
    return [answer.body['push'].state === 'expired', conditionOf(answer, 'PushCredentialExpires')];
  };
  const day = 86_400_000;
  expect(await ends(8 * day)).toEqual([false, []]);
  expect(await ends(6 * day)).toEqual([false, [['True', 'PushCredentialEnds']]]);
  expect(await ends(-1000)).toEqual([true, []]);
});

it('says of a delivery that is answered 401 that the credential is refused, with the way to another', async () => {
  const id = await plane.newCluster('ended', { connectivityMode: 'push' });
  await registersAs(id);
  const account = { namespace: 'service-system', name: 'short-lived' };
  await cluster.admin.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }, 'test');
  const kubeconfig = { kind: 'text', yaml: cluster.kubeconfig } as const;
  await using admin = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
  const { token } = await admin.account.requestToken(account, { expirationSeconds: 3600 });
  const yaml = cluster.pushKubeconfig.replace(/token: \S+/, `token: ${token.expose()}`);
  expect((await plane.call('PUT', '/clusters/ended/push-credential', { kubeconfig: yaml })).status).toBe(200);
  await cluster.admin.delete({ apiVersion: 'v1', kind: 'ServiceAccount', ...account });
  await plane.call('POST', '/clusters/ended/intents', { ...INSTALL, name: 'ended' });
  await vi.waitFor(async () => {
    const answer = await plane.call('GET', '/clusters/ended');
    expect(conditionOf(answer, 'PushReachable')).toEqual([['False', 'PushCredentialRefused']]);
    expect(answer.body['push']).toMatchObject({
      state: 'refused',
      reach: { message: expect.stringMatching(/^the API server does not accept the push credential any more: /) },
    });
  }, 30_000);
});
