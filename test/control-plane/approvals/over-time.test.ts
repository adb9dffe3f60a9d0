import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ApprovingCluster, readStatement } from './approving-cluster.ts';

const SOON = { timeout: 10_000 };

const HOUR_MS = 3600_000;

let plane: RunningControlPlane;
const clock = new SkippingClock();

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** In push mode without a credential nothing is delivered: what is approved waits. */
const OUT_OF_REACH = { connectivityMode: 'push' };

describe('with time', () => {
  it('a request that nobody decided falls with its intent, and says so', async () => {
    const cluster = await ApprovingCluster.create(plane, 'falls');
    await cluster.requires({ count: 2 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    clock.skip(7 * 24 * HOUR_MS);
    expect(await cluster.act(id, 'approve', 'bert')).toMatchObject({ status: 409 });
    const { expiresAt } = await cluster.untilApproval(id, 'expired');
    expect(await cluster.intent(id)).toMatchObject({
      state: 'failed',
      reason: `ApprovalExpired: not given by ${expiresAt}, when its time was over`,
    });
    expect(await cluster.audit(/^ApprovalExpired$/)).toMatchObject([
      { summary: expect.stringContaining(`was not given by ${expiresAt}`) },
    ]);
    expect(await cluster.act(id, 'approve', 'bert')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('it is expired (not given by') },
    });
    expect(cluster.jobs(id)).toEqual([]);
  });

  it('what was approved and did not reach its cluster while it was good ends, and says why', async () => {
    const cluster = await ApprovingCluster.create(plane, 'offline', OUT_OF_REACH);
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    const { body } = await cluster.act(id, 'approve', 'anna');
    expect((await cluster.intent(id))['state']).toBe('accepted');
    const statement = cluster.statement(id);
    clock.skip(24 * HOUR_MS - 60_000);
    expect((await cluster.intent(id))['state']).toBe('accepted');
    expect(readStatement(statement).claims.exp).toBe(Math.floor(Date.parse(body['statementExpiresAt']) / 1000));
    clock.skip(90_000);
    expect(await plane.until(id, 'failed')).toMatchObject({
      reason: `ApprovalExpired: approval ${body['id']} was good until ${body['statementExpiresAt']}, and its cluster had not taken it by then; ask for it anew`,
    });
    expect(await cluster.audit(/^ApprovalExpired$/)).toMatchObject([
      {
        summary: expect.stringMatching(
          /^offline: rollout-restart shop\/restart-web .* was good until .*, and its cluster had not taken it by then/,
        ),
      },
    ]);
    // Kept no longer than it is good.
    clock.skip(31_000);
    await expect.poll(() => cluster.statement(id), SOON).toBe('null');
  });
});

describe('the key that signed an approval', () => {
  it('may be rotated: the approval stays as it is', async () => {
    const cluster = await ApprovingCluster.create(plane, 'rotated', OUT_OF_REACH);
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    const statement = cluster.statement(id);
    await plane.call('POST', '/clusters/rotated/signing-keys');
    clock.skip(31_000);
    const second = await cluster.ask({ name: 'second' });
    await cluster.act(second, 'approve', 'anna');
    expect(cluster.statement(id)).toBe(statement);
    expect(readStatement(cluster.statement(second)).kid).not.toBe(readStatement(statement).kid);
  });

  it('is revoked: what waits is signed anew by the present one, for the same time and the same single use', async () => {
    const cluster = await ApprovingCluster.create(plane, 'revoked', OUT_OF_REACH);
    await cluster.requires({ count: 1 });
    const id = await cluster.ask();
    await cluster.act(id, 'approve', 'anna');
    const before = readStatement(cluster.statement(id));
    const rotated = await plane.call('POST', '/clusters/revoked/signing-keys');
    expect(rotated.status).toBe(201);
    await plane.call('DELETE', `/clusters/revoked/signing-keys/${before.kid}`);
    await expect.poll(() => cluster.statement(id), SOON).not.toBe('null');
    await expect.poll(() => readStatement(cluster.statement(id)).kid, SOON).not.toBe(before.kid);
    const after = readStatement(cluster.statement(id));
    expect(after.claims).toEqual(before.claims);
    const [row] = plane.query('SELECT render_inputs, awaits_approval FROM intents WHERE id = ?', id);
    expect(String(row?.['render_inputs'])).toContain(cluster.statement(id));
    expect(row?.['awaits_approval']).toBeNull();
  });
});
