import { refOf, type KubeObject, type ObjectRef } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { KubeError, type ClusterApi, type CreateOptions, type KindRef, type ListOptions } from './cluster-api.ts';
import { ClusterCredentials } from './cluster-credentials.ts';
import { ANSWER_TOO_LARGE, ANSWER_UNREADABLE, KIND_NOT_FOUND } from './kube-fault.ts';
import { isMissingObject, sendRequest, type KubeAnswer, type KubeRequest, type RequestDeps } from './kube-request.ts';
import { listFirst, listPages } from './list-pages.ts';
import type { KubeconfigSource } from './load-kubeconfig.ts';
import { ownAccount, type OwnAccount } from './own-account.ts';
import { ResourceMapper, type ResourceMapping } from './resource-mapper.ts';
import { retryRequest } from './retry-request.ts';
import { watchObjects } from './watch-objects.ts';

const PAGE_SIZE = 500;
const REQUEST_TIMEOUT_MS = 30_000;
/** A page of 500 large objects stays below it. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
/** All pages of a list together, in answers of the largest size. */
const LIST_ANSWERS = 16;
/** Seconds a watch is asked to last: spread, so that a restart's watches do not all end together for ever. */
const WATCH_SECONDS = { least: 290, most: 580 };

export interface ConnectClusterDeps {
  readonly kubeconfig: KubeconfigSource;
  readonly userAgent: string;
  /** Milliseconds for one request (default 30,000). A watch has its own, longer life. */
  readonly requestTimeoutMs?: number;
  /** Of one answer (default 128 MiB); a list in pages may have sixteen times as much. */
  readonly maxAnswerBytes?: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger?: Logger;
}

export interface ClusterConnection extends ClusterApi, AsyncDisposable {
  /** The same connection for work that may write only as long as `mayWrite` does not throw or reject: asked before every write. */
  guarded(mayWrite: () => void | Promise<void>): ClusterApi;
  readonly account: OwnAccount;
}

/**
 * The API server of one cluster. Nothing is sent before the first call; a kubeconfig that cannot be used throws here.
 * get, list, apply and delete are repeated on 429, 5xx and broken connections; create and patches never are.
 */
export function connectCluster(deps: ConnectClusterDeps): ClusterConnection {
  const credentials = new ClusterCredentials({ source: deps.kubeconfig, clock: deps.clock });
  const request: RequestDeps = {
    credentials,
    userAgent: deps.userAgent,
    timeoutMs: deps.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    maxAnswerBytes: deps.maxAnswerBytes ?? MAX_ANSWER_BYTES,
    clock: deps.clock,
  };
  const resend = resending(deps, request);
  const mapper = new ResourceMapper({
    server: credentials.server,
    clock: deps.clock,
    discover: async (path, signal) => {
      try {
        return parse(request, await resend({ method: 'GET', path }, signal));
      } catch (error) {
        if (error instanceof KubeError && error.status === 404) return undefined;
        throw error;
      }
    },
  });
  return {
    ...apiOver(deps, request, mapper),
    account: ownAccount(deps, request),
    guarded: (mayWrite) => apiOver(deps, { ...request, mayWrite }, mapper),
    async [Symbol.asyncDispose]() {
      await credentials[Symbol.asyncDispose]();
    },
  };
}

type Send = (ask: KubeRequest, signal?: AbortSignal) => Promise<KubeAnswer>;

function resending(deps: ConnectClusterDeps, request: RequestDeps): Send {
  return async (ask, signal) => {
    let attempts = 0;
    return await retryRequest(deps, signal, async () => {
      attempts += 1;
      if (attempts > 1) deps.logger?.debug({ method: ask.method, path: ask.path, attempts }, 'request repeated');
      return await sendRequest(request, ask, signal);
    });
  };
}

function apiOver(deps: ConnectClusterDeps, request: RequestDeps, mapper: ResourceMapper): ClusterApi {
  const { credentials } = request;
  const send: Send = async (ask, signal) => await sendRequest(request, ask, signal);
  const resend = resending(deps, request);
  const pathOf = async (ref: ObjectRef, signal?: AbortSignal): Promise<string> =>
    objectPath(await mapper.map(ref, signal), ref);
  /** Turns a 404 for an object that is not there into `undefined`; any other 404 means that its kind is not served. */
  const missing = (error: unknown, ref: KindRef): undefined => {
    if (!(error instanceof KubeError) || error.status !== 404 || error.reason === KIND_NOT_FOUND) throw error;
    if (isMissingObject(error)) return undefined;
    mapper.forget(ref.apiVersion);
    const message = `${credentials.server} no longer serves ${ref.kind} of ${ref.apiVersion} (${error.message})`;
    throw new KubeError(message, { status: 404, reason: KIND_NOT_FOUND, cause: error });
  };

  return {
    async get<T extends KubeObject>(ref: ObjectRef, signal?: AbortSignal) {
      try {
        const path = await pathOf(ref, signal);
        return asAsked<T>(parse(request, await resend({ method: 'GET', path }, signal)), ref, path);
      } catch (error) {
        return missing(error, ref);
      }
    },
    async list<T extends KubeObject>(kind: KindRef, options: ListOptions = {}, signal?: AbortSignal) {
      const path = collectionPath(await mapper.map(kind, signal), options.namespace);
      const { atMost } = options;
      let bytes = 0;
      const readPage = async (limit: number, token: string | undefined): Promise<unknown> => {
        const query = { ...selectors(options), limit: limit === 0 ? undefined : String(limit), continue: token };
        const answer = await resend({ method: 'GET', path: path + queryOf(query) }, signal);
        bytes = (token === undefined ? 0 : bytes) + answer.body.length;
        if (bytes > request.maxAnswerBytes * LIST_ANSWERS) throw tooLarge(path, request.maxAnswerBytes * LIST_ANSWERS);
        return parse(request, answer);
      };
      try {
        if (atMost !== undefined) return await listFirst<T>(pick(kind), atMost, readPage);
        return await listPages<T>(pick(kind), options.limit ?? PAGE_SIZE, readPage);
      } catch (error) {
        missing(error, kind);
        throw error;
      }
    },
    async *watch(kind, options, signal) {
      const path = collectionPath(await mapper.map(kind, signal), options.namespace);
      const { least, most } = WATCH_SECONDS;
      const timeoutSeconds = options.timeoutSeconds ?? Math.round(least + deps.random() * (most - least));
      const query = queryOf({
        ...selectors(options),
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: options.resourceVersion,
        timeoutSeconds: String(timeoutSeconds),
      });
      const { onOpen } = options;
      const ask = { kind: pick(kind), path: path + query, timeoutSeconds, ...(onOpen === undefined ? {} : { onOpen }) };
      yield* watchObjects(request, ask, signal);
    },
    async apply<T extends KubeObject>(
      object: KubeObject,
      options: Parameters<ClusterApi['apply']>[1],
      signal?: AbortSignal,
    ) {
      const query = queryOf({
        fieldManager: options.fieldManager,
        force: options.force === true ? 'true' : undefined,
        dryRun: options.dryRun === true ? 'All' : undefined,
      });
      const path = (await pathOf(refOf(object), signal)) + subresource(options) + query;
      // JSON is YAML, so the body needs no other encoder.
      const contentType = 'application/apply-patch+yaml';
      const answer = await resend({ method: 'PATCH', path, body: JSON.stringify(object), contentType }, signal);
      return { object: parse<T>(request, answer), created: answer.status === 201 };
    },
    async create<T extends KubeObject>(
      object: KubeObject,
      fieldManager: string,
      signal?: AbortSignal,
      options: CreateOptions = {},
    ) {
      const path = collectionPath(await mapper.map(object, signal), object.metadata.namespace, true);
      const body = JSON.stringify(object);
      const query = queryOf({ fieldManager, dryRun: options.dryRun === true ? 'All' : undefined });
      return parse<T>(request, await send({ method: 'POST', path: path + query, body }, signal));
    },
    async mergePatch(ref, patch, options = {}, signal) {
      const path = (await pathOf(ref, signal)) + subresource(options) + queryOf({ fieldManager: options.fieldManager });
      const contentType = 'application/merge-patch+json';
      return parse(request, await send({ method: 'PATCH', path, body: JSON.stringify(patch), contentType }, signal));
    },
    async jsonPatch(ref, patch, options = {}, signal) {
      const path = (await pathOf(ref, signal)) + subresource(options) + queryOf({ fieldManager: options.fieldManager });
      const contentType = 'application/json-patch+json';
      return parse(request, await send({ method: 'PATCH', path, body: JSON.stringify(patch), contentType }, signal));
    },
    async delete(ref, options = {}, signal) {
      const { uid, resourceVersion, propagationPolicy } = options;
      const body = JSON.stringify({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
        ...(uid === undefined && resourceVersion === undefined ? {} : { preconditions: { uid, resourceVersion } }),
      });
      try {
        await resend({ method: 'DELETE', path: await pathOf(ref, signal), body }, signal);
        return true;
      } catch (error) {
        missing(error, ref);
        return false;
      }
    },
    async podLog({ namespace, name }, { container, tailLines, limitBytes }, signal) {
      const ref = { apiVersion: 'v1', kind: 'Pod', namespace, name };
      const query = queryOf({ container, tailLines: String(tailLines), limitBytes: String(limitBytes) });
      // Not repeated: the server asks the pod's node, and one that is gone is waited for each time.
      return (await send({ method: 'GET', path: `${await pathOf(ref, signal)}/log${query}` }, signal)).body;
    },
    async version(signal) {
      const answer = parse<{ gitVersion?: unknown } | null>(
        request,
        await resend({ method: 'GET', path: '/version' }, signal),
      );
      if (typeof answer?.gitVersion === 'string') return { gitVersion: answer.gitVersion };
      const message = 'GET /version: the answer has no gitVersion';
      throw new KubeError(message, { status: 0, reason: ANSWER_UNREADABLE });
    },
  };
}

function objectPath(mapping: ResourceMapping, ref: ObjectRef): string {
  if (ref.name === '') throw new KubeError(`a ${ref.kind} without a name`, { status: 400, reason: 'BadRequest' });
  return `${collectionPath(mapping, ref.namespace, true)}/${encodeURIComponent(ref.name)}`;
}

function collectionPath(mapping: ResourceMapping, namespace: string | undefined, one = false): string {
  if (!mapping.namespaced) return `${mapping.root}/${mapping.plural}`;
  if (namespace !== undefined && namespace !== '') {
    return `${mapping.root}/namespaces/${encodeURIComponent(namespace)}/${mapping.plural}`;
  }
  if (one) throw new KubeError(`${mapping.plural} need a namespace`, { status: 400, reason: 'BadRequest' });
  return `${mapping.root}/${mapping.plural}`;
}

function selectors(options: ListOptions): Record<string, string | undefined> {
  return { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
}

function subresource(options: { readonly subresource?: 'status' }): string {
  return options.subresource === undefined ? '' : `/${options.subresource}`;
}

function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? '' : `?${query.toString()}`;
}

function pick({ apiVersion, kind }: KindRef): KindRef {
  return { apiVersion, kind };
}

function tooLarge(path: string, limit: number): KubeError {
  const message = `GET ${path}: the pages of the list are larger than ${limit} bytes`;
  return new KubeError(message, { status: 0, reason: ANSWER_TOO_LARGE });
}

/** Whatever else stands in an object, it is the one that was asked for. */
function asAsked<T extends KubeObject>(answer: T | null, ref: ObjectRef, path: string): T {
  const { apiVersion, kind, name, namespace } = ref;
  const metadata: Partial<KubeObject['metadata']> | null | undefined = answer?.metadata;
  const isIt = metadata?.name === name && (namespace === undefined || (metadata.namespace ?? namespace) === namespace);
  if (answer !== null && isIt) return { ...answer, apiVersion, kind };
  throw new KubeError(`GET ${path}: the answer is another object`, { status: 0, reason: ANSWER_UNREADABLE });
}

function parse<T>({ credentials }: RequestDeps, answer: KubeAnswer): T {
  try {
    return JSON.parse(answer.body) as T;
  } catch {
    // Not its cause: that quotes the text as it came.
    const message = `the API server answered ${answer.status} with something that is not JSON: ${answer.body.slice(0, 1000)}`;
    throw new KubeError(credentials.clean(message), { status: 0, reason: ANSWER_UNREADABLE });
  }
}
