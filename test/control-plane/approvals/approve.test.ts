import { compactVerify, importJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approvedSpecHash } from '../../../src/protocol/approval-statement.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ApprovingCluster, readStatement } from './approving-cluster.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('an operation that needs an approval', () => {
  it('waits, shows what it is and what is missing, and is delivered with the signed statement', async () => {
    const cluster = await ApprovingCluster.create(plane, 'waits');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask({ reason: 'web leaks' });
    const approvalId = id.replace('int-', 'apr-');
    expect(await cluster.intent(id)).toMatchObject({
      state: 'accepted',
      reason: `Waiting: approval ${approvalId} lacks 1 approval`,
      approval: { id: approvalId, state: 'pending', given: [], missing: { count: 1, roles: {} } },
    });
    const pending = await cluster.approval(id);
    expect(pending).toMatchObject({
      intentId: id,
      clusterSlug: 'waits',
      action: 'operate',
      kind: 'Operation',
      namespace: 'shop',
      name: 'restart-web',
      template: 'rollout-restart',
      required: { count: 1 },
      requestedBy: 'admin',
      requestReason: 'web leaks',
      manifest: expect.stringContaining('template: rollout-restart'),
    });
    expect(Date.parse(pending['expiresAt']) - Date.parse(pending['requestedAt'])).toBe(7 * 24 * 3600_000);
    expect(cluster.jobs(id)).toEqual([]);

    const { specHash } = pending;
    const approved = await cluster.act(id, 'approve', 'anna', { comment: 'go', specHash });
    expect(approved).toMatchObject({
      status: 200,
      body: { state: 'approved', via: 'api', given: [{ by: 'anna-waits', comment: 'go' }], missing: { count: 0 } },
    });
    const delivered = await plane.until(id, 'delivered');
    expect(delivered['reason']).toBeUndefined();
    const [manifest] = cluster.jobs(id);
    const statement = manifest?.spec.approval?.statement ?? '';
    expect(manifest?.spec.approval).toEqual({ required: true, statement });
    const { claims, kid } = readStatement(statement);
    const { body: after } = await plane.call('GET', `/approvals/${approvalId}`);
    expect(claims).toEqual({
      cluster_id: cluster.id,
      namespace: 'shop',
      name: 'restart-web',
      specHash,
      approvedBy: 'anna-waits',
      requestedBy: 'admin',
      iat: Math.floor(Date.parse(after['decidedAt']) / 1000),
      exp: Math.floor(Date.parse(after['decidedAt']) / 1000) + 24 * 3600,
      jti: approvalId,
    });
    expect(approvedSpecHash(manifest?.spec ?? {})).toBe(specHash);
    const [key] = plane.query('SELECT kid, public_jwk FROM signing_keys WHERE cluster_id = ?', cluster.id);
    expect(kid).toBe(key?.['kid']);
    await compactVerify(statement, await importJWK(JSON.parse(String(key?.['public_jwk'])), 'EdDSA'));
    expect(await cluster.audit(/^Operation/)).toMatchObject([
      { kind: 'OperationRequested', actor: 'admin' },
      {
        kind: 'OperationApproved',
        actor: 'anna-waits',
        summary: `waits: rollout-restart shop/restart-web (approval ${approvalId}) was approved by anna-waits`,
        reason: 'go',
      },
    ]);
    // Nowhere but where it is used.
    const shown = JSON.stringify([after, delivered, await cluster.audit(/./)]);
    expect(shown).not.toContain(statement.slice(-40));
  });

  it('counts people and roles, each person once, and only those who still hold their token and roles', async () => {
    const cluster = await ApprovingCluster.create(plane, 'counts');
    await cluster.requires({ count: 2, roles: { security: 1 } });
    const id = await cluster.ask();
    await cluster.token('sec', ['security']);
    await cluster.act(id, 'approve', 'anna');
    expect((await cluster.act(id, 'approve', 'anna')).body).toMatchObject({ state: 'pending', missing: { count: 1 } });
    expect(await cluster.intent(id)).toMatchObject({ reason: expect.stringContaining('lacks 1 approval, 1 of role') });
    await plane.call('DELETE', '/admin-tokens/anna-counts');
    expect(await cluster.approval(id)).toMatchObject({ given: [], missing: { count: 2, roles: { security: 1 } } });
    // The same name with another token is not the one that approved.
    cluster.forget('anna');
    await cluster.token('anna');
    expect((await cluster.act(id, 'approve', 'sec')).body).toMatchObject({ state: 'pending', missing: { count: 1 } });
    expect((await cluster.act(id, 'approve', 'anna')).body).toMatchObject({
      state: 'approved',
      given: [{ by: 'sec-counts' }, { by: 'anna-counts' }],
    });
    expect(readStatement(cluster.statement(id)).claims.approvedBy).toBe('anna-counts, sec-counts');
    expect((await cluster.act(id, 'approve', 'anna')).status).toBe(200);
    expect(await cluster.act(id, 'approve', 'late')).toMatchObject({ status: 409 });
  });

  it('is asked for what it needed at the request, and for what is needed at the approval', async () => {
    const cluster = await ApprovingCluster.create(plane, 'stricter');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.requires({ count: 2 });
    expect((await cluster.act(id, 'approve', 'anna')).body).toMatchObject({ state: 'pending', required: { count: 2 } });
    await cluster.requires(undefined);
    expect(await cluster.approval(id)).toMatchObject({ required: { count: 1 }, missing: { count: 0 } });
    expect((await cluster.act(id, 'approve', 'anna')).body).toMatchObject({ state: 'approved' });
    await plane.until(id, 'delivered');
  });

  it('ends with a rejection', async () => {
    const cluster = await ApprovingCluster.create(plane, 'rejects');
    await cluster.requires({ count: 2 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    expect((await cluster.act(id, 'reject', 'bert', { comment: 'not today' })).body).toMatchObject({
      state: 'rejected',
      reason: 'rejected by bert-rejects: not today',
    });
    expect(await cluster.intent(id)).toMatchObject({
      state: 'failed',
      reason: 'ApprovalRejected: rejected by bert-rejects: not today',
    });
    expect((await cluster.act(id, 'reject', 'bert')).status).toBe(200);
    expect(await cluster.act(id, 'approve', 'carl')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('it is rejected') },
    });
    expect(cluster.jobs(id)).toEqual([]);
    expect((await cluster.audit(/^Operation(Approved|Rejected)$/)).map(({ kind, actor }) => [kind, actor])).toEqual([
      ['OperationApproved', 'anna-rejects'],
      ['OperationRejected', 'bert-rejects'],
    ]);
    // What never came about takes no name.
    await cluster.requires(undefined);
    await plane.until(await cluster.ask(), 'delivered');
  });

  it('is approved once, however many approve it at the same moment', async () => {
    const cluster = await ApprovingCluster.create(plane, 'at-once');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await cluster.token(name);
    const answers = await Promise.all(names.map(async (name) => await cluster.act(id, 'approve', name)));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    await plane.until(id, 'delivered');
    expect(cluster.jobs(id)).toHaveLength(1);
    expect(await cluster.audit(/^OperationApproved$/)).toHaveLength(1);
    expect(await cluster.audit(/^ApprovalRefused$/)).toHaveLength(3);
  });
});

describe('an install that needs an approval', () => {
  it('carries it beside its spec, of what was looked at, whatever became of the catalog entry', async () => {
    const cluster = await ApprovingCluster.create(plane, 'installs');
    await plane.call('PUT', '/catalog/guarded', { ...PODINFO, approval: { count: 1 } });
    await plane.call('PATCH', '/clusters/installs', { allowedCatalogEntries: ['guarded'] });
    const id = await cluster.ask({
      ...INSTALL,
      catalogEntry: 'guarded',
      operationTemplate: undefined,
      parameters: undefined,
    });
    const { specHash } = await cluster.approval(id);
    await plane.call('PUT', '/catalog/guarded', { ...PODINFO, defaultValues: { ui: { message: 'other' } } });
    await cluster.act(id, 'approve', 'anna', { specHash });
    await plane.until(id, 'delivered');
    const [manifest] = cluster.jobs(id);
    const statement = manifest?.metadata.annotations['app.service.io/approval'] ?? '';
    expect(readStatement(statement).claims).toMatchObject({ specHash, name: 'podinfo', approvedBy: 'anna-installs' });
    expect(approvedSpecHash(manifest?.spec ?? {})).toBe(specHash);
    expect(manifest?.spec).toMatchObject({ values: { ui: { message: 'hello' } } });
    expect((await cluster.audit(/^Deploy/)).map(({ kind }) => kind)).toEqual(['Deploy', 'DeployApproved']);
  });

  it('is needed for all that is asked for in a namespace, uninstalls too', async () => {
    const cluster = await ApprovingCluster.create(plane, 'namespaces', { allowedNamespaces: ['shop', 'vault'] });
    const changed = await plane.call('PATCH', '/clusters/namespaces', { approvalNamespaces: ['vault'] });
    expect(changed.body['approvalNamespaces']).toEqual(['vault']);
    const plain = { operationTemplate: undefined, parameters: undefined };
    await plane.until(await cluster.ask({ ...INSTALL, ...plain }), 'delivered');
    const install = await cluster.ask({ ...INSTALL, ...plain, namespace: 'vault' });
    expect(await cluster.intent(install)).toMatchObject({ approval: { state: 'pending' } });
    await cluster.act(install, 'approve', 'anna');
    await plane.until(install, 'delivered');
    const uninstall = await cluster.ask({
      ...plain,
      action: 'uninstall',
      name: 'podinfo',
      namespace: 'vault',
    });
    expect(await cluster.approval(uninstall)).toMatchObject({ action: 'uninstall', state: 'pending' });
    expect((await cluster.act(uninstall, 'approve', 'anna')).body).toMatchObject({ state: 'approved' });
    await plane.until(uninstall, 'delivered');
    expect((await plane.call('PATCH', '/clusters/namespaces', { approvalNamespaces: [] })).body).toMatchObject({
      approvalNamespaces: [],
    });
  });
});

it('lists approvals by cluster and state, the newest first, without their manifests', async () => {
  const cluster = await ApprovingCluster.create(plane, 'lists');
  await cluster.requires({ count: 1 });
  const first = await cluster.ask({ name: 'first' });
  const second = await cluster.ask({ name: 'second' });
  await cluster.act(first, 'reject', 'anna');
  const list = async (query: string): Promise<unknown> =>
    (await plane.call('GET', `/approvals?cluster=lists${query}`)).body['items'];
  expect(await list('')).toMatchObject([{ intentId: second }, { intentId: first }]);
  expect(await list('&state=pending')).toMatchObject([{ intentId: second }]);
  expect(JSON.stringify(await list(''))).not.toContain('manifest');
  expect((await plane.call('GET', '/approvals?state=odd')).status).toBe(400);
  const pages = await plane.call('GET', '/approvals?cluster=lists&limit=1');
  expect(pages.body['items']).toHaveLength(1);
  const next = await plane.call('GET', `/approvals?cluster=lists&limit=1&cursor=${pages.body['nextCursor']}`);
  expect(next.body['items']).toMatchObject([{ intentId: first }]);
  await cluster.requires(undefined);
});
