import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { readConfig } from '../../src/control-plane/config.ts';
import {
  startControlPlane,
  type ControlPlane,
  type ControlPlaneDeps,
} from '../../src/control-plane/start-control-plane.ts';
import { hashToken, mintToken } from '../../src/protocol/token.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { createLogger, type Logger } from '../../src/runtime/logger.ts';
import { bodyIn, OpenApiTraffic, type Traffic } from '../support/openapi-traffic.ts';
import { executeSoon, queryNow } from '../support/postgres/query-now.ts';
import { testDatabaseUrl } from '../support/postgres/test-database-url.ts';

const run = promisify(execFile);

export const PODINFO = {
  chart: { type: 'oci', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', name: 'podinfo' },
  versions: '>=6.5.0 <7',
  defaultValues: { ui: { message: 'hello' } },
};

export const INSTALL = {
  action: 'install',
  namespace: 'shop',
  name: 'podinfo',
  catalogEntry: 'podinfo',
  chartVersion: '6.5.0',
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // What a test expects of a body it says itself.
  readonly body: Record<string, any>; // oxlint-disable-line typescript/no-explicit-any
}

type MoreDeps = Pick<ControlPlaneDeps, 'openStore'>;
type Environment = Readonly<Record<string, string>> & { readonly SERVICE_DATABASE_URL: string };

/** The environment of a Git client that knows nothing but the credential it is given. */
export function gitEnv(credential: { readonly username: string; readonly password: string }): NodeJS.ProcessEnv {
  const basic = Buffer.from(`${credential.username}:${credential.password}`).toString('base64');
  return {
    PATH: process.env['PATH'],
    HOME: '/nonexistent',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_COUNT: '3',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
    GIT_CONFIG_KEY_1: 'user.name',
    GIT_CONFIG_VALUE_1: 'A person',
    GIT_CONFIG_KEY_2: 'user.email',
    GIT_CONFIG_VALUE_2: 'person@example.com',
  };
}

/** A whole control plane in this process, over real HTTP, SQLite and Git, in a folder of its own. */
export class RunningControlPlane implements AsyncDisposable {
  readonly folder: string;
  readonly #clock: Clock;
  readonly #env: Environment;
  readonly #logger: Logger;
  readonly #more: MoreDeps;
  readonly token = mintToken('svcadm', randomBytes).expose();
  #running!: ControlPlane;
  #traffic: OpenApiTraffic | undefined;

  private constructor(folder: string, clock: Clock, env: Environment, logger: Logger, more: MoreDeps) {
    this.folder = folder;
    this.#more = more;
    this.#logger = logger;
    this.#clock = clock;
    this.#env = env;
  }

  static async start(
    clock: Clock = systemClock,
    env: Readonly<Record<string, string>> = {},
    logger: Logger = createLogger('test', 'silent'),
    more: MoreDeps = {},
  ): Promise<RunningControlPlane> {
    const folder = mkdtempSync(join(tmpdir(), 'control-plane-'));
    const databaseUrl = env['SERVICE_DATABASE_URL'] ?? (await testDatabaseUrl(folder));
    const plane = new RunningControlPlane(folder, clock, { ...env, SERVICE_DATABASE_URL: databaseUrl }, logger, more);
    await plane.#start();
    return plane;
  }

  get url(): string {
    return this.#running.url;
  }

  async stop(): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#start();
  }

  /** Starts it again after `stop`. */
  async #start(): Promise<void> {
    const config = readConfig({
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: this.folder,
      SERVICE_ADMIN_TOKEN: this.token,
      SERVICE_LOG_LEVEL: 'silent',
      SERVICE_RATE_LIMIT_EVENTS: '1000',
      ...this.#env,
    });
    const [clock, logger] = [this.#clock, this.#logger];
    const deps = { clock, randomBytes, random: Math.random, logger, ...this.#more };
    this.#running = await startControlPlane(config, deps);
  }

  async startAgain(): Promise<void> {
    await this.#start();
  }

  /** One call of the admin API. `body` is sent as JSON, or as it is when it is text. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    options: { readonly token?: string | null; readonly headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const token = options.token === undefined ? this.token : options.token;
    const answer = await fetch(`${this.url}${path.startsWith('/api') ? path : `/api/v1${path}`}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    await this.#checkTraffic({
      method,
      path: new URL(answer.url).pathname + new URL(answer.url).search,
      requestBody: body === undefined ? undefined : bodyIn(typeof body === 'string' ? body : JSON.stringify(body)),
      status: answer.status,
      mediaType: answer.headers.get('content-type') ?? undefined,
      text,
    });
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as never) };
  }

  /** Against the document that this control plane serves itself. */
  async #checkTraffic(traffic: Traffic): Promise<void> {
    this.#traffic ??= await OpenApiTraffic.of(async (known) => {
      const document = await fetch(`${this.url}/openapi.json`, { headers: { 'if-none-match': known.join(', ') } });
      return {
        tag: document.headers.get('etag') ?? '',
        text: document.status === 304 ? undefined : await document.text(),
      };
    });
    this.#traffic.check(traffic);
  }

  /** A gitops cluster that may install podinfo into `shop`, unless `changes` say otherwise. */
  async newCluster(slug: string, changes: Record<string, unknown> = {}): Promise<string> {
    const answer = await this.call('POST', '/clusters', {
      slug,
      displayName: slug,
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: ['rollout-restart'],
      connectivityMode: 'gitops',
      ...changes,
    });
    if (answer.status !== 201) throw new Error(`cluster ${slug}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['cluster'].id);
  }

  async putPodinfo(): Promise<void> {
    const answer = await this.call('PUT', '/catalog/podinfo', PODINFO);
    if (answer.status !== 200) throw new Error(`catalog: ${JSON.stringify(answer.body)}`);
  }

  /** Waits until the intent is in `state`; answers it. */
  async until(id: string, state: string): Promise<Answer['body']> {
    return await vi.waitFor(
      async () => {
        const { body } = await this.call('GET', `/intents/${id}`);
        if (body['state'] !== state) throw new Error(`intent ${id} is ${JSON.stringify(body)}`);
        return body;
      },
      { timeout: 30_000, interval: 10 },
    );
  }

  /** Another organization with an admin token of its own; answers the token. */
  addOrganization(name: string): string {
    const token = mintToken('svcadm', randomBytes).expose();
    const at = systemClock.now().toISOString();
    this.query('INSERT INTO organizations (id, name, created_at) VALUES (?, ?, ?)', `org-${name}`, name, at);
    this.query(
      'INSERT INTO admin_tokens (token_hash, organization_id, name, created_at) VALUES (?, ?, ?, ?)',
      hashToken(token),
      `org-${name}`,
      `${name}-admin`,
      at,
    );
    return token;
  }

  /** Rows of the database itself, as numbers and texts whichever kind it is. All of this process waits: nothing that waits for a lock. */
  query(sql: string, ...parameters: (string | number)[]): Record<string, unknown>[] {
    return queryNow(this.#env.SERVICE_DATABASE_URL, sql, parameters);
  }

  /** Changes rows of the database behind its back, while it goes on: a transaction of its own may have to end first. */
  async execute(sql: string, ...parameters: (string | number)[]): Promise<void> {
    await executeSoon(this.#env.SERVICE_DATABASE_URL, sql, parameters);
  }

  /** What a refusal must leave as it was: rows of everything that an intent writes, and the tip of the branch. */
  async traces(): Promise<unknown> {
    const [rows] = this.query(
      `SELECT (SELECT count(*) FROM intents) AS intents, (SELECT count(*) FROM receipts) AS receipts,
              (SELECT count(*) FROM audit) AS audit, (SELECT count(*) FROM request_keys) AS requestKeys`,
    );
    return { ...rows, tip: (await this.git('rev-parse', 'main')).trim() };
  }

  /** Git on the hosted bare repository itself. */
  async git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', ['-C', join(this.folder, 'git', 'fleet.git'), ...args]);
    return stdout;
  }

  /** Intent ids of the branch's commits, oldest first. */
  async committedIntents(): Promise<string[]> {
    const log = await this.git('log', '--reverse', '--format=%(trailers:key=Intent-Id,valueonly)', 'main');
    return log.split('\n').filter((line) => line !== '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
