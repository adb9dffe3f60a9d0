import { randomBytes } from 'node:crypto';
import { DiscussionChannel } from '../../../src/control-plane/channel/discussion-channel.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { AgentServer, type Agent, type Answer } from '../agent/agent-server.ts';

/** An agent API with one cluster, prod-eu, and the sending end of its organization's channel, driven turn by turn. */
export class ChannelWorld implements AsyncDisposable {
  readonly server: AgentServer;
  readonly agent: Agent;
  #channel: DiscussionChannel;
  readonly #stop = new AbortController();

  private constructor(server: AgentServer, agent: Agent) {
    this.server = server;
    this.agent = agent;
    this.#channel = this.#open();
  }

  static async start(): Promise<ChannelWorld> {
    const server = await AgentServer.start();
    return new ChannelWorld(server, await server.newAgent('prod-eu'));
  }

  get channel(): DiscussionChannel {
    return this.#channel;
  }

  /** As another process would open it: its claims are not ours. */
  #open(): DiscussionChannel {
    const { store, wakeups, masterKey, clock } = this.server;
    const logger = createLogger('test', 'silent');
    return new DiscussionChannel({
      store,
      wakeups,
      masterKey,
      clock,
      randomBytes,
      random: () => 0,
      logger,
      allowPrivate: true,
    });
  }

  async restart(): Promise<void> {
    await this.#channel[Symbol.asyncDispose]();
    this.#channel = this.#open();
  }

  async addWebhook(name: string, url: string): Promise<Secret> {
    const prepared = await this.#channel.prepareWebhook(new Secret(url));
    await this.server.store.write(async (trx) => {
      const by = { organizationId: 'org-1', name, createdBy: 'admin' };
      await this.#channel.insertWebhook(trx, prepared, by);
    });
    return prepared.secret;
  }

  async post(events: readonly AgentEvent[]): Promise<Answer> {
    return await this.server.post(this.agent, '/api/agent/events', { cluster_id: this.agent.id, events });
  }

  /** Sends until nothing is due. */
  async send(): Promise<void> {
    while (await this.#channel.send(this.#stop.signal));
  }

  async texts(): Promise<string[]> {
    const rows = await this.server.store.db.selectFrom('channel_messages').select('text').orderBy('id').execute();
    return rows.map(({ text }) => text);
  }

  async webhook(name: string) {
    return await this.#channel.requireWebhook(this.server.store.db, 'org-1', name);
  }

  async waiting(): Promise<number> {
    return (await this.server.store.db.selectFrom('channel_outbox').select('id').execute()).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#channel[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
