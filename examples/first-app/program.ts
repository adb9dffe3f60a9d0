import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { once } from 'node:events';

export interface ProgramSpec {
  readonly name: string;
  /** The program's `main.ts`, then its arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** How long it may take to print its ready line, in milliseconds. */
  readonly startTimeoutMs: number;
  /** The line on standard output that means "ready"; absent: it is not waited for. */
  readonly readyLine?: RegExp;
}

/** A program of ours, running as a process of its own. Disposing ends it: SIGTERM, and SIGKILL after 5 s. */
export class Program implements AsyncDisposable {
  readonly name: string;
  readonly readyLine: string;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess, readyLine: string) {
    this.name = name;
    this.#child = child;
    this.readyLine = readyLine;
  }

  /** Starts it, and waits for its ready line where it has one. */
  static async start(spec: ProgramSpec): Promise<Program> {
    const child = spawn(process.execPath, [...spec.args], {
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...spec.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(spec.logFile, { mode: 0o600 });
    child.stderr.pipe(log);
    const lines = createInterface({ input: child.stdout });
    const { readyLine: pattern } = spec;
    if (pattern === undefined) return new Program(spec.name, child, '');
    const readyLine = await new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        reject(new Error(`${spec.name} was not ready within ${spec.startTimeoutMs} ms; its log is ${spec.logFile}`));
      }, spec.startTimeoutMs);
      lines.on('line', (line) => {
        if (!pattern.test(line)) return;
        clearTimeout(timer);
        resolve(line);
      });
      child.once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`${spec.name} ended with code ${code ?? 'none'} at its start; its log is ${spec.logFile}`));
      });
    });
    return new Program(spec.name, child, readyLine);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends it as a machine that fails does, without a word: SIGKILL. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(force);
  }
}
