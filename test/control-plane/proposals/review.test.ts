import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const tip = async (): Promise<string> => (await plane.git('rev-parse', 'main')).trim();
const branches = async (): Promise<string> => await plane.git('branch', '--list', 'proposals/*');
const auditOf = async (cluster: string): Promise<string[]> =>
  (await plane.call('GET', `/audit?cluster=${cluster}&limit=500`)).body['items']
    .map(({ kind, actor = '-' }: { kind: string; actor?: string }) => `${kind} ${actor}`)
    .filter((text: string) => text.startsWith('Proposal'))
    .reverse();

describe('a proposal', () => {
  it('stands on a branch of its own, shows what it changes, and lands with the approval that was missing', async () => {
    const cluster = await ReviewedCluster.create(plane, 'reviewed');
    const proposal = await cluster.propose();
    expect(proposal).toMatchObject({
      clusterSlug: 'reviewed',
      repository: 'fleet',
      state: 'open',
      revision: 1,
      author: 'admin',
      title: expect.stringContaining('podinfo'),
      approvals: { required: { count: 1 }, given: [], missing: { count: 1, roles: {} } },
      reviews: [],
    });
    expect(proposal['branch']).toBe(`proposals/reviewed/${proposal['intentId']}`);
    expect((await plane.git('rev-parse', proposal['branch'])).trim()).toBe(proposal['headCommit']);
    expect(await plane.git('ls-tree', '-r', '--name-only', 'main').catch(() => '')).not.toContain('reviewed');

    const { body: diff } = await plane.call('GET', `/proposals/${proposal['id']}/diff`);
    const manifest = diff['files'].find(({ path }: { path: string }) => path.endsWith('podinfo.yaml'));
    expect(manifest).toMatchObject({ status: 'added', patch: expect.stringContaining('+kind: ApplicationInstance') });
    expect(proposal['blobs'].map(({ after }: { after: string }) => after)).toContain(manifest.after);

    expect(await cluster.act(proposal['id'], 'approve', 'anna', { comment: 'fine', revision: 1 })).toMatchObject({
      status: 200,
      body: { state: 'merging', approvals: { given: ['anna-reviewed'] } },
    });
    const merged = await cluster.until(proposal['id'], 'merged');
    expect(merged['mergedCommit']).toBe(await tip());
    expect(await plane.git('log', '-1', '--format=%B', 'main')).toContain('Approved-By: anna-reviewed');
    expect(await plane.until(proposal['intentId'], 'delivered')).toMatchObject({
      receipt: { mode: 'gitops', commit: merged['mergedCommit'] },
      proposal: { id: proposal['id'], state: 'merged' },
    });
    const { body: after } = await plane.call('GET', `/proposals/${proposal['id']}/diff`);
    expect(after['files']).toEqual(diff['files']);
    expect(await auditOf('reviewed')).toEqual([
      'ProposalOpened -',
      'ProposalApproved anna-reviewed',
      'ProposalMerging -',
      'ProposalMerged -',
    ]);
    const { body: channel } = await plane.call('GET', '/channel?cluster=reviewed');
    expect(channel['items'].map(({ text }: { text: string }) => text)).toContain(
      'reviewed: shop/podinfo 6.5.0 was approved by anna-reviewed: fine',
    );
  });

  it('waits for people and roles, and each person counts once', async () => {
    const git = { requiredApprovals: { count: 2, roles: { security: 1 } }, merge: 'manual' };
    const cluster = await ReviewedCluster.create(plane, 'strict', git);
    await cluster.token('sec', ['security']);
    const { id } = (await cluster.propose()) as { id: string };
    await cluster.act(id, 'approve', 'anna');
    await cluster.act(id, 'approve', 'anna');
    const missing = await cluster.act(id, 'merge', 'anna');
    expect(missing).toMatchObject({
      status: 409,
      body: { error: 'conflict', message: expect.stringContaining('1 approval, 1 of role security') },
    });
    await cluster.act(id, 'approve', 'bert');
    expect((await cluster.act(id, 'merge', 'anna')).body['message']).toContain('lacks 1 of role security');
    const approved = await cluster.act(id, 'approve', 'sec');
    expect(approved.body).toMatchObject({ state: 'open', approvals: { missing: { count: 0, roles: {} } } });
    expect(approved.body['reviews']).toHaveLength(3);
    expect((await cluster.act(id, 'merge', 'anna')).body['state']).toBe('merging');
    await cluster.until(id, 'merged');
    expect((await cluster.act(id, 'merge', 'anna')).status).toBe(200);
    expect((await cluster.act(id, 'approve', 'later')).body['message']).toContain('it is merged');
  });

  it('is not approved by who asked for it, who may comment on it and withdraw it', async () => {
    const cluster = await ReviewedCluster.create(plane, 'own');
    const { id, intentId } = (await cluster.propose()) as { id: string; intentId: string };
    expect(await plane.call('POST', `/proposals/${id}/approve`)).toMatchObject({
      status: 403,
      body: { error: 'forbidden', message: expect.stringContaining('admin asked for this intent') },
    });
    expect((await plane.call('POST', `/proposals/${id}/comment`, { comment: 'please look' })).status).toBe(200);
    expect((await plane.call('POST', `/proposals/${id}/supersede`)).body['state']).toBe('superseded');
    expect((await plane.call('POST', `/proposals/${id}/supersede`)).status).toBe(200);
    expect(await plane.until(intentId, 'superseded')).toMatchObject({
      reason: 'ProposalSuperseded: withdrawn by admin',
      proposal: { state: 'superseded' },
    });
    expect(await cluster.act(id, 'merge')).toMatchObject({ status: 409 });
  });

  it('ends with a rejection: its intent fails with the reason, and nothing lands', async () => {
    const cluster = await ReviewedCluster.create(plane, 'refused');
    const { id, intentId } = (await cluster.propose()) as { id: string; intentId: string };
    const before = await tip();
    expect((await cluster.act(id, 'reject', 'bert', { comment: 'not today' })).body).toMatchObject({
      state: 'rejected',
      closeReason: 'rejected by bert-refused: not today',
    });
    expect(await plane.until(intentId, 'failed')).toMatchObject({
      reason: 'ProposalRejected: rejected by bert-refused: not today',
    });
    expect(await cluster.act(id, 'approve')).toMatchObject({ status: 409, body: { error: 'conflict' } });
    expect((await cluster.act(id, 'reject', 'bert')).status).toBe(200);
    expect(await tip()).toBe(before);
  });

  it('refuses an act on another revision than the one that was looked at, and names both', async () => {
    const cluster = await ReviewedCluster.create(plane, 'read');
    const { id } = (await cluster.propose()) as { id: string };
    expect(await cluster.act(id, 'approve', 'anna', { revision: 7 })).toMatchObject({
      status: 409,
      body: { error: 'conflict', revision: 1, message: expect.stringMatching(/revision 7 .* current one is 1/) },
    });
    expect((await cluster.act(id, 'comment')).body['faults'][0].path).toBe('/comment');
  });

  it('gives way to a newer one of the same object; its branch goes', async () => {
    const cluster = await ReviewedCluster.create(plane, 'newer');
    const first = await cluster.propose();
    const second = await cluster.propose({ chartVersion: '6.6.0' });
    expect(await cluster.show(first['id'])).toMatchObject({
      state: 'superseded',
      closeReason: expect.stringContaining(second['intentId']),
    });
    expect((await plane.until(first['intentId'], 'superseded'))['reason']).toMatch(
      /^ProposalSuperseded: a newer intent/,
    );
    await cluster.act(second['id'], 'approve');
    await cluster.until(second['id'], 'merged');
    await vi.waitFor(async () => expect(await branches()).not.toContain('/newer/'), { timeout: 10_000, interval: 20 });
  });

  it('takes approvals that come at once, each of them once, and lands once', async () => {
    const cluster = await ReviewedCluster.create(plane, 'atonce', { requiredApprovals: { count: 3 } });
    const { id, intentId } = (await cluster.propose()) as { id: string; intentId: string };
    const people = ['anna', 'bert', 'carl'];
    for (const name of people) await cluster.token(name);
    const answers = await Promise.all(
      [...people, ...people].map(async (name) => (await cluster.act(id, 'approve', name)).status),
    );
    expect(answers).toEqual(Array(6).fill(200));
    const merged = await cluster.until(id, 'merged');
    expect(merged['reviews'].map(({ actor }: { actor: string }) => actor).sort()).toEqual(
      people.map((name) => `${name}-atonce`),
    );
    const log = await plane.git('log', '--format=%(trailers:key=Intent-Id,valueonly)', 'main');
    expect(log.split(intentId)).toHaveLength(2);
  });

  it('lists by cluster and state, the newest first, in pages', async () => {
    const cluster = await ReviewedCluster.create(plane, 'listed');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push((await cluster.propose({ name }))['id']);
    await cluster.act(ids[1] ?? '', 'reject');
    const open = await plane.call('GET', '/proposals?cluster=listed&state=open&limit=1');
    expect(open.body['items'].map(({ id }: { id: string }) => id)).toEqual([ids[2]]);
    const next = await plane.call(
      'GET',
      `/proposals?cluster=listed&state=open&limit=1&cursor=${open.body['nextCursor']}`,
    );
    expect(next.body['items'].map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
    expect(await plane.call('GET', '/proposals/prop-nowhere')).toMatchObject({ status: 404 });
  });
});
