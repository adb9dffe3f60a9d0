import { expect } from 'vitest';
import { AgentClient } from '../../src/operator/agent-client.ts';
import { AgentSession } from '../../src/operator/agent-session.ts';
import { ConfigLoop } from '../../src/operator/config-loop.ts';
import { Contact } from '../../src/operator/contact.ts';
import type { AgentConfig } from '../../src/protocol/agent-config.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { CLUSTER_ID, type FakeControlPlane } from './fake-control-plane.ts';

const logger = createLogger('test', 'silent');
const IDENTITY = { token: new Secret('t1'), clusterId: CLUSTER_ID };

/** A running loop against a real server; time passes when the test says so. */
export class LoopRun implements AsyncDisposable {
  readonly plane: FakeControlPlane;
  readonly clock = new ManualClock();
  readonly configs: AgentConfig[] = [];
  readonly contacts: string[] = [];
  /** What was told of whether there is a configuration. */
  readonly served: boolean[] = [];
  readonly contact: Contact;
  readonly loop: ConfigLoop;
  readonly session: AgentSession;
  readonly #client: AgentClient;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(plane: FakeControlPlane, isServed = true) {
    this.plane = plane;
    plane.tokens.add('t1');
    const { clock } = this;
    this.#client = new AgentClient({
      baseUrl: plane.url,
      caCertificate: '',
      userAgent: 'test',
      clock,
      onConfigRevision: (revision) => this.loop.revisionSeen(revision),
    });
    const contact = new Contact({ clock, onChange: (state) => void this.contacts.push(state) });
    this.contact = contact;
    this.session = new AgentSession({
      contact,
      logger,
      refresh: async () => ({ state: 'refused' }),
      onAuthenticated: () => undefined,
    });
    this.loop = new ConfigLoop({
      session: this.session,
      contact,
      clock,
      random: () => 0,
      logger,
      isServed,
      onServed: (is) => void this.served.push(is),
      onConfig: (config) => void this.configs.push(config),
    });
    this.session.use(this.#client, IDENTITY);
    this.#ended = this.loop.run(this.#stop.signal);
  }

  /** `wait` and whether a tag was sent, of each request. */
  get asked(): string[] {
    return this.plane.requests.map(({ path, headers }) => {
      const wait = path.replace(/^.*wait=/, '');
      return headers['if-none-match'] === undefined ? wait : `${wait} ${headers['if-none-match']}`;
    });
  }

  async untilAsked(count: number): Promise<void> {
    await expect.poll(() => this.plane.requests.length, { timeout: 30_000, interval: 5 }).toBe(count);
  }

  /** Lets the loop take an answer that is under way. */
  async settle(): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, 30);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.#client[Symbol.asyncDispose]();
  }
}
