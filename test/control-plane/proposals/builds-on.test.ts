import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** A cluster on which podinfo stands with one replica. */
async function installed(slug: string): Promise<ReviewedCluster> {
  const cluster = await ReviewedCluster.create(plane, slug);
  const { id } = (await cluster.propose({ values: { replicas: 1 } })) as { id: string };
  await cluster.act(id, 'approve');
  await cluster.until(id, 'merged');
  return cluster;
}

describe('an update of what somebody else has proposed', () => {
  const update = { action: 'update', chartVersion: '6.6.0' };
  const file = async (slug: string): Promise<string> =>
    await plane.git('show', `main:clusters/${slug}/apps/shop/podinfo.yaml`);

  it('carries nothing of it, so its author approves none of his own values there', async () => {
    const cluster = await installed('undecided');
    const mallory = await cluster.token('mallory');
    const evil = { action: 'update', namespace: 'shop', name: 'podinfo', values: { image: 'evil' } };
    const { body } = await plane.call('POST', '/clusters/undecided/intents', evil, { token: mallory });
    const { proposal } = await plane.until(String(body['id']), 'proposed');
    expect((await cluster.act(proposal.id, 'approve', 'mallory')).status).toBe(403);
    const other = await cluster.propose(update);
    expect((await cluster.show(proposal.id))['state']).toBe('superseded');
    await cluster.act(other['id'], 'approve', 'mallory');
    await cluster.until(other['id'], 'merged');
    const text = await file('undecided');
    expect(text).not.toContain('evil');
    expect(text).toContain('replicas: 1');
  });

  it('carries nothing either of what is accepted and not proposed yet', async () => {
    const cluster = await installed('early');
    const [first, second] = [cluster.ask({ action: 'update', values: { image: 'evil' } }), cluster.ask(update)];
    await first;
    const { proposal } = await plane.until(await second, 'proposed');
    const record = plane.query(
      'SELECT record FROM intents WHERE id = ?',
      (await cluster.show(proposal.id))['intentId'],
    );
    expect(JSON.parse(String(record[0]?.['record']))).toMatchObject({ values: { replicas: 1 }, chartVersion: '6.6.0' });
  });

  it('is refused while that is being merged, since it would take back what was approved', async () => {
    const cluster = await installed('merges');
    const { id } = (await cluster.propose({ action: 'update', values: { replicas: 2 } })) as { id: string };
    await plane.execute("UPDATE proposals SET state = 'merging' WHERE id = ?", id);
    const answer = await plane.call('POST', '/clusters/merges/intents', {
      ...update,
      namespace: 'shop',
      name: 'podinfo',
    });
    expect([answer.status, answer.body]).toMatchObject([409, { error: 'conflict', proposalId: id }]);
  });
});
