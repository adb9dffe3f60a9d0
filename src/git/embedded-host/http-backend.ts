import { spawn, type ChildProcess } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { runGit } from '../git-process.ts';

/** How a request to one of Git's services ended. */
export type BackendEnd =
  | { readonly state: 'answered'; readonly status: number }
  | { readonly state: 'body-too-large' | 'too-slow' | 'malformed' | 'aborted' | 'failed'; readonly detail: string };

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Runs `git http-backend` as CGI for one request: the body goes to its input, its header becomes the answer's, the
 * rest is streamed. The whole process group ends with the request: SIGTERM, so that git removes its quarantine.
 */
export async function runHttpBackend(deps: {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Nothing where the request has no body. */
  readonly body: Readable | undefined;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}): Promise<BackendEnd> {
  const { body: input, response, signal } = deps;
  const { promise, resolve } = Promise.withResolvers<BackendEnd>();
  let end: BackendEnd | undefined;
  let stderr = '';
  const child = spawn(deps.program, [], {
    env: { ...deps.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const stop = (reason: BackendEnd): void => {
    end ??= reason;
    killGroup(child);
  };
  const onAbort = (): void => stop({ state: 'aborted', detail: String(signal.reason) });
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();

  // http-backend may end before it has read all of the body, for example when it refuses a service.
  child.stdin.on('error', () => undefined);
  if (input === undefined) {
    child.stdin.end();
  } else {
    input.on('error', (error) => stop({ state: 'failed', detail: error.message }));
    input.pipe(child.stdin);
  }

  const head = new HeadReader();
  child.stdout.on('data', (chunk: Buffer) => {
    if (end !== undefined) return;
    const body = head.add(chunk);
    if (body === undefined) {
      if (head.size > MAX_HEADER_BYTES) stop({ state: 'failed', detail: 'git http-backend sent no header' });
      return;
    }
    if (!response.headersSent) response.writeHead(head.status, head.headers);
    if (body.length > 0 && !response.write(body)) {
      child.stdout.pause();
      response.once('drain', () => child.stdout.resume());
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < 8192) stderr += chunk.toString('utf8');
  });
  child.on('error', (error) => {
    end ??= { state: 'failed', detail: error.message };
    resolve(end);
  });
  child.on('close', (code) => {
    input?.unpipe(child.stdin);
    const failure = (): BackendEnd => ({ state: 'failed', detail: `exit ${String(code)}: ${stderr.trim()}` });
    resolve(end ?? (head.complete ? { state: 'answered', status: head.status } : failure()));
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

let program: Promise<string> | undefined;

/** Path of `git-http-backend`. */
export async function httpBackendProgram(): Promise<string> {
  program ??= runGit(['--exec-path']).then((output) => join(output.toString('utf8').trim(), 'git-http-backend'));
  try {
    return await program;
  } catch (error) {
    program = undefined;
    throw error;
  }
}

/** Reads a CGI header (RFC 3875, 6): lines until an empty one, of which `Status` is the answer's status. */
class HeadReader {
  #pending = Buffer.alloc(0);
  #headers: Record<string, string> | undefined;
  status = 200;

  get complete(): boolean {
    return this.#headers !== undefined;
  }

  get headers(): Record<string, string> {
    return this.#headers ?? {};
  }

  get size(): number {
    return this.#pending.length;
  }

  /** The part of `chunk` that belongs to the body; `undefined` while the header is not complete. */
  add(chunk: Buffer): Buffer | undefined {
    if (this.#headers !== undefined) return chunk;
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const at = this.#pending.indexOf('\r\n\r\n');
    if (at < 0) return undefined;
    const headers: Record<string, string> = {};
    for (const line of this.#pending.subarray(0, at).toString('latin1').split('\r\n')) {
      const colon = line.indexOf(':');
      const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      if (name === 'status') this.status = Number.parseInt(value, 10);
      else if (colon > 0) headers[name] = value;
    }
    this.#headers = headers;
    return this.#pending.subarray(at + 4);
  }
}

function killGroup(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // The group has ended already.
    }
  };
  kill('SIGTERM');
  const force = setTimeout(() => kill('SIGKILL'), 2000);
  force.unref();
  child.once('close', () => clearTimeout(force));
}
