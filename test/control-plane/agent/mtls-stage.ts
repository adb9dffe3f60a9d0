import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { RegisterResponse } from '../../../src/protocol/register.ts';
import { newClientKey } from '../../support/client-key.ts';
import { issuePrivateChain, type PrivateChain } from '../../support/private-authority.ts';
import type { ClientCertificateSettings } from '../../../src/control-plane/http/agent/client-certificates.ts';
import { AgentServer, type Agent, type Answer } from './agent-server.ts';

/** PEM texts that a client presents. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertifiedAgent extends Agent {
  readonly pair: ClientPair;
}

/** The agent API over real TLS, by a private root. */
export class MtlsStage implements AsyncDisposable {
  readonly server: AgentServer;
  readonly #chain: PrivateChain;

  private constructor(server: AgentServer, chain: PrivateChain) {
    this.server = server;
    this.#chain = chain;
  }

  static async start(clientCertificates?: ClientCertificateSettings): Promise<MtlsStage> {
    const chain = await issuePrivateChain('control plane');
    const server = await AgentServer.start({}, '0.2.0', {
      tls: { cert: chain.leaf + chain.intermediate, key: chain.key },
      ...(clientCertificates === undefined ? {} : { clientCertificates }),
    });
    await server.app.listen({ host: '127.0.0.1', port: 0 });
    return new MtlsStage(server, chain);
  }

  get port(): number {
    return (this.server.app.server.address() as AddressInfo).port;
  }

  /** Root that verifies the server. */
  get root(): string {
    return this.#chain.root;
  }

  /** An agent that asked for a client certificate at its registration. */
  async newCertifiedAgent(slug: string): Promise<CertifiedAgent> {
    const { id, registrationToken } = await this.server.newCluster(slug);
    const { key, csr } = await newClientKey();
    const { body } = await this.server.register(registrationToken, { csr });
    const { token, client_certificate: cert = '' } = body as RegisterResponse;
    return { id, token, pair: { cert, key } };
  }

  /** A post of no events, unsigned: what a client certificate alone lets through. */
  async postUnsigned(agent: Agent, pair?: ClientPair): Promise<Answer> {
    return await send(
      { port: this.port, path: '/api/agent/events', method: 'POST', ca: this.root, ...pair },
      { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
      '{"events":[]}',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

/** One request over a connection of its own. */
export async function send(
  options: RequestOptions,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const request = httpsRequest({ host: '127.0.0.1', agent: false, ...options, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const isJson = response.headers['content-type']?.includes('json') === true;
        const parsed: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
