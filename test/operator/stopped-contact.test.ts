import { describe, expect, it } from 'vitest';
import { findCondition } from '../../src/resources/conditions.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';

/** So that the Lease is renewed meanwhile, too. */
async function later(clock: SkippingClock, world: OperatorWorld): Promise<string | undefined> {
  let message: string | undefined;
  await expect
    .poll(
      async () => {
        clock.skip(2000);
        const connected = findCondition((await world.read()).status?.conditions, 'Connected');
        message = connected?.message;
        return `${connected?.status} ${connected?.reason}`;
      },
      { timeout: 20_000, interval: 50 },
    )
    .toBe('False ControlPlaneNotAsked');
  return message;
}

describe('contact of an operator that asks nothing', () => {
  it('is none after a minute once it was stopped, and there when it may go on', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    const clock = new SkippingClock();
    plane.accounts.set('svcreg_a', 'fresh');
    await world.start(clock);
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    await expect.poll(() => plane.queue.waits.length, { timeout: 30_000 }).toBeGreaterThan(0);
    plane.intercept = ({ path }, response) => {
      if (path === '/api/agent/register') return false;
      plane.refuse(response, 'cluster_disabled', 'this cluster is disabled');
      return true;
    };
    plane.configure({ delivery_epoch: 2 });
    await world.until('Authenticated', 'False', 'ClusterDisabled');
    expect(await later(clock, world)).toMatch(
      /^The control plane is not asked: it refused this operator \(see Authenticated\), which asks again every 15 minutes; its last answer came at .*Z\. Reconciliation goes on with what is known\.$/,
    );
    plane.intercept = () => false;
    plane.accounts.set('svcreg_b', 'fresh');
    await world.setSpec({ registration: { token: 'svcreg_b' } });
    await world.until('Connected', 'True', 'ControlPlaneReachable');
  });

  it('is none where it has nothing to register with', async () => {
    await using world = await OperatorWorld.start();
    const clock = new SkippingClock();
    await world.start(clock);
    await world.join('http://127.0.0.1:1');
    await world.until('Authenticated', 'False', 'NotRegistered');
    expect(await later(clock, world)).toBe(
      'The control plane is not asked: this operator is not registered (see Authenticated). Reconciliation goes on with what is known.',
    );
  });
});
