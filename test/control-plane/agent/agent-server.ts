import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { ClientAuthority } from '../../../src/control-plane/client-authority.ts';
import { agentRoutes } from '../../../src/control-plane/http/agent/agent-routes.ts';
import {
  NO_CLIENT_CERTIFICATE_SETTINGS,
  type ClientCertificateSettings,
} from '../../../src/control-plane/http/agent/client-certificates.ts';
import { DEFAULT_RATE_LIMITS, type RateLimits } from '../../../src/control-plane/http/agent/rate-limits.ts';
import { createHttpServer, type HttpServer } from '../../../src/control-plane/http/server.ts';
import { openMasterKey, type MasterKey } from '../../../src/control-plane/master-key.ts';
import { PayloadSigner } from '../../../src/control-plane/payload-signer.ts';
import { insertPendingCluster } from '../../../src/control-plane/store/clusters.ts';
import { LastContact } from '../../../src/control-plane/store/last-contact.ts';
import { openStore, type Store } from '../../../src/control-plane/store/open-store.ts';
import { insertRegistrationToken } from '../../../src/control-plane/store/registration-tokens.ts';
import type { ClusterRow } from '../../../src/control-plane/store/schema.ts';
import { Wakeups } from '../../../src/control-plane/wakeups.ts';
import { DEFAULT_INTERVALS, type GitSourceConfig } from '../../../src/protocol/agent-config.ts';
import { deriveHmacKey, signRequest } from '../../../src/protocol/hmac.ts';
import { newClusterId } from '../../../src/protocol/ids.ts';
import { AGENT_MEDIA_TYPE } from '../../../src/protocol/media-type.ts';
import type { RegisterResponse } from '../../../src/protocol/register.ts';
import { hashToken, mintToken } from '../../../src/protocol/token.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { bodyIn, OpenApiTraffic } from '../../support/openapi-traffic.ts';
import { testDatabaseUrl } from '../../support/postgres/test-database-url.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

export interface Agent {
  readonly id: string;
  readonly token: string;
}

/** The agent half of a control plane over a real database file, with a clock that the test moves. */
export class AgentServer implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly wakeups = new Wakeups({ clock: this.clock });
  readonly directory = mkdtempSync(join(tmpdir(), 'agent-server-'));
  /** `METHOD /path/:parameter` of all that is registered. */
  readonly routes: string[] = [];
  gitSource: GitSourceConfig | undefined;
  #traffic: OpenApiTraffic | undefined;
  store!: Store;
  masterKey!: MasterKey;
  app!: HttpServer;
  lastContact!: LastContact;

  /** @param version of the control plane */
  static async start(
    rateLimits: Partial<RateLimits> = {},
    version = '0.2.0',
    options: {
      /** PEM texts: for connections, which the test listens for. */
      readonly tls?: { readonly cert: string; readonly key: string };
      readonly clientCertificates?: ClientCertificateSettings;
    } = {},
  ): Promise<AgentServer> {
    const server = new AgentServer();
    const logger = createLogger('test', 'silent');
    server.masterKey = openMasterKey({ file: join(server.directory, 'master.key'), randomBytes });
    const url = await testDatabaseUrl(server.directory);
    server.store = await openStore({ url, clock: server.clock, logger });
    server.lastContact = new LastContact({ store: server.store, clock: server.clock });
    const { store, clock, masterKey, wakeups, lastContact } = server;
    const clientAuthority = new ClientAuthority({ store, masterKey, clock, randomBytes });
    server.app = createHttpServer({
      clock,
      logger,
      randomBytes,
      ready: async () => await store.ping(),
      ...(options.tls === undefined
        ? {}
        : { tls: { ...options.tls, ca: (await clientAuthority.certificates()).join('') } }),
    });
    server.app.addHook('onRoute', ({ method, url }) => {
      for (const verb of [method].flat()) if (verb !== 'HEAD') server.routes.push(`${verb} ${url}`);
    });
    agentRoutes(server.app, {
      store,
      clock,
      wakeups,
      masterKey,
      signer: new PayloadSigner({ store, masterKey, clock }),
      lastContact,
      logger,
      version,
      randomBytes,
      random: () => 0.5,
      caCertificate: '',
      clientAuthority,
      clientCertificates: options.clientCertificates ?? NO_CLIENT_CERTIFICATE_SETTINGS,
      rateLimits: { ...DEFAULT_RATE_LIMITS, ...rateLimits },
      gitSourceFor: async () => server.gitSource,
    });
    await store.write(async (trx) => {
      await trx
        .insertInto('organizations')
        .values({ id: 'org-1', name: 'first', created_at: clock.now().toISOString() })
        .execute();
    });
    return server;
  }

  /** A Pending cluster and a registration token for it. */
  async newCluster(
    slug: string,
    changes: Partial<ClusterRow> = {},
  ): Promise<{ id: string; registrationToken: string }> {
    const at = this.clock.now().toISOString();
    const id = newClusterId(randomBytes);
    await this.store.write(async (trx) => {
      await insertPendingCluster(trx, {
        id,
        organization_id: 'org-1',
        slug,
        display_name: slug,
        connectivity_mode: 'gitops',
        allowed_namespaces: '["shop"]',
        allowed_catalog_entries: '["podinfo"]',
        allowed_operation_templates: '["scale"]',
        security: '{"requireSignedPayloads":false,"requireEncryptedSecretPayloads":false}',
        intervals: JSON.stringify(DEFAULT_INTERVALS),
        repository_id: null,
        git_directory: null,
        created_at: at,
      });
      if (Object.keys(changes).length > 0) {
        await trx.updateTable('clusters').set(changes).where('id', '=', id).execute();
      }
    });
    return { id, registrationToken: await this.newRegistrationToken(id) };
  }

  async newRegistrationToken(clusterId: string): Promise<string> {
    const token = mintToken('svcreg', randomBytes).expose();
    const now = this.clock.now();
    await this.store.write(async (trx) => {
      await insertRegistrationToken(trx, {
        token_hash: hashToken(token),
        cluster_id: clusterId,
        created_by: 'admin',
        created_at: now.toISOString(),
        expires_at: new Date(now.getTime() + 24 * 3_600_000).toISOString(),
      });
    });
    return token;
  }

  async register(token: string, body: object = {}): Promise<Answer> {
    return await this.call({ method: 'POST', url: '/api/agent/register', payload: JSON.stringify({ token, ...body }) });
  }

  async newAgent(slug: string, changes: Partial<ClusterRow> = {}): Promise<Agent> {
    const { id, registrationToken } = await this.newCluster(slug, changes);
    const { body } = await this.register(registrationToken);
    return { id, token: (body as RegisterResponse).token };
  }

  async call(options: InjectOptions): Promise<Answer> {
    const response = await this.app.inject({
      ...options,
      headers: {
        accept: AGENT_MEDIA_TYPE,
        ...(options.payload === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE }),
        ...options.headers,
      },
    });
    const body: unknown = response.body === '' ? undefined : JSON.parse(response.body);
    await this.#checkTraffic(options, response);
    return { status: response.statusCode, headers: response.headers, body };
  }

  /** Against the document that this server serves itself. */
  async #checkTraffic(
    { method = 'GET', url, payload }: InjectOptions,
    response: LightMyRequestResponse,
  ): Promise<void> {
    this.#traffic ??= await OpenApiTraffic.of(async () => {
      const document = await this.app.inject({ method: 'GET', url: '/openapi.json' });
      return { tag: String(document.headers.etag), text: document.body };
    });
    this.#traffic.check({
      method,
      path: typeof url === 'string' ? url : '',
      requestBody: typeof payload === 'string' ? bodyIn(payload) : undefined,
      status: response.statusCode,
      mediaType: response.headers['content-type'],
      text: response.body,
    });
  }

  async get(agent: Agent, url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return await this.call({ method: 'GET', url, headers: { authorization: `Bearer ${agent.token}`, ...headers } });
  }

  /** A signed post. `text` replaces the body's JSON after signing. */
  async post(
    agent: Agent,
    url: string,
    body: unknown,
    changes: { readonly text?: string; readonly at?: Date; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const signature = signRequest({
      key: deriveHmacKey(new Secret(agent.token), agent.id),
      method: 'POST',
      path: url,
      body,
      at: changes.at ?? this.clock.now(),
    });
    return await this.call({
      method: 'POST',
      url,
      payload: changes.text ?? JSON.stringify(body),
      headers: { authorization: `Bearer ${agent.token}`, 'service-signature': signature, ...changes.headers },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
    await this.lastContact[Symbol.asyncDispose]();
    await this.store[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
