import { setTimeout as sleep } from 'node:timers/promises';
import { signatureOf, type EncryptionKey } from './agent-identity.ts';
import type { Answer, HttpClient } from './http-client.ts';

export const AGENT_MEDIA_TYPE = 'application/vnd.service.agent.v1+json';

/** Longest `Retry-After` that a check sits out: the suite has to live with the limits of a control plane in use. */
const MAX_PATIENCE_SECONDS = 15;

export interface AgentCall {
  readonly method?: string;
  readonly path: string;
  /** JSON value of the body; what the MAC is made over. */
  readonly body?: unknown;
  /** Sent in the place of `body`'s JSON. */
  readonly text?: string | Buffer;
  /** Added to or put in the place of the protocol's headers; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** What the MAC is made of where that is not what is sent; false: none is sent. */
  readonly sign?:
    | false
    | { readonly shiftSeconds?: number; readonly target?: string; readonly method?: string; readonly token?: string };
  /** Take a 429 as the answer. */
  readonly impatient?: boolean;
  readonly timeoutMs?: number;
}

/** A registered cluster's side of the protocol, as an operator has it. */
export class ClusterClient {
  readonly id: string;
  readonly key: EncryptionKey | undefined;
  token: string;
  readonly #http: HttpClient;

  constructor(
    http: HttpClient,
    identity: { readonly id: string; readonly token: string; readonly key?: EncryptionKey },
  ) {
    this.#http = http;
    this.id = identity.id;
    this.token = identity.token;
    this.key = identity.key;
  }

  async get(path: string, headers: AgentCall['headers'] = {}): Promise<Answer> {
    return await this.send({ method: 'GET', path, headers });
  }

  async post(path: string, body?: unknown): Promise<Answer> {
    return await this.send({ path, ...(body === undefined ? {} : { body }) });
  }

  async poll(waitSeconds = 0): Promise<Answer> {
    return await this.get(`/api/agent/jobs?cluster=${this.id}&wait=${waitSeconds}`);
  }

  /** A request with all that the protocol asks for, but for what the call changes. */
  async send(call: AgentCall): Promise<Answer> {
    const { method = 'POST', path, body, sign = {}, timeoutMs } = call;
    const text = call.text ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers: Record<string, string> = {};
    const all: AgentCall['headers'] = {
      authorization: `Bearer ${this.token}`,
      accept: AGENT_MEDIA_TYPE,
      ...(text === undefined ? {} : { 'content-type': AGENT_MEDIA_TYPE }),
      ...(sign === false || method === 'GET' ? {} : { 'service-signature': this.#sign(method, path, body, sign) }),
      ...call.headers,
    };
    for (const [name, value] of Object.entries(all)) if (value !== undefined) headers[name] = value;
    const wire = { method, path, headers, ...(text === undefined ? {} : { body: text }) };
    const answer = await this.#http.send(timeoutMs === undefined ? wire : { ...wire, timeoutMs });
    const seconds = Number(answer.headers['retry-after']);
    if (answer.status !== 429 || call.impatient === true || !(seconds <= MAX_PATIENCE_SECONDS)) return answer;
    await sleep(seconds * 1000);
    return await this.send({ ...call, impatient: true });
  }

  #sign(method: string, path: string, body: unknown, sign: Exclude<AgentCall['sign'], false | undefined>): string {
    return signatureOf({
      token: sign.token ?? this.token,
      clusterId: this.id,
      method: sign.method ?? method,
      target: this.#http.target(sign.target ?? path),
      body,
      atSeconds: Math.floor(Date.now() / 1000) + (sign.shiftSeconds ?? 0),
    });
  }
}
