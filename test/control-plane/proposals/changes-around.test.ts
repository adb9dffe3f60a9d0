import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

const clock = new SkippingClock();
let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const patch = async (cluster: ReviewedCluster, git: unknown): Promise<void> => {
  const answer = await plane.call('PATCH', `/clusters/${cluster.slug}`, { git });
  expect([answer.status, answer.body]).toEqual([200, answer.body]);
};

/** Lets the loop have its next turn until the proposal is in that state. */
async function untilSkipping(cluster: ReviewedCluster, id: string, state: string): Promise<void> {
  await vi.waitFor(
    async () => {
      clock.skip(31_000);
      expect((await cluster.show(id))['state']).toBe(state);
    },
    { timeout: 20_000, interval: 100 },
  );
}

describe('an open proposal, when around it', () => {
  it('the cluster goes over to direct commits: it stays under review, and a newer intent lands past it', async () => {
    const cluster = await ReviewedCluster.create(plane, 'direct');
    const [first, other] = [await cluster.propose({ name: 'a' }), await cluster.propose({ name: 'b' })];
    await patch(cluster, { review: 'direct' });
    const direct = await cluster.ask({ name: 'a', chartVersion: '6.6.0' });
    await plane.until(direct, 'delivered');
    expect(await cluster.show(first['id'])).toMatchObject({ state: 'superseded' });
    expect(await cluster.show(other['id'])).toMatchObject({ state: 'open' });
    await cluster.act(other['id'], 'approve');
    await cluster.until(other['id'], 'merged');
    await patch(cluster, { review: 'proposal' });
    expect((await cluster.propose({ name: 'a', action: 'update', chartVersion: '6.7.0' }))['state']).toBe('open');
  });

  it('its author asks for fewer approvals: that counts for what is proposed afterwards alone', async () => {
    const cluster = await ReviewedCluster.create(plane, 'bar', { requiredApprovals: { count: 2, roles: { sec: 1 } } });
    const mallory = await cluster.token('mallory');
    const ask = async (name: string): Promise<string> => {
      const intent = { ...INSTALL, name };
      const { body } = await plane.call('POST', '/clusters/bar/intents', intent, { token: mallory });
      return String((await plane.until(String(body['id']), 'proposed'))['proposal'].id);
    };
    const id = await ask('before');
    const none = { git: { requiredApprovals: { count: 0 }, merge: 'manual' } };
    expect((await plane.call('PATCH', '/clusters/bar', none, { token: mallory })).status).toBe(200);
    const refused = await cluster.act(id, 'merge', 'mallory');
    expect([refused.status, refused.body['message']]).toEqual([409, expect.stringContaining('2 approvals')]);
    expect((await cluster.show(id))['approvals'].required).toEqual({ count: 2, roles: { sec: 1 } });
    const after = await ask('after');
    expect((await cluster.act(after, 'merge', 'mallory')).status).toBe(200);
    await cluster.until(after, 'merged');
  });

  it('more approvals are asked for, and then not: what has as many as when it was proposed is merged', async () => {
    const cluster = await ReviewedCluster.create(plane, 'counts', { requiredApprovals: { count: 2 } });
    const { id } = (await cluster.propose({ name: 'a' })) as { id: string };
    await cluster.act(id, 'approve');
    await patch(cluster, { requiredApprovals: { count: 3 } });
    expect((await cluster.act(id, 'approve', 'bert')).body).toMatchObject({ state: 'open' });
    await patch(cluster, { requiredApprovals: { count: 2 } });
    await untilSkipping(cluster, id, 'merged');
  });

  it("the approver's token is deleted: the approval no longer counts", async () => {
    const cluster = await ReviewedCluster.create(plane, 'left', { merge: 'manual' });
    const { id } = (await cluster.propose()) as { id: string };
    expect((await cluster.act(id, 'approve', 'anna')).body['approvals'].given).toEqual(['anna-left']);
    await plane.call('DELETE', '/admin-tokens/anna-left');
    expect((await cluster.show(id))['approvals'].given).toEqual([]);
    expect((await cluster.act(id, 'merge', 'bert')).status).toBe(409);
  });

  it('the cluster is disabled: nothing is merged until it is enabled again', async () => {
    const cluster = await ReviewedCluster.create(plane, 'off');
    const { id } = (await cluster.propose()) as { id: string };
    await plane.call('POST', '/clusters/off/disable');
    expect((await cluster.act(id, 'approve')).body).toMatchObject({
      state: 'open',
      approvals: { missing: { count: 0 } },
    });
    expect(await cluster.act(id, 'merge')).toMatchObject({ status: 403, body: { error: 'cluster_disabled' } });
    await plane.call('POST', '/clusters/off/enable');
    await untilSkipping(cluster, id, 'merged');
  });

  it('the catalog entry goes: it fails at its merge with the reason, and so does its intent', async () => {
    const cluster = await ReviewedCluster.create(plane, 'entry');
    await plane.call('PUT', '/catalog/gone', PODINFO);
    await plane.call('PATCH', '/clusters/entry', { allowedCatalogEntries: ['gone'] });
    const proposal = await cluster.propose({ catalogEntry: 'gone' });
    await plane.execute("DELETE FROM catalog_entries WHERE name = 'gone'");
    await cluster.act(proposal['id'], 'approve');
    const failed = await cluster.until(proposal['id'], 'failed');
    expect(failed['closeReason']).toMatch(/^NotRenderable: /);
    expect((await plane.until(proposal['intentId'], 'failed'))['reason']).toMatch(/NotRenderable/);
  });

  it.each([
    ['uninstall', 'withdraw that proposal instead'],
    ['update', 'wait until it is merged, or install it anew'],
  ])(
    'an %s is asked for while the install is still open: there is nothing yet that it could be of',
    async (action, what) => {
      const cluster = await ReviewedCluster.create(plane, `never-${action}`);
      const install = await cluster.propose();
      const about = { action, namespace: 'shop', name: 'podinfo' };
      const { status, body } = await plane.call('POST', `/clusters/never-${action}/intents`, about);
      expect([status, body['message']]).toEqual([400, expect.stringContaining(what)]);
      expect(body['message']).toContain(install['id']);
      const again = await cluster.propose({ chartVersion: '6.6.0' });
      expect((await cluster.show(install['id']))['state']).toBe('superseded');
      expect(again['state']).toBe('open');
    },
  );

  it('the cluster is deleted: its proposals go with it', async () => {
    const cluster = await ReviewedCluster.create(plane, 'ended');
    const { id } = (await cluster.propose()) as { id: string };
    await cluster.act(id, 'comment', 'anna', { comment: 'a' });
    expect((await plane.call('DELETE', '/clusters/ended?force=true')).status).toBe(204);
    expect((await plane.call('GET', `/proposals/${id}`)).status).toBe(404);
    expect(plane.query('SELECT * FROM proposal_reviews WHERE proposal_id = ?', id)).toEqual([]);
  });

  it('somebody pushed to its branch: the branch is left to them when it is closed', async () => {
    const cluster = await ReviewedCluster.create(plane, 'pushed');
    const proposal = await cluster.propose();
    const other = await cluster.propose({ name: 'other' });
    await plane.git('update-ref', `refs/heads/${proposal['branch']}`, other['headCommit']);
    await cluster.act(proposal['id'], 'reject');
    await cluster.act(other['id'], 'reject');
    const settled = () =>
      plane.query(
        "SELECT branch_settled_at AS at FROM proposals WHERE cluster_id IN (SELECT id FROM clusters WHERE slug = 'pushed')",
      );
    await vi.waitFor(() => expect(settled().every(({ at }) => at !== null)).toBe(true), {
      timeout: 10_000,
      interval: 20,
    });
    const branches = await plane.git('branch', '--list', 'proposals/pushed/*', '--format=%(refname:short)');
    expect(branches.trim()).toBe(proposal['branch']);
  });
});

describe('what is asked for after a proposal that never landed', () => {
  const values = async (id: string): Promise<unknown> =>
    JSON.parse(String(plane.query('SELECT record FROM intents WHERE id = ?', id)[0]?.['record'])).values;

  it('builds on what stands: rejected values are not carried into the next update', async () => {
    const cluster = await ReviewedCluster.create(plane, 'carried');
    const { id } = (await cluster.propose({ values: { replicas: 1 } })) as { id: string };
    await cluster.act(id, 'approve');
    await cluster.until(id, 'merged');
    const rejected = await cluster.propose({ action: 'update', values: { replicas: 99 } });
    await cluster.act(rejected['id'], 'reject');
    const next = await cluster.propose({ action: 'update', chartVersion: '6.6.0' });
    expect(await values(next['intentId'])).toEqual({ replicas: 1 });
  });

  it('may be an install again after a rejected install, and an update after a rejected or withdrawn uninstall', async () => {
    const cluster = await ReviewedCluster.create(plane, 'again');
    await cluster.act((await cluster.propose())['id'], 'reject');
    const { id } = (await cluster.propose()) as { id: string };
    await cluster.act(id, 'approve');
    await cluster.until(id, 'merged');
    for (const verb of ['reject', 'supersede']) {
      const uninstall = { action: 'uninstall', namespace: 'shop', name: 'podinfo' };
      const { body } = await plane.call('POST', '/clusters/again/intents', uninstall);
      await cluster.act((await plane.until(body['id'], 'proposed'))['proposal'].id, verb);
    }
    expect((await cluster.propose({ action: 'update', chartVersion: '6.6.0' }))['state']).toBe('open');
  });
});
