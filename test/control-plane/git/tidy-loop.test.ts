import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../support/manual-clock.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

describe('the embedded repositories of a control plane', () => {
  it('are packed within the hour, and deliveries go on', async () => {
    const clock = new ManualClock('2026-11-28T10:00:00.000Z');
    await using plane = await RunningControlPlane.start(clock);
    await plane.putPodinfo();
    const id = await plane.newCluster('prod-eu');
    const bring = async (change: Record<string, unknown>): Promise<void> => {
      const { body } = await plane.call('POST', `/clusters/${id}/intents`, { ...INSTALL, ...change });
      await plane.until(String(body['id']), 'delivered');
    };
    await bring({});
    expect(await plane.git('count-objects')).not.toMatch(/^0 objects/);
    await expect
      .poll(
        async () => {
          clock.advance(3_600_000);
          return await plane.git('count-objects');
        },
        { timeout: 10_000, interval: 50 },
      )
      .toMatch(/^0 objects/);
    await bring({ action: 'update', chartVersion: '6.6.1' });
    expect(await plane.committedIntents()).toHaveLength(2);
    expect(await plane.git('fsck', '--strict')).toBe('');
  });

  it('are read in place, without a copy beside them', async () => {
    await using plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    const id = await plane.newCluster('prod-eu');
    const { body } = await plane.call('POST', `/clusters/${id}/intents`, INSTALL);
    await plane.until(String(body['id']), 'delivered');
    expect(existsSync(join(plane.folder, 'mirrors'))).toBe(false);
  });
});
