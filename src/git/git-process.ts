import { spawn } from 'node:child_process';

/** A native git command that ended with a failure. `stderr` is git's own text; it never holds a credential. */
export class GitProcessError extends Error {
  readonly command: string;
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(command: string, exitCode: number | null, stderr: string) {
    super(
      `git ${command} failed (${exitCode === null ? 'killed' : `exit ${exitCode}`}): ${stderr.trim().slice(-2000)}`,
    );
    this.name = 'GitProcessError';
    this.command = command;
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/**
 * The whole environment of a git process: nothing of ours but PATH reaches it, no user's or machine's configuration
 * changes what it does, and it never asks a person for a password.
 */
export function gitEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    ...extra,
  };
}

/** Settings for one git process by environment: unlike `-c`, they are in no argument list that other users can read. */
export function gitConfigEnvironment(settings: readonly (readonly [string, string])[]): Record<string, string> {
  const environment: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
  settings.forEach(([key, value], index) => {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return environment;
}

export interface RunGitOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** The process is killed after this many milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** The process is killed when it writes more. Default 16 MiB. */
  readonly maxOutputBytes?: number;
}

/**
 * Runs one native git command to its end and gives its standard output.
 *
 * @throws {GitProcessError} when it exits with anything but 0, is killed, or writes more than allowed
 */
export async function runGit(args: readonly string[], options: RunGitOptions = {}): Promise<Buffer> {
  options.signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 60_000);
  const limit = options.maxOutputBytes ?? 16 * 1024 * 1024;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const child = spawn('git', [...args], {
    cwd: options.cwd,
    env: gitEnvironment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]),
    killSignal: 'SIGKILL',
  });
  const output: Buffer[] = [];
  let size = 0;
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) child.kill('SIGKILL');
    else output.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < 64 * 1024) stderr += chunk.toString('utf8');
  });
  // A child that ends before it has read its input breaks the pipe: its exit status tells why.
  child.stdin.on('error', () => undefined);
  child.on('error', (error) => {
    if (options.signal?.aborted === true) reject(abortReason(options.signal));
    else reject(new GitProcessError(args[0] ?? '', null, timeout.aborted ? 'timed out' : error.message));
  });
  child.on('close', (code) => {
    if (size > limit) reject(new GitProcessError(args[0] ?? '', null, `more than ${limit} bytes of output`));
    else if (code === 0) resolve(Buffer.concat(output));
    else reject(new GitProcessError(args[0] ?? '', code, stderr));
  });
  child.stdin.end(options.input ?? '');
  return promise;
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason });
}
