import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveGit } from '../../delivery/gitops/read/git-http.ts';
import { createLoopbackCertificate } from '../../../src/sandbox/loopback-certificate.ts';

export interface KnownToken {
  readonly access: 'read' | 'write';
  /** Requests that are still answered 404: some of the host's servers do not know it yet. */
  unknownFor?: number;
}

/** An API's answer to a request below its prefix; undefined: 404. */
export type FakeApi = (request: {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}) => { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> } | undefined;

/**
 * A Git host over HTTPS with a certificate of its own: real `git http-backend` behind tokens, and whatever API a test gives it.
 * While it answers it looks at every process's arguments, where a secret must never be.
 */
export class FakeGitHost implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'git-host-'));
  readonly tokens = new Map<string, KnownToken>();
  readonly requests: { readonly method: string; readonly url: string; readonly authorization: string }[] = [];
  readonly commandLines = new Set<string>();
  api: FakeApi = () => undefined;
  /** Answers Git in the host's place: a redirect, an outage. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly ca: string;
  readonly #server: Server;

  private constructor({ cert, key }: { readonly cert: string; readonly key: string }) {
    this.ca = cert;
    this.#server = createServer({ cert, key }, (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<FakeGitHost> {
    const host = new FakeGitHost(createLoopbackCertificate());
    await new Promise<void>((resolve) => {
      host.#server.listen(0, '127.0.0.1', resolve);
    });
    return host;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** An empty repository `acme/fleet`; answers its address. */
  newRepository(path = 'acme/fleet'): string {
    const folder = join(this.folder, `${path}.git`);
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
    execFileSync('git', ['-C', folder, 'config', 'http.receivepack', 'true']);
    return `${this.url}/${path}.git`;
  }

  git(args: readonly string[], path = 'acme/fleet'): string {
    return execFileSync('git', ['-C', join(this.folder, `${path}.git`), ...args], { encoding: 'utf8' }).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    this.requests.push({ method, url, authorization: headers.authorization ?? '' });
    noteCommandLines(this.commandLines);
    if (this.intercept(request, response)) return;
    if (/\.git\//.test(url)) {
      const needed = /receive-pack/.test(url) ? 'write' : 'read';
      const status = this.#refusal(headers.authorization, needed);
      if (status === undefined) serveGit(this.folder, request, response, 'somebody');
      else {
        request.resume();
        response.writeHead(status, status === 401 ? { 'www-authenticate': 'Basic realm="git"' } : {}).end();
      }
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = this.api({ method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') });
    response.writeHead(answer?.status ?? 404, { 'content-type': 'application/json', ...answer?.headers });
    response.end(JSON.stringify(answer?.body ?? { message: 'Not Found' }));
  }

  #refusal(authorization: string | undefined, needed: 'read' | 'write'): number | undefined {
    const pair = Buffer.from((authorization ?? '').replace(/^Basic /, ''), 'base64').toString('utf8');
    const token = this.tokens.get(pair.slice(pair.indexOf(':') + 1));
    if (token === undefined) return 401;
    if ((token.unknownFor ?? 0) > 0) {
      token.unknownFor = (token.unknownFor ?? 0) - 1;
      return 404;
    }
    return needed === 'write' && token.access === 'read' ? 403 : undefined;
  }
}

/** Arguments of every process of this machine now. */
export function noteCommandLines(into: Set<string>): void {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      into.add(readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      // It has ended.
    }
  }
}
