import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from '../proposals/reviewed-cluster.ts';
import { storeProposal } from '../proposals/stored-proposal.ts';
import { ApprovingCluster, RESTART } from './approving-cluster.ts';
import { storeApproval } from './stored-approval.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('an approval is refused, audited, and nothing runs', () => {
  it('by who asked for it, by whichever token', async () => {
    const cluster = await ApprovingCluster.create(plane, 'own');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask({}, 'anna');
    expect(await cluster.act(id, 'approve', 'anna')).toMatchObject({
      status: 403,
      body: { error: 'forbidden', message: expect.stringContaining('anna-own asked for this and cannot approve it') },
    });
    await plane.call('DELETE', '/admin-tokens/anna-own');
    cluster.forget('anna');
    expect(await cluster.act(id, 'approve', 'anna')).toMatchObject({ status: 403 });
    // The token that asked, under another name by now.
    const bert = await cluster.token('bert');
    await plane.execute(
      'UPDATE approvals SET requested_with = (SELECT token_hash FROM admin_tokens WHERE name = ?) WHERE intent_id = ?',
      'bert-own',
      id,
    );
    expect(bert).toMatch(/^svcadm/);
    expect(await cluster.act(id, 'approve', 'bert')).toMatchObject({ status: 403 });
    expect(await cluster.audit(/^ApprovalRefused$/)).toMatchObject([
      { actor: 'anna-own', reason: expect.stringMatching(/^forbidden: anna-own asked for this/) },
      { actor: 'anna-own' },
      { actor: 'bert-own' },
    ]);
    expect(cluster.jobs(id)).toEqual([]);
    expect(await cluster.intent(id)).toMatchObject({ state: 'accepted', approval: { state: 'pending' } });
    // It can be taken back.
    expect((await cluster.act(id, 'reject', 'anna')).body).toMatchObject({ state: 'rejected' });
  });

  it('of another spec than the one that it is', async () => {
    const cluster = await ApprovingCluster.create(plane, 'other-spec');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    const { specHash } = await cluster.approval(id);
    expect(await cluster.act(id, 'approve', 'anna', { specHash: 'sha256-of-something-else' })).toMatchObject({
      status: 409,
      body: { error: 'conflict', specHash, message: expect.stringContaining('sha256-of-something-else was looked at') },
    });
    expect(await cluster.audit(/^ApprovalRefused$/)).toMatchObject([
      { actor: 'anna-other-spec', reason: expect.stringMatching(/^conflict: the spec sha256-of-something-else/) },
    ]);
  });

  it('where the cluster is disabled, while a rejection is taken', async () => {
    const cluster = await ApprovingCluster.create(plane, 'disabled');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await plane.call('POST', '/clusters/disabled/disable');
    expect(await cluster.act(id, 'approve', 'anna')).toMatchObject({
      status: 403,
      body: { error: 'cluster_disabled', message: expect.stringContaining('enable it first') },
    });
    expect((await cluster.act(id, 'reject', 'anna')).body).toMatchObject({ state: 'rejected' });
    const gone = await ApprovingCluster.create(plane, 'deleted');
    const other = await gone.ask();
    await plane.call('DELETE', '/clusters/deleted?force=true');
    expect((await gone.act(other, 'approve', 'anna')).status).toBe(404);
    expect(plane.query('SELECT id FROM approvals WHERE cluster_id = ?', gone.id)).toEqual([]);
  });

  it('by another organization, and of what needs none', async () => {
    const cluster = await ApprovingCluster.create(plane, 'foreign');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    const token = plane.addOrganization('other');
    const { id: approval } = await cluster.approval(id);
    expect((await plane.call('POST', `/intents/${id}/approve`, {}, { token })).status).toBe(404);
    expect((await plane.call('GET', `/approvals/${approval}`, undefined, { token })).status).toBe(404);
    expect((await plane.call('GET', '/approvals', undefined, { token })).body['items']).toEqual([]);
    await cluster.requires(undefined);
    const plain = await cluster.ask({ name: 'plain' });
    expect(await cluster.act(plain, 'approve', 'anna')).toMatchObject({
      status: 409,
      body: { message: `intent ${plain} needs no approval` },
    });
  });

  it.for(['approvals', 'proposals'])('by another organization that has the id of one of our %s', async (what) => {
    const cluster = await ApprovingCluster.create(plane, `leaked-${what}`, { connectivityMode: 'gitops' });
    const { approval } = await storeApproval(plane, cluster.id, 'leaked');
    const id = what === 'approvals' ? approval : await storeProposal(plane, cluster.id, 'leaked-too');
    const token = plane.addOrganization(`finds-${what}`);
    expect((await plane.call('GET', `/${what}/${id}`, undefined, { token })).status).toBe(404);
    expect(await cluster.audit(/^OrganizationMismatch$/)).toMatchObject([
      { source: 'user', summary: expect.stringContaining(`called GET /api/v1/${what}/`) },
    ]);
  });

  it('with a body that says something else', async () => {
    const cluster = await ApprovingCluster.create(plane, 'bodies');
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.token('anna');
    const bodies = [
      { comment: 'a\u0000b' },
      { specHash: '' },
      { specHash: 'a\u001b[31m' },
      { specHash: 'a b' },
      { revision: 1 },
      [],
      'null',
    ] as const;
    const answers = await Promise.all(bodies.map(async (body) => await cluster.act(id, 'approve', 'anna', body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 400));
    expect((await cluster.act(id, 'reject', 'anna', { specHash: 'x' })).status).toBe(400);
    expect(await cluster.audit(/^ApprovalRefused$/)).toEqual([]);
  });
});

describe('a proposal', () => {
  it('is not approved by its author, nor in a revision that was not looked at, and that is audited', async () => {
    await plane.call('PUT', '/operation-templates/rollout-restart', { approval: { count: 1 } });
    const cluster = await ReviewedCluster.create(plane, 'proposed');
    const { id, intentId } = await cluster.propose({ ...RESTART, catalogEntry: undefined, chartVersion: undefined });
    expect((await plane.call('POST', `/proposals/${id}/approve`, {})).status).toBe(403);
    for (const verb of ['approve', 'merge'])
      expect((await cluster.act(id, verb, 'anna', { revision: 7 })).status).toBe(409);
    expect((await cluster.act(id, 'merge')).status).toBe(409);
    const { body } = await plane.call('GET', '/audit?cluster=proposed&kind=ApprovalRefused');
    expect(body['items'].reverse()).toMatchObject([
      {
        actor: 'admin',
        source: 'user',
        summary: expect.stringMatching(new RegExp(`^proposed: proposal ${id} \\(.*\\) was not approved by admin$`)),
        reason: expect.stringMatching(/^forbidden: admin asked for this intent/),
      },
      { actor: 'anna-proposed', reason: expect.stringMatching(/^conflict: revision 7 was looked at/) },
      { actor: 'anna-proposed', summary: expect.stringContaining('was not merged by anna-proposed') },
      { actor: 'anna-proposed', reason: expect.stringMatching(/^conflict: revision 1 lacks 1 approval/) },
    ]);
    expect((await plane.call('GET', `/intents/${intentId}`)).body['state']).toBe('proposed');
  });
});

describe('an intent that waits for its approval', () => {
  const install = { ...INSTALL, operationTemplate: undefined, parameters: undefined, catalogEntry: 'guarded' };

  async function guarded(slug: string): Promise<ApprovingCluster> {
    const cluster = await ApprovingCluster.create(plane, slug, { allowedCatalogEntries: ['guarded', 'podinfo'] });
    await plane.call('PUT', '/catalog/guarded', { ...PODINFO, approval: { count: 1 } });
    return cluster;
  }

  it('is superseded by a newer one that is delivered, and cannot be approved then', async () => {
    const cluster = await guarded('overtaken');
    const older = await cluster.ask(install);
    const newer = await cluster.ask({ ...install, chartVersion: '6.6.0' });
    await cluster.act(newer, 'approve', 'anna');
    await plane.until(newer, 'delivered');
    await plane.until(older, 'superseded');
    expect(await cluster.act(older, 'approve', 'anna')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('a newer intent about the same object took its place') },
    });
    expect(await cluster.audit(/^ApprovalRefused$/)).toHaveLength(1);
    expect(cluster.jobs(older)).toEqual([]);
    expect(await cluster.untilApproval(older, 'withdrawn')).toMatchObject({ reason: 'its intent is superseded' });
  });

  it('does not give way to a newer one that is rejected, and is delivered before one that waits', async () => {
    const cluster = await guarded('not-overtaken');
    const first = await cluster.ask(install);
    const second = await cluster.ask({ ...install, chartVersion: '6.6.0' });
    const third = await cluster.ask({ ...install, chartVersion: '6.7.0' });
    await cluster.act(third, 'reject', 'anna');
    await cluster.act(first, 'approve', 'anna');
    await plane.until(first, 'delivered');
    expect(await cluster.intent(second)).toMatchObject({ state: 'accepted', approval: { state: 'pending' } });
    await cluster.act(second, 'approve', 'anna');
    await plane.until(second, 'delivered');
    expect(cluster.jobs(second)[0]?.spec).toMatchObject({ chart: { version: '6.6.0' } });
  });

  it('holds up no newer one that needs none, and no other object', async () => {
    const cluster = await guarded('not-held');
    const older = await cluster.ask(install);
    const other = await cluster.ask({ ...install, name: 'other', catalogEntry: 'podinfo' });
    const newer = await cluster.ask({ ...install, catalogEntry: 'podinfo' });
    await plane.until(other, 'delivered');
    await plane.until(newer, 'delivered');
    await plane.until(older, 'superseded');
  });

  it('is nothing that an update builds on, before it is approved and after it was rejected', async () => {
    const cluster = await guarded('base');
    const plain = { ...install, catalogEntry: 'podinfo', values: { ui: { color: 'blue' } } };
    await plane.until(await cluster.ask(plain), 'delivered');
    const update = { action: 'update', operationTemplate: undefined, parameters: undefined, name: 'podinfo' };
    const waiting = await cluster.ask({ ...update, catalogEntry: 'guarded', values: { ui: { color: 'evil' } } });
    const next = await cluster.ask({ ...update, chartVersion: '6.6.0' });
    await plane.until(next, 'delivered');
    expect(cluster.jobs(next)[0]?.spec).toMatchObject({ catalogEntry: 'podinfo', values: { ui: { color: 'blue' } } });
    expect((await cluster.intent(waiting))['state']).toBe('superseded');
    const rejected = await cluster.ask({ ...update, catalogEntry: 'guarded', values: { ui: { color: 'evil' } } });
    await cluster.act(rejected, 'reject', 'anna');
    const last = await cluster.ask({ ...update, chartVersion: '6.7.0' });
    await plane.until(last, 'delivered');
    expect(cluster.jobs(last)[0]?.spec).toMatchObject({ catalogEntry: 'podinfo', values: { ui: { color: 'blue' } } });
  });

  it('is named where an update has nothing else to build on', async () => {
    const cluster = await guarded('nothing-else');
    const id = await cluster.ask(install);
    const approval = id.replace('int-', 'apr-');
    const update = { action: 'update', namespace: 'shop', name: 'podinfo', chartVersion: '6.6.0' };
    const refused = await plane.call('POST', '/clusters/nothing-else/intents', update);
    expect(refused.body['faults'][0].message).toContain(`only waits for approval on this cluster (${approval})`);
    const uninstall = { action: 'uninstall', namespace: 'shop', name: 'podinfo' };
    const other = await plane.call('POST', '/clusters/nothing-else/intents', uninstall);
    expect(other.body['faults'][0].message).toContain('reject that intent instead');
  });

  it('takes the name of its operation', async () => {
    const cluster = await guarded('name-taken');
    await cluster.requires({ count: 1 });
    await cluster.ask();
    const again = {
      action: 'operate',
      namespace: 'shop',
      name: 'restart-web',
      operationTemplate: 'rollout-restart',
      parameters: { name: 'web' },
    };
    const refused = await plane.call('POST', '/clusters/name-taken/intents', again);
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringContaining('choose another name') } });
  });
});
