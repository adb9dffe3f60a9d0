import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';

/** A kind in one version; `namespaced` saves a discovery round trip for kinds known at compile time. */
export interface KindRef {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; every list is read in pages (default 500). */
  readonly limit?: number;
  /** Only the first so many, by one request: for a server that is not trusted to end. */
  readonly atMost?: number;
}

export interface ListResult<T extends KubeObject> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  readonly resourceVersion: string;
  /** Asked of the server, so that a silent connection ends; a client-side margin is added. */
  readonly timeoutSeconds?: number;
  /** Called once the server has begun to answer: it may take long until the first event. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface ApplyOptions {
  readonly fieldManager: string;
  /** Take ownership of fields that another manager owns. Default false: a conflict is an error (KubeError 409). */
  readonly force?: boolean;
  readonly subresource?: 'status';
  readonly dryRun?: boolean;
}

export interface CreateOptions {
  /** Everything is checked, nothing is stored. */
  readonly dryRun?: boolean;
}

export interface PatchOptions {
  readonly fieldManager?: string;
  readonly subresource?: 'status';
}

export interface DeleteOptions {
  /** Precondition: only this incarnation. A different one answers 409. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

export interface LogOptions {
  readonly container?: string;
  /** Only the last so many lines. */
  readonly tailLines: number;
  /** Of those, the server sends no more than so many bytes, from the first of them on. */
  readonly limitBytes: number;
}

/** RFC 6902 operation. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test' | 'move' | 'copy';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** One cause of a refused apply: `field` is owned by the manager that `message` names. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** An answer of the API server that is not a success, or none at all (`status` 0). */
export class KubeError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    message: string,
    details: {
      readonly status: number;
      readonly reason: string;
      readonly causes?: readonly StatusCause[];
      readonly retryAfterSeconds?: number;
      readonly cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'KubeError';
    this.status = details.status;
    this.reason = details.reason;
    this.causes = details.causes ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
  }

  /** Worth trying again unchanged: no answer, 429, or a server's own fault. */
  get retryable(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * The edge to one cluster's API server: plain requests, each with a timeout and an abort signal.
 * Every method throws `KubeError`; `get` answers `undefined` for 404.
 */
export interface ClusterApi {
  get<T extends KubeObject>(ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined>;
  /** All pages; a continue token that expired midway starts over. */
  list<T extends KubeObject>(kind: KindRef, options?: ListOptions, signal?: AbortSignal): Promise<ListResult<T>>;
  /** Ends when the server ends it or the signal aborts; throws KubeError 410 when `resourceVersion` is too old. */
  watch<T extends KubeObject>(kind: KindRef, options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  /** Server-side apply (KEP-555); `created` tells 201 from 200. */
  apply<T extends KubeObject>(
    object: KubeObject,
    options: ApplyOptions,
    signal?: AbortSignal,
  ): Promise<{ readonly object: T; readonly created: boolean }>;
  create<T extends KubeObject>(
    object: KubeObject,
    fieldManager: string,
    signal?: AbortSignal,
    options?: CreateOptions,
  ): Promise<T>;
  mergePatch<T extends KubeObject>(
    ref: ObjectRef,
    patch: Record<string, unknown>,
    options?: PatchOptions,
    signal?: AbortSignal,
  ): Promise<T>;
  jsonPatch<T extends KubeObject>(
    ref: ObjectRef,
    patch: readonly JsonPatchOperation[],
    options?: PatchOptions,
    signal?: AbortSignal,
  ): Promise<T>;
  /** Answers false when there was nothing to delete (404). */
  delete(ref: ObjectRef, options?: DeleteOptions, signal?: AbortSignal): Promise<boolean>;
  /** What a container of a pod wrote, as it stands now. */
  podLog(
    pod: { readonly namespace: string; readonly name: string },
    options: LogOptions,
    signal?: AbortSignal,
  ): Promise<string>;
  /** `major.minor` and `gitVersion` of the server; also the cheapest proof that it is there. */
  version(signal?: AbortSignal): Promise<{ readonly gitVersion: string }>;
}

/** A watched set of one kind, kept current from pages, watches and bookmarks; survives 410, cuts and restarts. */
export interface Informer<T extends KubeObject> {
  /** Resolves once the first full list is in. */
  synced(signal?: AbortSignal): Promise<void>;
  /** The resourceVersion that it has come to: every change up to it is in. */
  readonly version: string | undefined;
  get(namespace: string | undefined, name: string): T | undefined;
  list(): readonly T[];
  /** Called with the object before and after; `after` is undefined when it is gone. Called for the first list too. */
  onChange(listener: (before: T | undefined, after: T | undefined) => void): void;
  /** Runs until aborted. */
  run(signal: AbortSignal): Promise<void>;
}
