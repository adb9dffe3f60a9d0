import { expect } from 'vitest';
import { AgentClient } from '../../src/operator/agent-client.ts';
import { AgentSession } from '../../src/operator/agent-session.ts';
import { Contact } from '../../src/operator/contact.ts';
import { JobPoll } from '../../src/operator/jobs/job-poll.ts';
import type { Job } from '../../src/protocol/job.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { registerAgent } from '../control-plane/admin/running-agent.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { PollProxy, type ProxiedPoll } from '../support/poll-proxy.ts';
import { SkippingClock } from '../support/skipping-clock.ts';

const logger = createLogger('test', 'silent');

/** The operator's poll loop at a real control plane, with a proxy between the two. */
export class ProxiedPolls implements AsyncDisposable {
  readonly clock: SkippingClock;
  readonly plane: RunningControlPlane;
  readonly proxy: PollProxy;
  readonly clusterId: string;
  /** Jobs that were taken into the journal. */
  readonly taken: Job[] = [];
  readonly contacts: string[] = [];
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    parts: Pick<ProxiedPolls, 'clock' | 'plane' | 'proxy' | 'clusterId'>,
    operator: { readonly client: AgentClient; readonly token: string; readonly longestWaitSeconds: number },
    owned: AsyncDisposableStack,
  ) {
    this.clock = parts.clock;
    this.plane = parts.plane;
    this.proxy = parts.proxy;
    this.clusterId = parts.clusterId;
    this.#owned = owned;
    const { clock, clusterId } = this;
    const contact = new Contact({ clock, onChange: (state) => void this.contacts.push(state) });
    const session = new AgentSession({
      contact,
      logger,
      refresh: async () => await Promise.resolve({ state: 'refused' }),
      onAuthenticated: () => undefined,
    });
    session.use(operator.client, { token: new Secret(operator.token), clusterId });
    const poll = new JobPoll({
      session,
      contact,
      isPull: () => true,
      room: () => (this.taken.length === 0 ? 10 : 0),
      take: async (jobs) => await Promise.resolve(this.taken.push(...(jobs as Job[]))),
      acknowledged: async () => await Promise.resolve(),
      onFault: () => undefined,
      clock,
      random: () => 0,
      logger,
      longestWaitSeconds: operator.longestWaitSeconds,
    });
    this.#ended = poll.run(this.#stop.signal);
  }

  static async start(limits: {
    readonly longestWaitSeconds: number;
    readonly answerTimeoutMs?: number;
  }): Promise<ProxiedPolls> {
    await using owned = new AsyncDisposableStack();
    const clock = new SkippingClock();
    const plane = owned.use(await RunningControlPlane.start(clock));
    await plane.putPodinfo();
    const clusterId = await plane.newCluster('eu', { connectivityMode: 'pull' });
    const { registration } = await registerAgent(plane, clusterId);
    const proxy = owned.use(await PollProxy.start(plane.url));
    const { answerTimeoutMs, longestWaitSeconds } = limits;
    const client = owned.use(
      new AgentClient({
        baseUrl: proxy.url,
        caCertificate: '',
        userAgent: 'test',
        clock,
        ...(answerTimeoutMs === undefined ? {} : { answerTimeoutMs }),
      }),
    );
    const operator = { client, token: registration.token, longestWaitSeconds };
    return new ProxiedPolls({ clock, plane, proxy, clusterId }, operator, owned.move());
  }

  /** Lets time pass until the control plane has answered this poll. */
  async untilAnswered(poll: ProxiedPoll): Promise<void> {
    const answered = (): boolean => {
      if (!poll.isAnswered) this.clock.skip(2000);
      return poll.isAnswered;
    };
    await expect.poll(answered, { timeout: 20_000, interval: 2 }).toBe(true);
  }

  /** Lets so much time pass, in which the control plane comes to hold what it was sent. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.now().getTime() + ms;
    const over = (): boolean => {
      const left = end - this.clock.now().getTime();
      if (left > 0) this.clock.skip(Math.min(left, 2000));
      return left <= 0;
    };
    await expect.poll(over, { timeout: 20_000, interval: 2 }).toBe(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.#owned.disposeAsync();
  }
}
