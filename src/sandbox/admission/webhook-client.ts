import { Agent, request, type RequestOptions } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { isJsonObject, objectAt, stringAt, type JsonObject } from '../json-value.ts';
import type { Storage } from '../storage.ts';
import { WebhookFailure } from './admission-review.ts';
import { resolveService } from './service-endpoint.ts';

/** As client-go words what a server answers instead of a review. */
const ANSWERS: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** More than any review needs. */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;

type Connection = Pick<RequestOptions, 'ca' | 'servername' | 'host' | 'port' | 'path' | 'signal'>;

interface Endpoint {
  /** As it is named in errors. */
  readonly url: URL;
  readonly trust: Connection;
}

/** Words of Go's network and TLS packages for what Node reports. */
function goError(error: unknown, address: string, host: string): string {
  if (!(error instanceof Error)) return String(error);
  if (['TimeoutError', 'AbortError'].includes(error.name)) return 'context deadline exceeded';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const { message } = error;
  if (code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`;
  if (code === 'ECONNRESET' || message === 'socket hang up') return 'EOF';
  if (UNTRUSTED.has(code)) return 'x509: certificate signed by unknown authority';
  if (code === 'CERT_HAS_EXPIRED') return 'x509: certificate has expired or is not yet valid';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `x509: certificate is not valid for ${host}`;
  return message;
}

/** A service's port is always named, 443 too. */
function shownUrl(url: URL, { servername }: Connection): string {
  return servername === undefined || url.port !== '' ? url.href : url.href.replace(url.host, `${url.host}:443`);
}

/** Asks webhooks over HTTPS, with the certificate authority that their configuration names. */
export class WebhookClient implements Disposable {
  readonly #storage: Storage;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor(deps: { readonly storage: Storage }) {
    this.#storage = deps.storage;
  }

  /** @throws WebhookFailure in the words of the real server */
  async ask(clientConfig: JsonObject, timeoutSeconds: number, review: JsonObject): Promise<JsonObject> {
    const { url, trust } = this.#endpoint(clientConfig);
    url.searchParams.set('timeout', `${timeoutSeconds}s`);
    const asked = (why: string): WebhookFailure => new WebhookFailure(`Post "${shownUrl(url, trust)}": ${why}`);
    const resolved = this.#resolve(clientConfig, asked);
    const port = resolved?.port ?? (url.port === '' ? 443 : Number(url.port));
    const host = resolved?.host ?? url.hostname.replaceAll(/^\[|\]$/g, '');
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    const send = { ...trust, host, port, path: `${url.pathname}${url.search}`, signal };
    const body = JSON.stringify(review);
    try {
      const answer = await this.#post(send, body);
      return readAnswer(answer.statusCode ?? 0, await limitedText(answer));
    } catch (error) {
      if (error instanceof WebhookFailure) throw error;
      throw asked(goError(error, `${host}:${port}`, url.hostname));
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #endpoint(clientConfig: JsonObject): Endpoint {
    const bundle = Buffer.from(stringAt(clientConfig, 'caBundle') ?? '', 'base64').toString();
    const trust = bundle === '' ? {} : { ca: bundle };
    const service = objectAt(clientConfig, 'service');
    const [name, namespace] = [stringAt(service, 'name') ?? '', stringAt(service, 'namespace') ?? ''];
    if (name === '') {
      const url = new URL(stringAt(clientConfig, 'url') ?? '');
      return { url, trust };
    }
    const servername = `${name}.${namespace}.svc`;
    const url = new URL(`https://${servername}:${Number(service['port'] ?? 443)}`);
    url.pathname = stringAt(service, 'path') ?? '';
    return { url, trust: { ...trust, servername } };
  }

  /** Services have no address here: their Endpoints say where they are, as with `--enable-aggregator-routing`. */
  #resolve(
    clientConfig: JsonObject,
    failure: (why: string) => WebhookFailure,
  ): { readonly host: string; readonly port: number } | undefined {
    const service = objectAt(clientConfig, 'service');
    const name = stringAt(service, 'name');
    if (name === undefined) return undefined;
    const found = resolveService(
      this.#storage,
      stringAt(service, 'namespace') ?? '',
      name,
      Number(service['port'] ?? 443),
    );
    if (typeof found === 'string') throw failure(found);
    return found;
  }

  async #post(connection: Connection, body: string): Promise<IncomingMessage> {
    const first = this.#send(connection, body);
    try {
      return await first.answer;
    } catch (error) {
      // The other side may close an idle connection just as it is used again.
      const stale = first.sent.reusedSocket && error instanceof Error && 'code' in error && error.code === 'ECONNRESET';
      if (!stale) throw error;
      return this.#send(connection, body).answer;
    }
  }

  #send(
    connection: Connection,
    body: string,
  ): { readonly sent: ClientRequest; readonly answer: Promise<IncomingMessage> } {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = {
      ...(connection.servername === undefined ? {} : { host: connection.servername }),
      accept: 'application/json, */*',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'kube-apiserver-admission',
    };
    const sent = request({ ...connection, agent: this.#agent, method: 'POST', headers }, resolve);
    sent.once('error', reject);
    sent.end(body);
    return { sent, answer: promise };
  }
}

async function limitedText(answer: IncomingMessage): Promise<string> {
  if (Number(answer.headers['content-length'] ?? 0) > MAX_ANSWER_BYTES) {
    answer.destroy();
    throw new WebhookFailure(`webhook response is larger than ${MAX_ANSWER_BYTES} bytes`);
  }
  return text(answer);
}

function readAnswer(status: number, body: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    answer = undefined;
  }
  if (status < 200 || status > 206) {
    const said = stringAt(answer, 'kind') === 'Status' ? stringAt(answer, 'message') : undefined;
    const words = body.trim() === '' ? 'unknown' : body.trim();
    const unexpected = `an error on the server (${JSON.stringify(words)}) has prevented the request from succeeding`;
    throw new WebhookFailure(said ?? ANSWERS[status] ?? (status >= 500 ? unexpected : words));
  }
  if (body === '') {
    throw new WebhookFailure(`0-length response with status code: ${status} and content type: application/json`);
  }
  if (!isJsonObject(answer)) {
    throw new WebhookFailure(`couldn't get version/kind; json parse error: invalid webhook response`);
  }
  return answer;
}
