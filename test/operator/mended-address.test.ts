import { describe, expect, it } from 'vitest';
import { isTrue } from '../../src/resources/conditions.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';

describe('an address that was wrong and is mended', () => {
  it('leaves nothing that was said of the other one, although a poll is held by then', async () => {
    await using plane = await FakeControlPlane.start();
    await using wrong = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    wrong.intercept = (_, response) => {
      wrong.refuse(response, 'not_found', 'there is nothing at this path');
      return true;
    };
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await expect.poll(() => plane.queue.waits.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await world.setSpec({ controlPlaneBaseUrl: wrong.url });
    await world.until('Stalled', 'True', 'EndpointMissing');
    await world.until('Synced', 'False', 'SourceUnreachable');

    await world.setSpec({ controlPlaneBaseUrl: plane.url });
    await world.until('Stalled', 'False', 'EndpointsFound');
    await world.until('Synced', 'True', 'Applied');
    const { conditions = [] } = (await world.read()).status ?? {};
    expect(['Connected', 'Stalled', 'Synced'].map((type) => isTrue(conditions, type))).toEqual([true, false, true]);
  });
});
