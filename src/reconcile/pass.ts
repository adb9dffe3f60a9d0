import type { ClusterApi } from '../kube/cluster-api.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Reporter } from '../events/report/reporter.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import { isDeliveredKind } from './delivered-kinds.ts';
import type { Inventory } from './inventory.ts';
import type { MadeObjects } from './left-over.ts';
import { LiveObjects } from './live-objects.ts';

/** Requests without an answer, in a row. */
const GONE_AFTER = 3;

/** What is known of the operator's rights in namespaces. */
export interface NamespaceGrants {
  isDenied(namespace: string): boolean;
  /** A write there was forbidden. */
  doubt(namespace: string): void;
}

/** What one pass over a desired set works with: one policy and one view of the cluster from its first item to its last. */
export class Pass {
  readonly deps: {
    readonly api: ClusterApi;
    readonly inventory: Inventory;
    readonly clock: Clock;
    readonly reporter?: Reporter;
    readonly grants?: NamespaceGrants;
  };
  readonly policy: ClusterPolicy;
  /** Absent where the source has none. */
  readonly revision: string | undefined;
  readonly live: LiveObjects;
  #noAnswers = 0;
  readonly #made = new Map<string, Promise<MadeObjects>>();
  readonly #namespaces = new Map<string, Promise<KubeObject | undefined>>();

  constructor(deps: Pass['deps'], policy: ClusterPolicy, revision: string | undefined) {
    this.deps = deps;
    this.policy = policy;
    this.revision = revision;
    this.live = new LiveObjects(deps.api);
  }

  /** Each item would wait its whole timeout for an API server that is gone; the rest of the pass does not. */
  get apiIsGone(): boolean {
    return this.#noAnswers >= GONE_AFTER;
  }

  noteAnswer(answered: boolean): void {
    this.#noAnswers = answered ? 0 : this.#noAnswers + 1;
  }

  /** Whether the operator may look at it at all; what it may not is refused without a request. */
  mayRead(ref: ObjectRef): boolean {
    return isDeliveredKind(ref) && ref.namespace !== undefined && this.policy.allowedNamespaces.includes(ref.namespace);
  }

  /** @throws KubeError */
  async liveIfAllowed(ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.mayRead(ref) ? await this.live.get(ref, signal) : undefined;
  }

  /** What was made of instances there, looked for once a pass. @throws KubeError */
  async onceFor(namespace: string, look: () => Promise<MadeObjects>): Promise<MadeObjects> {
    const looking = this.#made.get(namespace) ?? look();
    this.#made.set(namespace, looking);
    return await looking;
  }

  /** Read once a pass. @throws KubeError */
  async namespace(name: string, signal: AbortSignal): Promise<KubeObject | undefined> {
    if (!this.policy.allowedNamespaces.includes(name)) return undefined;
    const reading =
      this.#namespaces.get(name) ??
      this.deps.api.get<KubeObject>({ apiVersion: 'v1', kind: 'Namespace', name }, signal);
    this.#namespaces.set(name, reading);
    return await reading;
  }
}
