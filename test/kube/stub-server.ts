import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface StubServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Kubeconfig text with a token. */
  kubeconfig(token?: string): string;
  /** Answers requests that no discovery document answers. */
  handle(handler: Handler): void;
}

const documents: Readonly<Record<string, unknown>> = {
  '/api/v1': {
    kind: 'APIResourceList',
    resources: [
      { name: 'pods/log', kind: 'Pod', namespaced: true },
      { name: 'configmaps', kind: 'ConfigMap', namespaced: true },
      { name: 'namespaces', kind: 'Namespace', namespaced: false },
    ],
  },
};

/** A server that answers discovery, and for the rest whatever dirt a test wants. */
export async function startStubServer(): Promise<StubServer> {
  const received: Received[] = [];
  let handler: Handler = (_request, response) => void response.writeHead(404).end('404 page not found');
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const document = documents[url];
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      return;
    }
    received.push({ method, url, authorization: headers.authorization, contentType: headers['content-type'] });
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    received,
    kubeconfig: (token = 'one') => kubeconfigOf(url, { token }),
    handle: (next) => {
      handler = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export function kubeconfigOf(server: string, user: Record<string, unknown>): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

/** Answers one JSON document. */
export function json(status: number, body: unknown, headers: Record<string, string> = {}): Handler {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Answers the handlers in turn, the last for ever. */
export function inTurn(...handlers: readonly Handler[]): Handler {
  let at = 0;
  return (request, response) => {
    const handler = handlers[Math.min(at, handlers.length - 1)];
    at += 1;
    handler?.(request, response);
  };
}

export function missing(name: string): unknown {
  return {
    kind: 'Status',
    status: 'Failure',
    message: `configmaps "${name}" not found`,
    reason: 'NotFound',
    details: { name, kind: 'configmaps' },
    code: 404,
  };
}

/** Time stands at now for `Date`, and every wait is over at once. For tests of what is tried again, and how often. */
export const hurriedClock = {
  waits: [] as number[],
  now: () => new Date('2026-03-01T10:00:00Z'),
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // A request's own time never passes here; only waits between attempts do.
    if (ms >= 30_000)
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    signal?.throwIfAborted();
    hurriedClock.waits.push(ms);
  },
};
