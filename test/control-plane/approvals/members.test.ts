import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OidcProvider } from '../../support/oidc-provider.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { storeApproval } from './stored-approval.ts';

let provider: OidcProvider;
let plane: RunningControlPlane;
let cluster: string;

beforeAll(async () => {
  provider = await OidcProvider.start({});
  plane = await RunningControlPlane.start(systemClock, provider.env);
  cluster = await plane.newCluster('prod-eu');
  for (const name of ['anna', 'bert', 'carl']) {
    const member = { name, access: ['deployer', 'approver'], email: `${name}@example.com`, roles: ['ops'] };
    expect((await plane.call('POST', '/members', member)).status).toBe(201);
  }
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

async function tokenOf(member: string, name: string): Promise<string> {
  return String((await plane.call('POST', '/admin-tokens', { name, member })).body['token']);
}

async function signIn(member: string): Promise<string> {
  return await provider.mint({ sub: member, email: `${member}@example.com`, email_verified: true });
}

/** An operation that anna asked for, which needs so many approvals. */
async function asked(name: string, count: number): Promise<string> {
  const { intent } = await storeApproval(plane, cluster, name);
  await plane.execute("UPDATE intents SET requested_by = 'anna' WHERE id = ?", intent);
  const required = JSON.stringify({ count });
  await plane.execute("UPDATE approvals SET requested_by = 'anna', required = ? WHERE intent_id = ?", required, intent);
  return intent;
}

const approve = async (intent: string, token: string): Promise<Answer> =>
  await plane.call('POST', `/intents/${intent}/approve`, undefined, { token });

describe('a member who approves', () => {
  it('is the same person whichever way he or she comes in: who asked cannot approve', async () => {
    const intent = await asked('own', 1);
    for (const token of [await tokenOf('anna', 'anna-1'), await tokenOf('anna', 'anna-2'), await signIn('anna')]) {
      expect(await approve(intent, token)).toMatchObject({
        status: 403,
        body: { error: 'forbidden', message: expect.stringContaining('anna asked for this and cannot approve it') },
      });
    }
    expect(await approve(intent, await signIn('bert'))).toMatchObject({ status: 200, body: { state: 'approved' } });
  });

  it('counts once, and no longer once disabled or without the access to approve', async () => {
    const intent = await asked('two', 2);
    const viaToken = await approve(intent, await tokenOf('bert', 'bert-1'));
    expect(viaToken.body).toMatchObject({ state: 'pending', missing: { count: 1 } });
    const viaProvider = await approve(intent, await signIn('bert'));
    expect(viaProvider.body).toMatchObject({ state: 'pending', missing: { count: 1 } });
    await plane.call('PATCH', '/members/bert', { disabled: true });
    const [{ id }] = (await plane.call('GET', '/approvals?state=pending')).body['items'];
    const missing = async (): Promise<unknown> =>
      (await plane.call('GET', `/approvals/${id}`)).body['missing']['count'];
    expect(await missing()).toBe(2);
    await plane.call('PATCH', '/members/bert', { disabled: false, access: ['deployer'] });
    expect(await missing()).toBe(2);
    await plane.call('PATCH', '/members/bert', { access: ['approver'] });
    expect(await missing()).toBe(1);
    // Whoever has the name later is somebody else.
    await plane.call('DELETE', '/members/bert');
    await plane.call('POST', '/members', { name: 'bert', access: ['approver'] });
    expect(await missing()).toBe(2);
  });

  it('approves as what the member may, with each of his or her tokens', async () => {
    const intent = await asked('as-ops', 1);
    const required = '{"count":1,"roles":{"ops":1}}';
    await plane.execute('UPDATE approvals SET required = ? WHERE intent_id = ?', required, intent);
    expect(await approve(intent, await tokenOf('carl', 'carl-1'))).toMatchObject({
      status: 200,
      body: { state: 'approved' },
    });
  });
});
