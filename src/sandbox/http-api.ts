import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KubeObject } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import { attributesOf, parseTarget, type Target } from './address.ts';
import type { Audit } from './audit.ts';
import type { Authentication } from './authentication.ts';
import { apiVersions, group, groupList, resourceList, versionInfo } from './discovery.ts';
import type { Fault, Faults } from './faults.ts';
import type { Kind } from './kind.ts';
import type { KindRegistry } from './kind-registry.ts';
import { openApiJson, openApiProtobuf } from './openapi.ts';
import { answerLog, logAttributes } from './pod-log.ts';
import { parseObjectBody, readBody } from './request-body.ts';
import type { ResourceHandler } from './resource-handler.ts';
import { StatusError } from './status-error.ts';
import { renderingOf } from './table.ts';
import { answerVirtual, isVirtual, tokenAttributes } from './virtual-requests.ts';
import { watch, type WatchDeps } from './watch.ts';
import { watchSink } from './watch-sink.ts';

const PROBES = new Set(['/healthz', '/livez', '/readyz']);

/** The whole HTTP surface: who asks, for what, and how the answer is written. */
export class HttpApi {
  readonly #registry: KindRegistry;
  readonly #resources: ResourceHandler;
  readonly #authentication: Authentication;
  readonly #faults: Faults;
  readonly #audit: Audit;
  readonly #clock: Clock;
  readonly #watches: WatchDeps;
  readonly #watchBufferBytes: number;

  constructor(deps: {
    readonly registry: KindRegistry;
    readonly resources: ResourceHandler;
    readonly authentication: Authentication;
    readonly faults: Faults;
    readonly audit: Audit;
    readonly clock: Clock;
    readonly watches: WatchDeps;
    readonly watchBufferBytes: number;
  }) {
    this.#registry = deps.registry;
    this.#resources = deps.resources;
    this.#authentication = deps.authentication;
    this.#faults = deps.faults;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#watches = deps.watches;
    this.#watchBufferBytes = deps.watchBufferBytes;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#handle(request, response);
    } catch (error) {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const known = error instanceof StatusError ? error : internal(error);
      // What is left of a body that was refused unread would be taken for the next request.
      if (!request.complete) response.setHeader('Connection', 'close');
      send(response, known.code, known.toStatus());
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    const method = request.method ?? 'GET';
    const { pathname: path, searchParams: query } = url;
    const target = parseTarget(path);
    const watching = method === 'GET' && ['true', '1'].includes(query.get('watch') ?? '');
    const { 'content-type': contentType, 'user-agent': userAgent } = request.headers;
    const fault = this.#faults.take({ method, path, query, watch: watching, userAgent });
    if (await this.#faulted(fault, response)) return;
    const log = logAttributes(path, method);
    const attributes = log ?? tokenAttributes(path, method) ?? attributesOf(target, method, path, watching);
    const user = this.#authentication.check(request.headers.authorization, attributes);
    if (log !== undefined) {
      sendText(response, 200, answerLog(this.#watches.storage, path, query));
      return;
    }
    if (isVirtual(path)) {
      const body = parseObjectBody(await readBody(request), request.headers['content-type']);
      const deps = { storage: this.#watches.storage, authentication: this.#authentication, clock: this.#clock };
      send(response, 201, answerVirtual(deps, { method, path, body, user }));
      return;
    }
    if (target.type !== 'resource') {
      this.#describe(target, request, response);
      return;
    }
    const kind = this.#registry.byPlural(target.group, target.version, target.plural);
    if (kind === undefined || !isServed(kind, target)) {
      sendText(response, 404, '404 page not found\n');
      return;
    }
    if (watching) {
      this.#watch(kind, target, query, request, response);
      return;
    }
    const body = method === 'GET' ? Buffer.alloc(0) : await readBody(request);
    const answer = await this.#resources.handle(kind, target, {
      method,
      query,
      body,
      contentType,
      userAgent,
      rendering: renderingOf(request.headers.accept ?? '', query),
      caller: { user, warn: (text) => void response.appendHeader('Warning', `299 - ${JSON.stringify(text)}`) },
    });
    if (method !== 'GET') {
      const { name } = user;
      const written = { body: body.toString('utf8'), answer: answer.body as KubeObject };
      this.#audit.tell({ method, path, query, user: name, userAgent, contentType, ...written });
    }
    if (fault?.cut === 'after') response.destroy();
    else send(response, answer.status, answer.body);
  }

  async #faulted(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
    if (fault?.delayMs !== undefined) await this.#clock.sleep(fault.delayMs);
    if (fault?.cut === 'before') {
      response.destroy();
      return true;
    }
    if (fault?.respond === undefined) return false;
    if (fault.respond instanceof StatusError) throw fault.respond;
    const { status, body, headers = {} } = fault.respond;
    response.writeHead(status, headers).end(body);
    return true;
  }

  #watch(
    kind: Kind,
    target: Extract<Target, { type: 'resource' }>,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const rendering = renderingOf(request.headers.accept ?? '', query);
    const left = new AbortController();
    response.once('close', () => left.abort());
    const selected = new URLSearchParams(query);
    if (target.name !== undefined) selected.append('fieldSelector', `metadata.name=${target.name}`);
    let headers = true;
    const render = (object: Parameters<ResourceHandler['render']>[1]): unknown => {
      const rendered = this.#resources.render(kind, object, rendering, headers);
      headers = false;
      return rendered;
    };
    watch(this.#watches, { kind, namespace: target.namespace, query: selected, render, signal: left.signal }, () =>
      watchSink(response, this.#watchBufferBytes),
    );
  }

  #describe(target: Exclude<Target, { type: 'resource' }>, request: IncomingMessage, response: ServerResponse): void {
    if (target.type === 'group' || target.type === 'version') {
      const body =
        target.type === 'group'
          ? group(this.#registry, target.group)
          : resourceList(this.#registry, target.group, target.version);
      if (body === undefined) sendText(response, 404, '404 page not found\n');
      else send(response, 200, body);
      return;
    }
    if (PROBES.has(target.path)) sendText(response, 200, 'ok');
    else if (target.path === '/version') send(response, 200, versionInfo);
    else if (target.path === '/api') send(response, 200, apiVersions(request.headers.host ?? ''));
    else if (target.path === '/apis') send(response, 200, groupList(this.#registry));
    else if (target.path === '/openapi/v2') this.#openApi(request, response);
    else sendText(response, 404, '404 page not found\n');
  }

  #openApi(request: IncomingMessage, response: ServerResponse): void {
    if (!(request.headers.accept ?? '').includes('proto-openapi')) {
      send(response, 200, openApiJson(this.#registry));
      return;
    }
    // Asked for with `@`, answered without: Go's own media type parser takes no `@`.
    const type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
    response.writeHead(200, { 'Content-Type': type }).end(openApiProtobuf(this.#registry));
  }
}

/** Namespaced kinds need a namespace to name an object, others take none; subresources only where there are some. */
function isServed(kind: Kind, target: Extract<Target, { type: 'resource' }>): boolean {
  if (!kind.namespaced && target.namespace !== undefined) return false;
  if (kind.namespaced && target.namespace === undefined && target.name !== undefined) return false;
  if (target.subresource === 'finalize') return kind.plural === 'namespaces' && kind.group === '';
  return target.subresource === '' || kind.hasStatus;
}

function internal(error: unknown): StatusError {
  const message = `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`;
  return new StatusError(500, 'InternalError', message, { causes: [{ message }] });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = `${JSON.stringify(body)}\n`;
  response
    .writeHead(status, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-cache, private',
      'Content-Length': Buffer.byteLength(text),
    })
    .end(text);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
}
