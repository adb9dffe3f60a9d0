import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FakeControlPlane } from './fake-control-plane.ts';
import { LoopRun } from './loop-run.ts';

describe('the held request for the configuration', () => {
  it('asks at once, then holds one request that a change answers', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using run = new LoopRun(plane);
    await run.untilAsked(2);
    plane.configure({ delivery_epoch: 2 });
    await expect.poll(() => run.configs.length).toBe(2);
    run.clock.advance(10);
    await run.untilAsked(3);
    expect(run.configs.map(({ delivery_epoch: epoch }) => epoch)).toEqual([1, 2]);
    expect(run.asked).toEqual(['0', '30 "1"', '30 "2"']);
  });

  it('takes one that a proxy cuts for an empty one, waits shorter, and longer again only slowly', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    const held: ServerResponse[] = [];
    plane.intercept = ({ headers }, response) => {
      if (headers['if-none-match'] === undefined) return false;
      held.push(response);
      return true;
    };
    await using run = new LoopRun(plane);
    await run.untilAsked(2);
    run.clock.advance(20_000);
    held[0]?.destroy();
    await run.untilAsked(3);
    run.clock.advance(16_000);
    held[1]?.writeHead(504).end();
    await run.untilAsked(4);
    run.clock.advance(12_000);
    plane.answer(held[2] as ServerResponse, 304, undefined, { etag: '"1"' });
    await run.untilAsked(5);
    expect(run.asked.slice(1)).toEqual(['30 "1"', '16 "1"', '12 "1"', '12 "1"']);
    expect(run.contacts).toEqual(['connected']);
  });

  it('backs off at least a second at failures, and as long as it is told', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    const answers = [500, 503];
    plane.intercept = (_, response) => {
      const status = answers.shift();
      if (status === undefined) return false;
      response.writeHead(status, status === 503 ? { 'retry-after': '40' } : {}).end();
      return true;
    };
    await using run = new LoopRun(plane);
    await run.untilAsked(1);
    await run.settle();
    run.clock.advance(999);
    await run.settle();
    expect(run.asked).toHaveLength(1);
    run.clock.advance(1);
    await run.untilAsked(2);
    await run.settle();
    run.clock.advance(39_999);
    await run.settle();
    expect(run.asked).toHaveLength(2);
    run.clock.advance(1);
    await run.untilAsked(4);
    expect(run.contacts).toEqual(['connected']);
  });

  it('asks every 15 minutes once it is refused, and goes on when it is not any more', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    let refused = 2;
    plane.intercept = (_, response) => {
      refused -= 1;
      if (refused < 0) return false;
      plane.refuse(response, 'cluster_disabled', 'this cluster is disabled');
      return true;
    };
    await using run = new LoopRun(plane);
    await run.untilAsked(1);
    await run.settle();
    run.clock.advance(15 * 60_000 - 1);
    await run.settle();
    expect(run.asked).toHaveLength(1);
    run.clock.advance(1);
    await run.untilAsked(2);
    await run.settle();
    run.clock.advance(15 * 60_000);
    await run.untilAsked(4);
    expect(run.configs).toHaveLength(1);
    expect(run.asked).toEqual(['0', '0', '0', '30 "1"']);
  });

  it('is given up for a new one when another answer names a revision that it does not bring', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    await using run = new LoopRun(plane);
    await run.untilAsked(2);
    run.loop.revisionSeen('9');
    run.clock.advance(1000);
    await run.settle();
    run.clock.advance(1000);
    await run.untilAsked(4);
    expect(run.asked).toEqual(['0', '30 "1"', '0', '30 "1"']);
  });

  it('leaves a control plane alone that has no such endpoint, and one that answers nonsense for a while', async () => {
    await using plane = await FakeControlPlane.start(undefined, { connectivity_mode: 'gitops' });
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => plane.refuse(response, 'not_found', 'there is nothing at this path'),
      (response) => plane.answer(response, 200, { cluster_id: 7 }, { etag: '"1"' }),
    ];
    plane.intercept = (_, response) => {
      const answer = answers.shift();
      answer?.(response);
      return answer !== undefined;
    };
    await using run = new LoopRun(plane);
    await run.untilAsked(1);
    await run.settle();
    run.clock.advance(299_999);
    await run.settle();
    expect(run.asked).toEqual(['0']);
    run.clock.advance(1);
    await run.untilAsked(2);
    await run.settle();
    expect(run.configs).toEqual([]);
    run.clock.advance(2000);
    await run.untilAsked(4);
    expect(run.configs).toHaveLength(1);
  });
});

describe('the configuration in pull mode', () => {
  it('is asked for once, and again when another answer names a newer revision, never held', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane);
    await run.loop.first(AbortSignal.timeout(5000));
    await run.settle();
    run.clock.advance(3_600_000);
    await run.settle();
    expect(run.asked).toEqual(['0']);
    plane.configure({ delivery_epoch: 2 });
    run.loop.revisionSeen('2');
    await run.untilAsked(2);
    await expect.poll(() => run.configs.length).toBe(2);
    expect(run.asked).toEqual(['0', '0 "1"']);
  });

  it('is asked for at most twice a second, however fast the revisions change', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane);
    await run.loop.first(AbortSignal.timeout(5000));
    run.loop.revisionSeen('7');
    run.loop.revisionSeen('8');
    await run.settle();
    run.clock.advance(499);
    await run.settle();
    expect(run.asked).toEqual(['0']);
    run.clock.advance(1);
    await run.untilAsked(2);
    await run.settle();
    run.clock.advance(60_000);
    await run.settle();
    expect(run.asked).toEqual(['0', '0 "1"']);
  });

  it('is held from the answer on that names another mode', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane);
    await run.loop.first(AbortSignal.timeout(5000));
    plane.configure({ connectivity_mode: 'gitops', delivery_epoch: 2 });
    run.loop.revisionSeen('2');
    await run.settle();
    run.clock.advance(500);
    await run.untilAsked(2);
    await run.settle();
    run.clock.advance(10);
    await run.untilAsked(3);
    expect(run.asked).toEqual(['0', '0 "1"', '30 "2"']);
  });

  it('is asked for every 15 minutes after another call was refused', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane);
    await run.loop.first(AbortSignal.timeout(5000));
    await run.settle();
    plane.intercept = (_, response) => {
      plane.refuse(response, 'cluster_disabled', 'this cluster is disabled');
      return true;
    };
    await run.session.call({ method: 'GET', path: '/api/agent/jobs?wait=0' }, AbortSignal.timeout(5000));
    await run.settle();
    run.clock.advance(15 * 60_000 - 1);
    await run.settle();
    expect(run.asked).toHaveLength(2);
    plane.intercept = () => false;
    run.clock.advance(1);
    await run.untilAsked(3);
    await expect.poll(() => run.session.state, { timeout: 30_000 }).toBe('open');
  });

  it('is not asked for where no answer ever named a revision', async () => {
    await using plane = await FakeControlPlane.start();
    await using run = new LoopRun(plane, false);
    await run.settle();
    run.clock.advance(3_600_000);
    await run.settle();
    expect(run.asked).toEqual([]);
    run.loop.revisionSeen('1');
    await run.loop.first(AbortSignal.timeout(5000));
    expect(run.asked).toEqual(['0']);
  });
});
