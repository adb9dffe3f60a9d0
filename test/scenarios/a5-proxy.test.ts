import { expect, it } from 'vitest';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { ProxiedPolls } from './proxied-polls.ts';

it.each([30, 60, 120])(
  'A5: a proxy that cuts at %i s under a wait of 300 s: an empty poll, and a job of the last moment is not lost',
  { timeout: 60_000 },
  async (limit) => {
    await using run = await ProxiedPolls.start({ longestWaitSeconds: 300 });
    const { plane, proxy } = run;
    // It asks for more and more, until the proxy cuts.
    let poll = await proxy.next();
    while (poll.wait <= limit) {
      await run.untilAnswered(poll);
      poll = await proxy.next();
    }
    await run.pass(limit * 1000);
    expect(poll.isAnswered).toBe(false);

    // The control plane gives the job to the poll of which it does not know that it is over.
    const letThrough = proxy.holdBack();
    poll.cut();
    const accepted = await plane.call('POST', `/clusters/${run.clusterId}/intents`, INSTALL);
    await expect.poll(() => poll.isAnswered, { timeout: 10_000, interval: 5 }).toBe(true);
    letThrough();
    const next = await proxy.next();
    expect(next.wait).toBeLessThan(limit);
    await expect.poll(() => run.taken.length, { timeout: 10_000, interval: 5 }).toBe(1);
    const { body } = await plane.call('GET', `/jobs/${run.taken[0]?.id}`);
    expect(body).toMatchObject({ state: 'delivered', intentId: accepted.body['id'] });
    poll.end();
    expect(run.contacts).toEqual(['connected']);
  },
);
