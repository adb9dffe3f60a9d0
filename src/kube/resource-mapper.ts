import type { Clock } from '../runtime/clock.ts';
import { KubeError, type KindRef } from './cluster-api.ts';
import { ANSWER_TOO_LARGE, KIND_NOT_FOUND } from './kube-fault.ts';

/** Where the objects of one kind live on the API server. */
export interface ResourceMapping {
  /** `/api/v1` or `/apis/<group>/<version>`. */
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** A kind that is not there is looked for again at most this often: its CRD may be on its way. */
const REFRESH_MS = 10_000;
/** Of one group and version; the largest have some dozens. They are kept as long as the connection. */
const MAX_RESOURCES = 2000;

interface Discovered {
  readonly at: number;
  readonly kinds: ReadonlyMap<string, ResourceMapping>;
}

/** Maps kinds to resources by the server's discovery documents, each read once and again only for an unknown kind. */
export class ResourceMapper {
  readonly #discover: (path: string, signal?: AbortSignal) => Promise<unknown>;
  readonly #server: string;
  readonly #clock: Clock;
  readonly #known = new Map<string, Discovered>();
  readonly #loading = new Map<string, Promise<Discovered>>();

  /** @param deps.discover gets a discovery document, `undefined` for 404 */
  constructor(deps: {
    readonly discover: (path: string, signal?: AbortSignal) => Promise<unknown>;
    readonly server: string;
    readonly clock: Clock;
  }) {
    this.#discover = deps.discover;
    this.#server = deps.server;
    this.#clock = deps.clock;
  }

  /** Throws KubeError 404 `KindNotFound` for a kind that the server does not serve. */
  async map({ apiVersion, kind }: KindRef, signal?: AbortSignal): Promise<ResourceMapping> {
    const root = rootOf(apiVersion);
    let known = this.#known.get(apiVersion);
    const found = known?.kinds.get(kind);
    if (found !== undefined) return found;
    if (known === undefined || this.#clock.now().getTime() - known.at >= REFRESH_MS) {
      known = await this.#load(apiVersion, root, signal);
    }
    const mapping = known.kinds.get(kind);
    if (mapping === undefined) throw this.#missing(apiVersion, kind, known.kinds.size > 0);
    return mapping;
  }

  /** The server denied a path that this mapping gave: look again before using it the next time. */
  forget(apiVersion: string): void {
    this.#known.delete(apiVersion);
  }

  async #load(apiVersion: string, root: string, signal?: AbortSignal): Promise<Discovered> {
    const running = this.#loading.get(apiVersion);
    if (running !== undefined) return running;
    // Shared between callers, so one caller's abort must not fail the others: only the request's own time bounds it.
    const loading = this.#discover(root).then((document) => {
      const discovered = { at: this.#clock.now().getTime(), kinds: kindsOf(document, root) };
      this.#known.set(apiVersion, discovered);
      return discovered;
    });
    this.#loading.set(
      apiVersion,
      loading.finally(() => this.#loading.delete(apiVersion)),
    );
    const shared = this.#loading.get(apiVersion) ?? loading;
    // Whoever asked may have left before it ends: a rejection that nobody waits for must not end the process.
    shared.catch(() => undefined);
    return signal === undefined ? shared : orAbort(shared, signal);
  }

  #missing(apiVersion: string, kind: string, groupServed: boolean): KubeError {
    const why = groupServed
      ? `it serves ${apiVersion}, but no kind ${kind}`
      : `the API ${apiVersion} is missing: install its CustomResourceDefinition`;
    return new KubeError(`${this.#server} does not serve ${kind} of ${apiVersion}: ${why}`, {
      status: 404,
      reason: KIND_NOT_FOUND,
    });
  }
}

function rootOf(apiVersion: string): string {
  const parts = apiVersion.split('/');
  if (!parts.every((part) => /^[a-z0-9][a-z0-9.-]*$/.test(part)) || parts.length > 2) {
    throw new KubeError(`"${apiVersion}" is not an apiVersion`, { status: 400, reason: 'BadRequest' });
  }
  return parts.length === 1 ? `/api/${apiVersion}` : `/apis/${apiVersion}`;
}

function kindsOf(document: unknown, root: string): ReadonlyMap<string, ResourceMapping> {
  const kinds = new Map<string, ResourceMapping>();
  if (typeof document !== 'object' || document === null || !('resources' in document)) return kinds;
  if (!Array.isArray(document.resources)) return kinds;
  if (document.resources.length > MAX_RESOURCES) {
    const message = `${root} has more than ${MAX_RESOURCES} resources: this is no Kubernetes API`;
    throw new KubeError(message, { status: 0, reason: ANSWER_TOO_LARGE });
  }
  for (const resource of document.resources as readonly unknown[]) {
    if (typeof resource !== 'object' || resource === null) continue;
    const { name, kind, namespaced } = resource as Record<string, unknown>;
    // `pods/log` and its like are subresources, often with another kind's name.
    if (typeof name !== 'string' || typeof kind !== 'string' || name.includes('/') || kinds.has(kind)) continue;
    kinds.set(kind, { root, plural: name, namespaced: namespaced === true });
  }
  return kinds;
}

async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
