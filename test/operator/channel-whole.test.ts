import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { WholeSystem } from './whole-system.ts';

it('the discussion channel tells each outcome of a real operator once, a restart included', async () => {
  await using system = await WholeSystem.start();
  const texts = async (): Promise<string[]> => {
    const { body } = await system.plane.call('GET', '/channel');
    return body['items'].map(({ text }: { text: string }) => text.split(': ').slice(0, 2).join(': ')).reverse();
  };
  const told: string[] = [];
  const tells = async (...more: readonly string[]): Promise<void> => {
    told.push(...more);
    await expect.poll(texts, { timeout: 15_000, interval: 20 }).toEqual(told);
  };
  await system.bring(INSTALL, 'ready');
  await tells('eu: shop/podinfo 6.5.0 is ready');
  await system.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1' }, 'ready');
  await tells('eu: shop/podinfo 6.6.1 was upgraded');
  expect((await system.plane.call('POST', `/clusters/${system.clusterId}/rotate`)).status).toBe(200);
  await tells('eu: credential rotated');
  // A new operator reports all that it finds.
  await system.world.restart();
  await system.world.until('ControllersHealthy', 'True', 'ControllersRunning');
  await system.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
  await tells('eu: shop/podinfo was uninstalled');
}, 60_000);
