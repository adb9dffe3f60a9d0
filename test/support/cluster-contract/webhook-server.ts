import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLoopbackCertificate } from '../../../src/sandbox/loopback-certificate.ts';
import type { Json } from './kube-http.ts';

/** What a test makes a webhook answer: members of `response`, or a whole answer of its own. */
export type WebhookReply = Json | { readonly status: number; readonly text: string } | undefined;

/** An admission webhook of a test, on 127.0.0.1. */
export interface WebhookServer extends AsyncDisposable {
  readonly url: string;
  /** Base64, for `caBundle`. */
  readonly ca: string;
  /** The reviews that came, oldest first. */
  readonly reviews: Json[];
  /** How many came, by whoever trusts it or not. */
  connections: number;
  /** `undefined` lets the caller wait. */
  reply: (request: Json, path: string) => WebhookReply;
}

export const ALLOWED: WebhookReply = { allowed: true };

/** A JSON patch as a mutating webhook answers it. */
export function patchReply(...operations: readonly Json[]): Json {
  return {
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
  };
}

export async function startWebhookServer(): Promise<WebhookServer> {
  const { cert, key } = createLoopbackCertificate();
  const reviews: Json[] = [];
  const server = createServer({ cert, key });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const webhook: WebhookServer = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: Buffer.from(cert).toString('base64'),
    reviews,
    connections: 0,
    reply: () => ALLOWED,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('connection', () => {
    webhook.connections += 1;
  });
  server.on('request', (request, response) => {
    void text(request).then((body) => {
      const review = JSON.parse(body) as Json;
      reviews.push(review);
      const reply = webhook.reply(review['request'] as Json, request.url ?? '');
      if (reply === undefined) return;
      if (typeof reply['text'] === 'string') {
        response.writeHead(Number(reply['status']), { 'content-type': 'text/plain' }).end(reply['text']);
        return;
      }
      const { apiVersion, kind } = review;
      const answer = { apiVersion, kind, response: { uid: review['request']['uid'] as unknown, ...reply } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  return webhook;
}
