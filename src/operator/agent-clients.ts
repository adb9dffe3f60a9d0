import type { Clock } from '../runtime/clock.ts';
import { AgentClient, type ClientCertificate } from './agent-client.ts';
import { USER_AGENT } from './operator-version.ts';

export interface AgentClientsDeps {
  readonly clock: Clock;
  /** Throws once this process must not change anything any more. */
  readonly mayWrite: () => void;
  readonly onConfigRevision: (revision: string) => void;
  readonly onServiceVersion: (version: string) => void;
}

/** Where a control plane is, whom it is trusted to be, and what is shown to it. */
export interface AgentEndpoint {
  readonly baseUrl: string;
  readonly caCertificate: string;
  readonly clientCertificate?: ClientCertificate;
}

/** One client for one address, CA and client certificate; another of them gets another. */
export class AgentClients implements AsyncDisposable {
  readonly #deps: AgentClientsDeps;
  #current: { readonly client: AgentClient; readonly key: string } | undefined;
  /** What they have under way ends as it would have. */
  readonly #retired = new Set<AgentClient>();

  constructor(deps: AgentClientsDeps) {
    this.#deps = deps;
  }

  for(endpoint: AgentEndpoint): AgentClient {
    const { baseUrl, caCertificate, clientCertificate } = endpoint;
    const key = [baseUrl, caCertificate, clientCertificate?.certificate ?? ''].join('\n');
    if (this.#current?.key === key) return this.#current.client;
    const old = this.#current?.client;
    const client = new AgentClient({ ...this.#deps, ...endpoint, userAgent: USER_AGENT });
    this.#current = { client, key };
    if (old !== undefined) this.#retire(old);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const clients = [this.#current?.client, ...this.#retired];
    await Promise.all(clients.map(async (client) => await client?.[Symbol.asyncDispose]()));
  }

  #retire(client: AgentClient): void {
    this.#retired.add(client);
    const forget = (): void => void this.#retired.delete(client);
    client.close().then(forget, forget);
  }
}
