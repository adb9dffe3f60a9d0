import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { AgentClient } from '../../../src/operator/agent-client.ts';
import { AgentSession } from '../../../src/operator/agent-session.ts';
import { Contact } from '../../../src/operator/contact.ts';
import { JobPoll } from '../../../src/operator/jobs/job-poll.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { CLUSTER_ID, FakeControlPlane } from '../fake-control-plane.ts';
import { applyJob } from './job-stage.ts';

const logger = createLogger('test', 'silent');

/** A poll loop against a real server that answers when the test says so; time passes likewise. */
class PollRun implements AsyncDisposable {
  readonly plane: FakeControlPlane;
  readonly clock = new ManualClock();
  readonly contacts: string[] = [];
  readonly faults: (string | undefined)[] = [];
  readonly taken: unknown[] = [];
  readonly poll: JobPoll;
  readonly contact: Contact;
  room = 10;
  isPull = true;
  takes: () => number = () => 1;
  readonly #client: AgentClient;
  readonly #stop = new AbortController();
  readonly #waiting: { readonly wait: number; readonly response: ServerResponse }[] = [];
  readonly #ended: Promise<void>;
  #seen = 0;

  private constructor(plane: FakeControlPlane, longestWaitSeconds: number) {
    this.plane = plane;
    plane.tokens.add('t1');
    plane.intercept = ({ path }, response) => {
      const wait = Number(new URL(path, 'http://localhost').searchParams.get('wait'));
      this.#waiting.push({ wait, response });
      return true;
    };
    const { clock } = this;
    this.#client = new AgentClient({ baseUrl: plane.url, caCertificate: '', userAgent: 'test', clock });
    const contact = new Contact({ clock, onChange: (state) => void this.contacts.push(state) });
    this.contact = contact;
    const session = new AgentSession({
      contact,
      logger,
      refresh: async () => ({ state: 'refused' }),
      onAuthenticated: () => undefined,
    });
    this.poll = new JobPoll({
      session,
      contact,
      isPull: () => this.isPull,
      room: () => this.room,
      take: async (jobs) => {
        this.taken.push(...jobs);
        return this.takes();
      },
      acknowledged: async () => undefined,
      onFault: (message) => void this.faults.push(message),
      clock,
      random: () => 0,
      logger,
      longestWaitSeconds,
    });
    contact.answered();
    session.use(this.#client, { token: new Secret('t1'), clusterId: CLUSTER_ID });
    this.#ended = this.poll.run(this.#stop.signal);
  }

  static async start(longestWaitSeconds = 300): Promise<PollRun> {
    return new PollRun(await FakeControlPlane.start(), longestWaitSeconds);
  }

  get polls(): number {
    return this.#waiting.length;
  }

  /** The next poll, once it has come. */
  async next(): Promise<{ readonly wait: number; readonly response: ServerResponse }> {
    const index = this.#seen;
    this.#seen += 1;
    await expect.poll(() => this.#waiting.length, { timeout: 30_000, interval: 1 }).toBeGreaterThan(index);
    const next = this.#waiting[index];
    if (next === undefined) throw new Error('unreachable');
    return next;
  }

  /** Holds the next poll for so long, or for as long as it asks; then it is cut, or answered empty. Its wait. */
  async hold(limitSeconds: number): Promise<{ readonly wait: number; readonly isCut: boolean }> {
    const { wait, response } = await this.next();
    const isCut = limitSeconds < wait;
    this.clock.advance(Math.min(limitSeconds, wait) * 1000);
    if (isCut) response.destroy();
    else this.plane.answer(response, 200, { jobs: [] });
    return { wait, isCut };
  }

  /** Until the loop pauses, then past that. */
  async pass(ms: number): Promise<void> {
    await expect.poll(() => this.clock.sleeping, { interval: 1 }).toBeGreaterThan(0);
    this.clock.advance(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.#client[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
  }
}

describe('A5: a proxy that cuts held polls', () => {
  it.each([30, 60, 120])('after %i s: is lived with, seldom run into again, and never a failure', async (limit) => {
    await using run = await PollRun.start(300);
    const polls: { readonly wait: number; readonly isCut: boolean }[] = [];
    while (polls.length < 80) polls.push(await run.hold(limit));
    const cuts = polls.flatMap(({ isCut }, index) => (isCut ? [index] : []));
    expect(cuts.length).toBeGreaterThan(0);
    const between = cuts.slice(1).map((cut, index) => cut - (cuts[index] ?? 0));
    expect(Math.min(...between)).toBeGreaterThan(10);
    expect(Math.max(...polls.map(({ wait }) => wait))).toBeLessThanOrEqual(Math.ceil(limit * 1.1));
    expect(run.contacts).toEqual(['connected']);
  });

  it('loses no job that was assigned at the last moment: the next poll brings it', async () => {
    await using run = await PollRun.start();
    await run.hold(20);
    const { wait, response } = await run.next();
    expect(wait).toBe(16);
    run.plane.answer(response, 200, { jobs: [applyJob('j1')] });
    await expect.poll(() => run.taken.length).toBe(1);
  });

  it('names the configuration that the last answer named, so that a change in between ends the next at once', async () => {
    await using run = await PollRun.start();
    await run.hold(300);
    const { response } = await run.next();
    expect(run.plane.requests.map(({ headers }) => headers['service-config-revision'])).toEqual([undefined, '1']);
    run.plane.answer(response, 200, { jobs: [] });
  });

  it('grows to the longest wait where nothing cuts it', async () => {
    await using run = await PollRun.start(300);
    const waits: number[] = [];
    while (waits.length < 40) waits.push((await run.hold(Infinity)).wait);
    expect(waits[0]).toBe(30);
    expect(waits.at(-1)).toBe(300);
  });
});

describe('A4: a connection that dies without a word', () => {
  it('is given up after the wait and a margin; the next poll goes out at once, and its end changes nothing', async () => {
    await using run = await PollRun.start(30);
    const dead = await run.next();
    run.clock.advance(40_000);
    // What the client does once its own limit has passed; and the proxy's late word comes after the next poll.
    dead.response.socket?.resetAndDestroy();
    const alive = await run.next();
    run.plane.answer(alive.response, 200, { jobs: [applyJob('j1')] });
    await expect.poll(() => run.taken.length).toBe(1);
    expect(run.contacts).toEqual(['connected']);
  });
});

describe('a poll', () => {
  it('is not made outside pull mode, nor while the journal is full', async () => {
    await using run = await PollRun.start();
    const { response } = await run.next();
    const closed = new Promise((resolve) => response.once('close', resolve));
    run.isPull = false;
    run.poll.resume();
    // What was held is given up with the mode.
    await closed;
    run.isPull = true;
    run.room = 0;
    run.poll.resume();
    await Promise.resolve();
    expect(run.polls).toBe(1);
    run.room = 1;
    run.poll.resume();
    await run.next();
  });

  it('that is answered at once and brings nothing is not repeated in a busy loop', async () => {
    await using run = await PollRun.start();
    for (let count = 0; count < 3; count += 1) run.plane.answer((await run.next()).response, 200, { jobs: [] });
    await expect.poll(() => run.clock.sleeping).toBeGreaterThan(0);
    expect(run.polls).toBe(3);
    await run.pass(1000);
    await run.next();
  });

  it('after 429 waits for as long as it was told, whatever wakes it', async () => {
    await using run = await PollRun.start();
    const body = { error: 'rate_limited', message: 'slow down', requestId: 'r' };
    run.plane.answer((await run.next()).response, 429, body, { 'retry-after': '20' });
    await expect.poll(() => run.clock.sleeping).toBeGreaterThan(0);
    run.poll.resume();
    await run.pass(19_000);
    expect(run.polls).toBe(1);
    await run.pass(1000);
    await run.next();
  });

  it('after 5xx goes again with growing waits of a second at least', async () => {
    await using run = await PollRun.start();
    await run.hold(Infinity);
    run.plane.answer((await run.next()).response, 503, { error: 'unavailable', message: 'no', requestId: 'r' });
    await run.pass(999);
    expect(run.polls).toBe(2);
    await run.pass(1);
    await run.next();
    expect(run.contacts).toEqual(['connected', 'reconnecting']);
  });

  it('that the control plane does not serve is told and not asked for again soon', async () => {
    await using run = await PollRun.start();
    run.plane.refuse((await run.next()).response, 'not_found', 'there is no GET at this path');
    await expect
      .poll(() => run.faults)
      .toEqual(['asking for jobs (/api/agent/jobs) is refused: not_found: there is no GET at this path']);
    await run.pass(299_000);
    expect(run.polls).toBe(1);
    await run.pass(1000);
    run.plane.answer((await run.next()).response, 200, { jobs: [] });
    await expect.poll(() => run.faults.at(-1)).toBeUndefined();
  });

  it('is answered at once after a failure, so that the control plane is known to be back, and held after that', async () => {
    await using run = await PollRun.start();
    await run.hold(Infinity);
    (await run.next()).response.destroy();
    await run.pass(1000);
    const { wait, response } = await run.next();
    expect({ wait, contacts: run.contacts }).toEqual({ wait: 0, contacts: ['connected', 'reconnecting'] });
    run.plane.answer(response, 200, { jobs: [] });
    await expect.poll(() => run.contacts).toEqual(['connected', 'reconnecting', 'connected']);
    expect((await run.next()).wait).toBe(33);
  });

  it('after a short one that hangs is a retry, and no held one that was cut', async () => {
    await using run = await PollRun.start();
    (await run.next()).response.destroy();
    await run.pass(1000);
    const { wait, response } = await run.next();
    run.clock.advance(10_000);
    response.destroy();
    await run.pass(999);
    expect({ wait, polls: run.polls }).toEqual({ wait: 0, polls: 2 });
    await run.pass(1);
    await run.next();
  });

  it('with another credential goes at once, but for what the control plane asked for', async () => {
    await using run = await PollRun.start();
    run.plane.refuse((await run.next()).response, 'not_found', 'there is no GET at this path');
    await expect.poll(() => run.faults.length).toBe(1);
    run.poll.restart();
    const body = { error: 'rate_limited', message: 'slow down', requestId: 'r' };
    run.plane.answer((await run.next()).response, 429, body, { 'retry-after': '20' });
    await expect.poll(() => run.clock.sleeping).toBeGreaterThan(0);
    run.poll.restart();
    await run.pass(19_999);
    expect(run.polls).toBe(2);
    await run.pass(1);
    await run.next();
  });

  it('of another control plane knows nothing of what was said of the one before', async () => {
    await using run = await PollRun.start();
    run.plane.refuse((await run.next()).response, 'not_found', 'there is no GET at this path');
    await expect.poll(() => run.faults.length).toBe(1);
    run.contact.moved();
    run.poll.restart();
    expect(run.faults.at(-1)).toBeUndefined();
    const body = { error: 'rate_limited', message: 'slow down', requestId: 'r' };
    run.plane.answer((await run.next()).response, 429, body, { 'retry-after': '3600' });
    await expect.poll(() => run.clock.sleeping).toBeGreaterThan(0);
    run.contact.moved();
    run.poll.restart();
    expect((await run.next()).wait).toBe(0);
  });
});
