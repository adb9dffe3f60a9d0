import { expect, it } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

it('no circle of dependsOn is taken that two approvals would close, each of which sees the one intent alone', async () => {
  await using plane = await RunningControlPlane.start();
  await plane.call('PUT', '/catalog/podinfo', { ...PODINFO, approval: { count: 1 } });
  await plane.newCluster('one', { connectivityMode: 'pull' });
  const install = async (name: string, needs: readonly string[]) =>
    await plane.call('POST', '/clusters/one/intents', {
      ...INSTALL,
      name,
      ...(needs.length === 0 ? {} : { dependsOn: needs.map((other) => ({ name: other })) }),
    });
  const first = await install('a', ['b']);
  expect((await plane.call('GET', `/intents/${String(first.body['id'])}`)).body).toMatchObject({
    state: 'accepted',
    approval: { state: 'pending' },
  });
  const path = '/dependsOn/0';
  expect(await install('b', ['a'])).toMatchObject({
    status: 400,
    body: { faults: [{ path, message: expect.stringContaining('shop/b -> shop/a -> shop/b') }] },
  });
  expect((await plane.call('POST', `/intents/${String(first.body['id'])}/reject`, {})).status).toBe(200);
  expect((await install('b', ['a'])).status).toBe(202);
});
