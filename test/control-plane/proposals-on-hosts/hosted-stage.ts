import { vi } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { FakeGitHost, TOKEN, type HostKindShape } from '../../support/git-hosts/fake-host.ts';
import { INSTALL, RunningControlPlane, type Answer } from '../running-control-plane.ts';

/** More than the longest pause between two looks at a list of requests. */
export const POLL_MS = 76_000;

/** A control plane whose cluster is reviewed by pull or merge requests in a repository of a fake host. */
export class HostedStage implements AsyncDisposable {
  readonly plane: RunningControlPlane;
  readonly fake: FakeGitHost;
  readonly clock: SkippingClock;
  readonly clusterId: string;
  readonly webhookUrl: string;
  readonly webhookSecret: string;
  readonly #reviewer: string;

  private constructor(
    stage: Pick<HostedStage, 'plane' | 'fake' | 'clock' | 'clusterId' | 'webhookUrl' | 'webhookSecret'>,
    reviewer: string,
  ) {
    this.plane = stage.plane;
    this.fake = stage.fake;
    this.clock = stage.clock;
    this.clusterId = stage.clusterId;
    this.webhookUrl = stage.webhookUrl;
    this.webhookSecret = stage.webhookSecret;
    this.#reviewer = reviewer;
  }

  static async start(shape: HostKindShape, git: Record<string, unknown> = {}): Promise<HostedStage> {
    const clock = new SkippingClock();
    const fake = await FakeGitHost.start(shape);
    const plane = await RunningControlPlane.start(clock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
    await plane.putPodinfo();
    const put = await plane.call('PUT', '/repositories/hosted', {
      host: shape.kind,
      url: fake.cloneUrl,
      apiUrl: fake.apiUrl,
      write: { kind: 'token', token: TOKEN },
      read: { kind: 'token', token: TOKEN },
    });
    if (put.status !== 201) throw new Error(JSON.stringify(put.body));
    const clusterId = await plane.newCluster('prod-eu', { git: { repository: 'hosted', review: 'proposal', ...git } });
    const reviewer = await plane.call('POST', '/admin-tokens', { name: 'anna' });
    const stage = {
      plane,
      fake,
      clock,
      clusterId,
      webhookUrl: String(put.body['repository'].webhookUrl),
      webhookSecret: String(put.body['webhookSecret']),
    };
    return new HostedStage(stage, String(reviewer.body['token']));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane[Symbol.asyncDispose]();
    await this.fake[Symbol.asyncDispose]();
  }

  /** Asks for an intent, and waits until its request is open on the host. */
  async propose(intent: Record<string, unknown> = {}): Promise<Answer['body']> {
    const { id } = await this.ask(intent);
    return await this.until(id, (proposal) => proposal['hostNumber'] !== undefined);
  }

  async ask(intent: Record<string, unknown> = {}): Promise<{ readonly id: string }> {
    const answer = await this.plane.call('POST', `/clusters/${this.clusterId}/intents`, { ...INSTALL, ...intent });
    if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
    return { id: String(answer.body['id']) };
  }

  /** The proposal of an intent. */
  async proposalOf(intentId: string): Promise<Answer['body']> {
    const { body } = await this.plane.call('GET', `/proposals?cluster=prod-eu`);
    const found = body['items'].find((item: { readonly intentId: string }) => item.intentId === intentId);
    if (found === undefined) throw new Error(`no proposal of ${intentId}: ${JSON.stringify(body)}`);
    return found as Answer['body'];
  }

  /** Waits until the proposal of an intent is so; `skipMs` go by before each look. */
  async until(intentId: string, is: (proposal: Answer['body']) => boolean, skipMs = 0): Promise<Answer['body']> {
    return await vi.waitFor(
      async () => {
        if (skipMs > 0) this.clock.skip(skipMs);
        const proposal = await this.proposalOf(intentId);
        if (!is(proposal)) throw new Error(JSON.stringify(proposal));
        return proposal;
      },
      { timeout: 15_000, interval: skipMs > 0 ? 250 : 20 },
    );
  }

  async untilState(intentId: string, state: string): Promise<Answer['body']> {
    return await this.until(intentId, (proposal) => proposal['state'] === state);
  }

  /** One act of the reviewer. */
  async act(proposalId: unknown, kind: string, body: Record<string, unknown> = {}): Promise<Answer> {
    return await this.plane.call('POST', `/proposals/${String(proposalId)}/${kind}`, body, { token: this.#reviewer });
  }

  /** What the host says of the request, sent and signed as it does. */
  async tell(number: number, action: Parameters<HostKindShape['webhook']>[2]): Promise<number> {
    return await this.fake.deliverWebhook(this.webhookUrl, number, action, this.webhookSecret);
  }

  /** Waits until all that was closed here is known to be closed there. */
  async settled(): Promise<void> {
    const open =
      'SELECT id FROM proposals WHERE closed_at IS NOT NULL AND host_number IS NOT NULL AND host_closed_at IS NULL';
    await vi.waitFor(
      () => {
        if (this.plane.query(open).length > 0) throw new Error('requests are still to be closed');
      },
      { timeout: 10_000, interval: 20 },
    );
  }

  /** Waits until the host was asked nothing for a moment. */
  async quiet(): Promise<void> {
    let calls = -1;
    await vi.waitFor(
      () => {
        const before = calls;
        calls = this.fake.calls.length;
        if (calls !== before) throw new Error('the host is still being asked');
      },
      { timeout: 10_000, interval: 150 },
    );
  }

  /** Calls of the API since. */
  callsSince(from: number): string[] {
    return this.fake.calls.slice(from).map(({ method, path, status }) => `${method} ${path} ${status}`);
  }
}
