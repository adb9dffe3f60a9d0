import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ApprovingCluster, readStatement } from './approving-cluster.ts';

const SOON = { timeout: 10_000 };

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** As the transaction that approves leaves the rows, before anything is signed. */
async function unsign(intentId: string): Promise<void> {
  await plane.execute('UPDATE approvals SET statement = NULL, statement_kid = NULL WHERE intent_id = ?', intentId);
  await plane.execute('UPDATE intents SET awaits_approval = 1 WHERE id = ?', intentId);
}

describe('a control plane that ends between an approval and its statement', () => {
  it('signs it at its next start, to the same text, and delivers it once', async () => {
    // Out of reach, so that nothing is delivered before.
    const cluster = await ApprovingCluster.create(plane, 'ended', { connectivityMode: 'push' });
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    const before = cluster.statement(id);
    await plane.stop();
    await unsign(id);
    await plane.startAgain();
    await expect.poll(() => cluster.statement(id), SOON).toBe(before);
    await expect
      .poll(() => plane.query('SELECT awaits_approval AS a FROM intents WHERE id = ?', id)[0]?.['a'], SOON)
      .toBeNull();
    expect(await cluster.audit(/^OperationApproved$/)).toHaveLength(1);
  });

  it('signs nothing for an intent that has ended meanwhile', async () => {
    const cluster = await ApprovingCluster.create(plane, 'gone', { connectivityMode: 'push' });
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    const other = await cluster.ask({ name: 'other' });
    for (const one of [id, other]) await cluster.act(one, 'approve', 'anna');
    await plane.stop();
    for (const one of [id, other]) await unsign(one);
    await plane.execute("UPDATE intents SET state = 'superseded' WHERE id = ?", id);
    await plane.startAgain();
    await expect.poll(() => cluster.statement(other), SOON).not.toBe('null');
    expect(cluster.statement(id)).toBe('null');
  });

  it('does not sign what is no longer good', async () => {
    const cluster = await ApprovingCluster.create(plane, 'late', { connectivityMode: 'push' });
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    expect(readStatement(cluster.statement(id)).claims.approvedBy).toBe('anna-late');
    await plane.stop();
    await unsign(id);
    await plane.execute(
      "UPDATE approvals SET statement_expires_at = '2026-01-01T00:00:00.000Z' WHERE intent_id = ?",
      id,
    );
    await plane.startAgain();
    expect(await plane.until(id, 'failed')).toMatchObject({
      reason: expect.stringContaining('was good until 2026-01-01T00:00:00.000Z'),
    });
    expect(cluster.statement(id)).toBe('null');
  });
});

it('an intent that was accepted while nothing asked for it waits for what asks for it by its delivery', async () => {
  const cluster = await ApprovingCluster.create(plane, 'new-need');
  await cluster.requires(undefined);
  // Held like a cluster that is being switched, so that the setting comes first.
  await plane.execute('UPDATE clusters SET delivery_held = 1 WHERE id = ?', cluster.id);
  const id = await cluster.ask();
  await cluster.requires({ count: 1 });
  await plane.execute('UPDATE clusters SET delivery_held = 0 WHERE id = ?', cluster.id);
  const other = await ApprovingCluster.create(plane, 'wakes');
  await other.ask({ name: 'wakes-delivery' });
  await expect
    .poll(async () => (await cluster.intent(id))['reason'], SOON)
    .toMatch(/^Waiting: approval apr-\S+ lacks 1 approval$/);
  expect(cluster.jobs(id)).toEqual([]);
  const { specHash } = await cluster.approval(id);
  await cluster.act(id, 'approve', 'anna', { specHash });
  await plane.until(id, 'delivered');
  expect(readStatement(cluster.jobs(id)[0]?.spec.approval?.statement ?? '').claims.specHash).toBe(specHash);
});
