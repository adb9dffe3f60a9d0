import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { freePorts } from '../real-cluster/free-ports.ts';

const HOST = join(import.meta.dirname, 'host-process.ts');
const USER = 'service';

/** A real PostgreSQL of its own in a temporary folder, on a port of 127.0.0.1 that stays the same over a restart. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly password = randomBytes(12).toString('hex');
  readonly #host: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(folder: string, port: number) {
    this.port = port;
    // In a session of its own: a Ctrl-C meant for this process must not end it before those who use it.
    const host = spawn(process.execPath, [HOST, folder, String(port), USER], {
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    host.stdin.on('error', () => undefined);
    this.#answers = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
    this.#host = host;
  }

  static async start(): Promise<PostgresServer> {
    const [port = 0] = await freePorts(1);
    const server = new PostgresServer(await mkdtemp(join(tmpdir(), 'postgres-')), port);
    await server.#ask(server.password);
    return server;
  }

  /** The URL of one of its databases, with a user that may do everything. */
  url(database: string): string {
    return `postgres://${USER}:${this.password}@127.0.0.1:${this.port}/${database}`;
  }

  async startAgain(): Promise<void> {
    await this.#ask('start');
  }

  /** Ends it, and with it every connection at once. */
  async stop(): Promise<void> {
    await this.#ask('stop');
  }

  /** A new, empty database; answers its URL. */
  async createDatabase(options = ''): Promise<string> {
    const name = `test_${randomBytes(6).toString('hex')}`;
    await this.query(`CREATE DATABASE ${name} ${options}`);
    return this.url(name);
  }

  /** One statement by a connection of its own; no URL means the database of administration. */
  async query(text: string, url = this.url('postgres')): Promise<Record<string, unknown>[]> {
    return await queryDatabase(url, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#host.exitCode !== null) return;
    const exited = once(this.#host, 'exit');
    this.#host.stdin?.end();
    await exited;
  }

  async #ask(line: string): Promise<void> {
    this.#host.stdin?.write(`${line}\n`);
    const answer = await this.#answers.next();
    if (answer.done === true) throw new Error('PostgreSQL could not be started; see above');
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
