import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A real Git host over HTTP (`git http-backend`) that may refuse, or do anything else, before it serves. */
export class GitHttp implements AsyncDisposable {
  readonly authorizations: (string | undefined)[] = [];
  /** Answers a request by itself and returns true, or lets it be served. */
  refuse: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server: Server;

  readonly #scheme: string;

  private constructor(root: string, tls: { readonly cert: string; readonly key: string } | undefined) {
    this.#scheme = tls === undefined ? 'http' : 'https';
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      this.authorizations.push(request.headers.authorization);
      if (!this.refuse(request, response)) serveGit(root, request, response);
    };
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  static async start(root: string, tls?: { readonly cert: string; readonly key: string }): Promise<GitHttp> {
    const host = new GitHttp(root, tls);
    await new Promise<void>((resolve) => {
      host.#server.listen(0, '127.0.0.1', resolve);
    });
    return host;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/remote.git`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** Lets `git http-backend` answer from the repositories below `root`; to write is for whom `user` names. */
export function serveGit(root: string, request: IncomingMessage, response: ServerResponse, user?: string): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      ...(user === undefined ? {} : { REMOTE_USER: user }),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  request.pipe(backend.stdin);
  const parts: Buffer[] = [];
  backend.stdout.on('data', (part: Buffer) => parts.push(part));
  backend.on('close', () => {
    const output = Buffer.concat(parts);
    const end = output.indexOf('\r\n\r\n');
    for (const line of output.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else if (name !== '') response.setHeader(name, value);
    }
    response.end(output.subarray(end + 4));
  });
}
