import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from '../support/real-cluster/free-ports.ts';
import type { Answer } from '../control-plane/running-control-plane.ts';

const MAIN = join(import.meta.dirname, '../../src/control-plane/main.ts');

/** One control plane in a process of its own, so that it can be killed. */
export class ReplicaProcess implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** @throws Error with what it said when it did not start */
  static async start(env: Readonly<Record<string, string>>): Promise<ReplicaProcess> {
    const [port] = await freePorts(1);
    const listen = `127.0.0.1:${port}`;
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env['PATH'], SERVICE_LISTEN: listen, SERVICE_LOG_LEVEL: 'silent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith('service-control-plane is ready at ')) continue;
      child.stdout.resume();
      return new ReplicaProcess(`http://${listen}`, child);
    }
    throw new Error(`the control plane did not start: ${said}`);
  }

  async call(method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === '' ? {} : (JSON.parse(text) as never) };
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
