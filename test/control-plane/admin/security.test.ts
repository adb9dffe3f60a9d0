import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** What `/config` answers an agent of the cluster. */
async function projected(cluster: string): Promise<unknown> {
  const { body } = await plane.call('POST', `/clusters/${cluster}/registration-token`);
  const token = { token: body['registrationToken'] };
  const { body: registered } = await plane.call('POST', '/api/agent/register', token, { token: null });
  const config = await plane.call('GET', '/api/agent/config', undefined, { token: String(registered['token']) });
  return config.body['security'];
}

describe('the security of a cluster', () => {
  it('requires nothing by default, and from the beginning what it is made with', async () => {
    const nothing = { requireSignedPayloads: false, requireEncryptedSecretPayloads: false };
    await plane.newCluster('lax');
    expect((await plane.call('GET', '/clusters/lax')).body['security']).toEqual(nothing);
    await expect(projected('lax')).resolves.toEqual(nothing);
    await plane.newCluster('strict', { security: { requireSignedPayloads: true } });
    await expect(projected('strict')).resolves.toEqual({ ...nothing, requireSignedPayloads: true });
  });

  it('is changed one toggle at a time, told to the agent, and audited with what it was', async () => {
    const id = await plane.newCluster('eu');
    const change = async (security: object): Promise<unknown> =>
      (await plane.call('PATCH', '/clusters/eu', { security })).body['security'];
    await change({ requireEncryptedSecretPayloads: true });
    const both = { requireSignedPayloads: true, requireEncryptedSecretPayloads: true };
    await expect(change({ requireSignedPayloads: true })).resolves.toEqual(both);
    await expect(projected('eu')).resolves.toEqual(both);
    // Said again, nothing happens.
    await change(both);
    await change({});
    const { body } = await plane.call('GET', `/audit?kind=SecurityChanged&cluster=${id}`);
    const items = body['items'] as readonly { summary: string }[];
    expect(items.map(({ summary }) => summary)).toEqual([
      'cluster eu: requireSignedPayloads, requireEncryptedSecretPayloads; was: requireEncryptedSecretPayloads',
      'cluster eu: requireEncryptedSecretPayloads; was: nothing required of payloads',
    ]);
  });

  it.each([
    [{ requireSignedPayloads: 'yes' }, '/security/requireSignedPayloads'],
    [{ requireEverything: true }, '/security/requireEverything'],
  ])('refuses %o', async (security, path) => {
    expect(await plane.call('PATCH', '/clusters/eu', { security })).toMatchObject({
      status: 400,
      body: { error: 'constraint_violated', faults: [{ path }] },
    });
  });
});
