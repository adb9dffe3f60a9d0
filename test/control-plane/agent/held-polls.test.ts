import { describe, expect, it } from 'vitest';
import { HeldPolls, type HeldPoll, type Next } from '../../../src/control-plane/http/agent/held-polls.ts';
import { configTopic, jobsTopic } from '../../../src/control-plane/topics.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { turns } from './jobs-server.ts';

const clock = new ManualClock();
const wakeups = new Wakeups({ clock });
const touched: string[] = [];
const lastContact = { touch: (clusterId: string) => void touched.push(clusterId) };
const polls = new HeldPolls({ wakeups, clock, lastContact });

/** What becomes of a poll's next wait, as far as it has come. */
function follow(poll: HeldPoll): { next: Next | 'waiting' } {
  const followed: { next: Next | 'waiting' } = { next: 'waiting' };
  void poll.next().then((next) => {
    followed.next = next;
  });
  return followed;
}

async function nexts(...followed: readonly { next: Next | 'waiting' }[]): Promise<(Next | 'waiting')[]> {
  await turns(5);
  return followed.map(({ next }) => next);
}

describe('HeldPolls', () => {
  it('wakes the newest poll of a cluster for jobs, and all of them for its configuration', async () => {
    using older = polls.hold('c-1', 30_000);
    using newest = polls.hold('c-1', 30_000);
    using other = polls.hold('c-2', 30_000);
    const followed = [follow(older), follow(newest), follow(other)] as const;
    wakeups.notify(jobsTopic('c-1'));
    expect(await nexts(...followed)).toEqual(['waiting', 'look', 'waiting']);
    const again = follow(newest);
    wakeups.notify(configTopic('c-1'));
    expect(await nexts(followed[0], again, followed[2])).toEqual(['look', 'look', 'waiting']);
  });

  it('remembers a change that came while the poll was looking', async () => {
    using poll = polls.hold('c-1', 30_000);
    wakeups.notify(jobsTopic('c-1'));
    expect(await nexts(follow(poll))).toEqual(['look']);
    expect(await nexts(follow(poll))).toEqual(['waiting']);
  });

  it('ends each at its own deadline with one timer for all', async () => {
    const sleeping = clock.sleeping;
    using long = polls.hold('c-1', 60_000);
    using short = polls.hold('c-2', 1000);
    const followed = [follow(long), follow(short)] as const;
    await turns(1);
    expect(clock.sleeping).toBe(sleeping + 1);
    clock.advance(1250);
    expect(await nexts(...followed)).toEqual(['waiting', 'ended']);
    clock.advance(60_000);
    expect(await nexts(...followed)).toEqual(['ended', 'ended']);
    expect(clock.sleeping).toBe(sleeping);
    expect(polls.count()).toBe(0);
  });

  it('counts as contact once a minute while it is held', async () => {
    touched.length = 0;
    using poll = polls.hold('c-1', 150_000);
    const followed = follow(poll);
    for (let minute = 1; minute <= 2; minute += 1) {
      clock.advance(60_250);
      await turns(5);
      expect(touched).toHaveLength(minute);
    }
    expect(await nexts(followed)).toEqual(['waiting']);
    clock.advance(30_000);
    expect(await nexts(followed)).toEqual(['ended']);
    expect(touched).toEqual(['c-1', 'c-1']);
  });

  it('holds three of a cluster; a fourth ends the oldest', async () => {
    using oldest = polls.hold('c-1', 30_000);
    using second = polls.hold('c-1', 30_000);
    using third = polls.hold('c-1', 30_000);
    const followed = [follow(oldest), follow(second), follow(third)] as const;
    using fourth = polls.hold('c-1', 30_000);
    expect(await nexts(...followed, follow(fourth))).toEqual(['ended', 'waiting', 'waiting', 'waiting']);
    expect(polls.count('c-1')).toBe(3);
  });

  it('lets the next newest look when the newest went without taking jobs (A4)', async () => {
    using older = polls.hold('c-1', 30_000);
    const followed = follow(older);
    {
      using newest = polls.hold('c-1', 30_000);
      wakeups.notify(jobsTopic('c-1'));
      expect(await nexts(follow(newest), followed)).toEqual(['look', 'waiting']);
    }
    expect(await nexts(followed)).toEqual(['look']);
  });

  it('does not take a cluster offline when an old poll ends after a newer one came (A4)', async () => {
    const old = polls.hold('c-1', 30_000);
    using session = polls.hold('c-1', 30_000);
    const followed = follow(session);
    old[Symbol.dispose]();
    old[Symbol.dispose]();
    wakeups.notify(jobsTopic('c-1'));
    expect(await nexts(followed)).toEqual(['look']);
  });

  it('leaves nothing behind, and ends all of them when the server closes', async () => {
    const two = [polls.hold('c-1', 30_000), polls.hold('c-2', 30_000)].map(follow);
    polls.endAll();
    expect(await nexts(...two)).toEqual(['ended', 'ended']);
    wakeups.notify(jobsTopic('c-1'));
    // A request that was on its way into its wait.
    expect(await nexts(follow(polls.hold('c-1', 30_000)))).toEqual(['ended']);
    expect(polls.count()).toBe(0);
  });
});
