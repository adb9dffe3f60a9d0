import { describe, expect, it } from 'vitest';
import { FakeControlPlane } from './fake-control-plane.ts';
import { LoopRun } from './loop-run.ts';

const soon = (): AbortSignal => AbortSignal.timeout(5000);

describe('a configuration', () => {
  it('that no answer speaks of is told as not served, and not waited for', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane, false);
    await run.loop.caughtUp(soon());
    run.loop.answered();
    run.loop.answered();
    expect(run.served).toEqual([false]);
    run.loop.revisionSeen('1');
    await run.loop.first(soon());
    expect(run.served).toEqual([false, true]);
  });

  it('that answers speak of and that is not there is told once, until it is there', async () => {
    await using plane = await FakeControlPlane.start();
    plane.intercept = (_, response) => {
      plane.refuse(response, 'not_found', 'there is nothing at this path');
      return true;
    };
    await using run = new LoopRun(plane);
    await run.loop.caughtUp(soon());
    run.loop.revisionSeen('2');
    await run.settle();
    expect(run.served).toEqual([true, false]);
    plane.intercept = () => false;
    run.clock.advance(300_000);
    await run.loop.first(soon());
    expect(run.served).toEqual([true, false, true]);
  });

  it('is asked for at once with another credential, but for what the control plane asked for', async () => {
    await using plane = await FakeControlPlane.start();
    plane.intercept = (_, response) => {
      const body = { error: 'rate_limited', message: 'slow down', requestId: 'r' };
      plane.answer(response, 429, body, { 'retry-after': '20' });
      return true;
    };
    await using run = new LoopRun(plane);
    await run.untilAsked(1);
    await run.settle();
    run.loop.restart();
    run.clock.advance(19_999);
    await run.settle();
    expect(run.asked).toHaveLength(1);
    run.contact.moved();
    run.loop.restart();
    await run.untilAsked(2);
  });

  it('is asked for without holding the request after a failure, so that an answer shows at once', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using run = new LoopRun(plane);
    await run.untilAsked(2);
    plane.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    plane.configure({ delivery_epoch: 2 });
    await run.settle();
    run.clock.advance(10);
    await run.untilAsked(3);
    await run.settle();
    expect(run.contact.state).toBe('reconnecting');
    plane.intercept = () => false;
    plane.configure({ delivery_epoch: 3 });
    run.clock.advance(1000);
    await run.untilAsked(4);
    await run.settle();
    run.clock.advance(10);
    await run.untilAsked(5);
    expect(run.asked.slice(2)).toEqual(['30 "2"', '0 "2"', '30 "3"']);
    expect(run.contacts).toEqual(['connected', 'reconnecting', 'connected']);
  });
});
