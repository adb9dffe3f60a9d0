import type { Reporter } from '../../events/report/reporter.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import type { HelmRepository } from '../../resources/flux-helm-repository.ts';
import type { OciRepository } from '../../resources/flux-oci-repository.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { Inventory } from '../inventory.ts';
import type { InventorySaver } from '../inventory-saver.ts';
import type { ApprovalMemory } from '../take-approval.ts';
import type { NamespaceWatches } from '../namespace-watches.ts';
import type { ToldSources } from '../told-sources.ts';
import type { UnwrittenStatus } from '../unwritten-status.ts';
import type { Watched } from '../watched.ts';
import type { ReleaseClaims } from './release-claims.ts';
import type { RollbackPin } from './rollback-pin.ts';
import type { SealedShape } from './sealed-shape.ts';
import type { Verdict } from './verdict.ts';

/** Emits cluster events (`kubectl get events`); they stay in the cluster. Never throws, never blocks a reconcile. */
export interface ClusterEventRecorder {
  record(about: KubeObject, event: { type: 'Normal' | 'Warning'; reason: string; message: string }): void;
}

export interface InstanceDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly reporter: Reporter;
  readonly recorder?: ClusterEventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
  readonly unwritten: UnwrittenStatus;
  readonly told?: ToldSources;
  /** Absent: nobody remembers which approvals were used. */
  readonly approvals?: ApprovalMemory;
  /** What must be written down before an object goes. */
  readonly saver?: Pick<InventorySaver, 'saved'>;
  /** UIDs of the instances whose end this process has reported, while they are still there. */
  readonly ended: Set<string>;
  /** The cluster's private keys, the current one first; undefined until they are read. */
  readonly keyRing?: () => readonly Secret[] | undefined;
  /** Sealed values that do not open, told once. */
  readonly onNotOpened?: (instance: ApplicationInstance, message: string) => void;
}

/** The Secret with the opened values: where the release reads it, and which members of the chart's values it sets. */
export interface SealedInputs {
  readonly secretUid: string;
  /** Absent: the release reads it no more, and it is still there. */
  readonly from?: { readonly secretName: string; readonly valuesKey: string; readonly shape: SealedShape };
}

/** The kinds that an instance's state is made of. */
export interface InstanceWatches {
  readonly instances: Watched<ApplicationInstance>;
  /** Flux' objects, in the namespaces that are open. */
  readonly flux: NamespaceWatches;
  readonly namespaces: Watched<KubeObject>;
  readonly claims: ReleaseClaims;
}

/** One look at one instance: what was observed, and what the steps so far made of it. */
export interface InstancePass {
  readonly deps: InstanceDeps;
  readonly watches: InstanceWatches;
  readonly policy: ClusterPolicy;
  readonly signal: AbortSignal;
  /** As it stands after the steps so far. */
  instance: ApplicationInstance;
  readonly namespace: KubeObject | undefined;
  /** Flux' objects, from the step that observes them on. */
  release: HelmRelease | undefined;
  ociRepository: OciRepository | undefined;
  helmRepository: HelmRepository | undefined;
  /** The earlier version that an operation took it back to, and the instance as it is released then. */
  pinned?: { readonly pin: RollbackPin; readonly instance: ApplicationInstance };
  /** Hash of the spec that the release may be made of, from the step that checks it on. */
  specHash?: string;
  /** What the status notes of that, from the step that releases it on. */
  releasedNote?: string;
  /** Where the release reads the opened secret values, from the step that writes them on. */
  sealed?: SealedInputs;
}

/** `done` ends the pass; its verdict becomes the status. Without one the status stays as it is. */
export type StepResult =
  | { readonly kind: 'next' }
  | { readonly kind: 'done'; readonly verdict?: Verdict; readonly requeueAfterMs?: number };

export type Step = (pass: InstancePass) => Promise<StepResult>;

export const NEXT: StepResult = { kind: 'next' };

/** The instance as it is released: by its spec, or taken back to an earlier version. */
export function toRelease({ instance, pinned }: Pick<InstancePass, 'instance' | 'pinned'>): ApplicationInstance {
  return pinned?.instance ?? instance;
}

/** Starts a pass. Undefined when the instance is gone. @throws KubeError */
export async function observe(
  deps: InstanceDeps,
  watches: InstanceWatches,
  names: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<InstancePass | undefined> {
  const { namespace, name } = names;
  const instance = await watches.instances.get(namespace, name, signal);
  if (instance === undefined) return undefined;
  return {
    deps,
    watches,
    policy: deps.policy(),
    signal,
    instance,
    namespace: await watches.namespaces.get(undefined, namespace, signal),
    release: undefined,
    ociRepository: undefined,
    helmRepository: undefined,
  };
}
