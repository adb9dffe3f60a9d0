import { describe, expect, it } from 'vitest';
import { FakeControlPlane } from './fake-control-plane.ts';
import { OperatorWorld } from './operator-world.ts';

/** Answers the first registrations with these statuses. Answers when each came, in milliseconds. */
function failing(plane: FakeControlPlane, answers: readonly { readonly status: number; readonly after?: string }[]) {
  const times: number[] = [];
  plane.intercept = ({ path }, response) => {
    if (path !== '/api/agent/register') return false;
    const answer = answers[times.length];
    times.push(Date.now());
    if (answer === undefined) return false;
    const error = answer.status === 429 ? 'rate_limited' : 'unavailable';
    const wait: Record<string, string> = answer.after === undefined ? {} : { 'retry-after': answer.after };
    plane.answer(response, answer.status, { error, message: 'later', requestId: 'r' }, wait);
    return true;
  };
  return times;
}

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, index) => time - (times[index] ?? 0));

describe('the pace of registrations', () => {
  it('is a second between two at least, whatever becomes of the Cluster resource meanwhile', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    // The fifth failure in a row sets Connected=False, which is itself a change of the resource.
    const times = failing(
      plane,
      [500, 503, 500, 503, 500, 503].map((status) => ({ status })),
    );
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'False', 'ControlPlaneUnreachable');
    await world.annotate({ note: 'touched' });
    await world.until('Authenticated', 'True', 'Registered');
    expect(times).toHaveLength(7);
    // Timers may be a few milliseconds early by another clock.
    expect(Math.min(...gaps(times))).toBeGreaterThanOrEqual(990);
  });

  it('is what the control plane asks for, for a fresh token too', async () => {
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_b', 'fresh');
    const times = failing(plane, [{ status: 429, after: '3' }]);
    await world.start();
    await world.join(plane.url, 'svcreg_a');
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    await world.annotate({ note: 'touched' });
    await world.setSpec({ registration: { token: 'svcreg_b' } });
    await world.until('Authenticated', 'True', 'Registered');
    expect(times).toHaveLength(2);
    expect(gaps(times)[0]).toBeGreaterThanOrEqual(2990);
  });

  it('is over once the address is another one', async () => {
    await using busy = await FakeControlPlane.start();
    await using plane = await FakeControlPlane.start();
    await using world = await OperatorWorld.start();
    plane.accounts.set('svcreg_a', 'fresh');
    failing(busy, [{ status: 429, after: '3600' }]);
    await world.start();
    await world.join(busy.url, 'svcreg_a');
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    await world.setSpec({ controlPlaneBaseUrl: plane.url });
    await world.until('Authenticated', 'True', 'Registered');
    expect(busy.count('/api/agent/register')).toBe(1);
  });
});
