import { KubeError, type KindRef } from '../kube/cluster-api.ts';
import { HELM_RELEASE, type HelmRelease } from '../resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../resources/flux-oci-repository.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { APPLICATION_INSTANCE_LABEL } from '../resources/labels.ts';
import { Watched, type WatchedDeps, type WatchedView } from './watched.ts';

/**
 * How far the operator is in a namespace:
 *
 *     closed ──allowed and labelled──► opening ──all watches stand──► granted
 *        ▲                                │ 403                        │ 403
 *        └──not allowed, label gone       └──────► not_granted ◄───────┘   (tried again at least every 15 s)
 */
export type Grant = 'closed' | 'opening' | 'granted' | 'not_granted';

export interface NamespaceWatchesDeps extends WatchedDeps {
  /** A Flux object of an instance changed. */
  readonly onChange: (namespace: string, instance: string) => void;
  /** The grant of a namespace changed, or its first lists are in. */
  readonly onGrant: (namespace: string, grant: Grant) => void;
}

interface OpenNamespace {
  readonly stop: AbortController;
  readonly releases: Watched<HelmRelease>;
  readonly ociRepositories: Watched<OciRepository>;
  readonly helmRepositories: Watched<HelmRepository>;
  readonly openedAt: number;
  /** Of each kind whose watch was tried: what keeps it from standing, undefined when it stands. */
  readonly faults: Map<string, unknown>;
  grant: Grant;
}

type FluxKind = 'releases' | 'ociRepositories' | 'helmRepositories';

/**
 * Flux' objects of others are none of our business, but for their names: one that an instance would need is not touched.
 * Watching them all saves a read for every object that is made.
 */
function ownOrName(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  if (metadata.labels?.[APPLICATION_INSTANCE_LABEL] !== undefined) return object;
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
  };
}

/** A grant made later is noticed within this time, in milliseconds. */
export const GRANT_NOTICED_MS = 15_000;

/**
 * Flux' objects over several namespaces, since nobody gives the operator Flux' kinds cluster-wide. Which namespaces is
 * decided elsewhere (`open`); whether the watches may stand there is found out by trying.
 */
export class NamespaceWatches {
  readonly releases: WatchedView<HelmRelease>;
  readonly ociRepositories: WatchedView<OciRepository>;
  readonly helmRepositories: WatchedView<HelmRepository>;
  readonly #deps: NamespaceWatchesDeps;
  readonly #open = new Map<string, OpenNamespace>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(deps: NamespaceWatchesDeps) {
    this.#deps = deps;
    this.releases = this.#view<HelmRelease>(HELM_RELEASE, 'releases');
    this.ociRepositories = this.#view<OciRepository>(OCI_REPOSITORY, 'ociRepositories');
    this.helmRepositories = this.#view<HelmRepository>(HELM_REPOSITORY, 'helmRepositories');
  }

  grantOf(namespace: string): Grant {
    return this.#open.get(namespace)?.grant ?? 'closed';
  }

  /** Every HelmRelease that is known, of the namespaces that are open. Of others' there is no more than the name. */
  knownReleases(): readonly HelmRelease[] {
    return [...this.#open.values()].flatMap(({ releases }) => releases.list());
  }

  /** Every namespace that is open, with its grant. */
  grants(): ReadonlyMap<string, Grant> {
    return new Map([...this.#open].map(([name, { grant }]) => [name, grant]));
  }

  /** Watches exactly these namespaces from now on. */
  open(namespaces: ReadonlySet<string>): void {
    for (const name of this.#open.keys()) if (!namespaces.has(name)) this.#close(name);
    for (const name of namespaces) if (!this.#open.has(name)) this.#start(name, 'opening');
  }

  /**
   * A write was forbidden: a watch that stands is not cut when its rights are taken away, so the watches are made anew,
   * which tells. Not more often than a missing grant is tried.
   */
  doubt(namespace: string): void {
    const open = this.#open.get(namespace);
    if (open === undefined || open.grant === 'not_granted') return;
    if (this.#deps.clock.now().getTime() - open.openedAt < GRANT_NOTICED_MS) return;
    this.#close(namespace);
    this.#start(namespace, 'not_granted');
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const [name, open] of this.#open) this.#follow(name, open, signal);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (const name of this.#open.keys()) this.#close(name);
    await Promise.all(this.#running);
  }

  #start(name: string, grant: Grant): void {
    const { api, clock, random, logger } = this.#deps;
    const watch = <T extends KubeObject>(kind: KindRef): Watched<T> => {
      const watched = new Watched<T>({ api, clock, random, logger }, kind, {
        namespace: name,
        keep: ownOrName,
        maxWaitMs: GRANT_NOTICED_MS,
        onHealth: (fault) => this.#tried(name, open, kind.kind, fault),
      });
      // An instance waits for another's object of its name to go.
      watched.onChange(({ metadata }) =>
        this.#deps.onChange(name, metadata.labels?.[APPLICATION_INSTANCE_LABEL] ?? metadata.name),
      );
      return watched;
    };
    const open: OpenNamespace = {
      stop: new AbortController(),
      releases: watch<HelmRelease>(HELM_RELEASE),
      ociRepositories: watch<OciRepository>(OCI_REPOSITORY),
      helmRepositories: watch<HelmRepository>(HELM_REPOSITORY),
      openedAt: clock.now().getTime(),
      faults: new Map(),
      grant,
    };
    this.#open.set(name, open);
    this.#deps.onGrant(name, grant);
    if (this.#signal !== undefined) this.#follow(name, open, this.#signal);
  }

  #follow(name: string, open: OpenNamespace, signal: AbortSignal): void {
    const either = AbortSignal.any([signal, open.stop.signal]);
    const kinds = [open.releases, open.ociRepositories, open.helmRepositories];
    const running: Promise<void> = Promise.allSettled(
      kinds.map(async (watched: { run(signal: AbortSignal): Promise<void> }) => {
        await watched.run(either);
      }),
    ).then(() => {
      this.#running.delete(running);
      this.#deps.logger.debug({ namespace: name }, 'the watches of a namespace ended');
    });
    this.#running.add(running);
  }

  #close(name: string): void {
    const open = this.#open.get(name);
    this.#open.delete(name);
    open?.stop.abort();
  }

  #tried(name: string, open: OpenNamespace, kind: string, fault: unknown): void {
    if (this.#open.get(name) !== open) return;
    open.faults.set(kind, fault);
    const faults = [...open.faults.values()];
    const isDenied = faults.some((one) => one instanceof KubeError && one.status === 403);
    const stands = open.faults.size === 3 && faults.every((one) => one === undefined);
    // Anything else (a server that is away, a kind that is missing) says nothing about the grant.
    const grant = isDenied ? 'not_granted' : stands ? 'granted' : open.grant;
    if (grant === open.grant) return;
    open.grant = grant;
    this.#deps.logger.info({ namespace: name, grant }, 'the grant of a namespace changed');
    this.#deps.onGrant(name, grant);
  }

  #view<T extends KubeObject>(kind: KindRef, of: FluxKind): WatchedView<T> {
    const find = (namespace: string | undefined): Watched<T> | undefined =>
      this.#open.get(namespace ?? '')?.[of] as unknown as Watched<T> | undefined;
    return {
      kind: { apiVersion: kind.apiVersion, kind: kind.kind },
      get: async (namespace, name, signal) => {
        const watched = find(namespace);
        if (watched !== undefined) return await watched.get(namespace, name, signal);
        return await this.#deps.api.get<T>({ ...kind, namespace: namespace ?? '', name }, signal);
      },
      note: (written) => find(written.metadata.namespace)?.note(written),
    };
  }
}
