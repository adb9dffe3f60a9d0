import type { Condition } from '../../protocol/condition.ts';
import { findCondition } from '../../resources/conditions.ts';
import type { FluxStatus } from '../../resources/flux-meta.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';

/** Keeps an object until its controller has cleaned up. */
export const FLUX_FINALIZER = 'finalizers.fluxcd.io';

/** Condition types of Flux objects (`fluxcd/pkg/apis/meta`, helm-controller `api/v2`, source-controller `api/v1`). */
export const FluxCondition = {
  Ready: 'Ready',
  Reconciling: 'Reconciling',
  Stalled: 'Stalled',
  Released: 'Released',
  Remediated: 'Remediated',
  FetchFailed: 'FetchFailed',
  ArtifactInStorage: 'ArtifactInStorage',
} as const;
export type FluxCondition = (typeof FluxCondition)[keyof typeof FluxCondition];

export interface ConditionUpdate {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** A Flux object under reconciliation: conditions are set on a copy of its status, which one patch then writes. */
export class StatusDraft<S extends FluxStatus> {
  /** As last read or written. */
  object: KubeObject;
  status: S;
  #written: S;
  readonly #api: ClusterApi;
  readonly #clock: Clock;
  readonly #fieldManager: string;

  constructor(deps: {
    readonly api: ClusterApi;
    readonly clock: Clock;
    readonly fieldManager: string;
    readonly object: KubeObject;
  }) {
    this.#api = deps.api;
    this.#clock = deps.clock;
    this.#fieldManager = deps.fieldManager;
    this.object = deps.object;
    this.#written = (deps.object['status'] ?? {}) as S;
    this.status = structuredClone(this.#written);
  }

  get generation(): number {
    return this.object.metadata.generation ?? 1;
  }

  /** `metav1.Time` has whole seconds. */
  now(): string {
    return this.#clock
      .now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  }

  condition(type: FluxCondition): Condition | undefined {
    return findCondition(this.status.conditions, type);
  }

  isTrue(type: FluxCondition): boolean {
    return this.condition(type)?.status === 'True';
  }

  /** Unlike Kubernetes' own convention, Flux moves the transition time on a new reason or message too. */
  set(type: FluxCondition, update: ConditionUpdate): void {
    const before = this.condition(type);
    const same =
      before?.status === update.status && before.reason === update.reason && before.message === update.message;
    const next: Condition = {
      type,
      ...update,
      observedGeneration: this.generation,
      lastTransitionTime: same && before.lastTransitionTime !== undefined ? before.lastTransitionTime : this.now(),
    };
    const others = (this.status.conditions ?? []).filter((condition) => condition.type !== type);
    this.status.conditions = [...others, next].sort(
      (a, b) => rank(a.type) - rank(b.type) || (a.type < b.type ? -1 : 1),
    );
  }

  clear(...types: readonly FluxCondition[]): void {
    const gone: readonly string[] = types;
    this.status.conditions = (this.status.conditions ?? []).filter((condition) => !gone.includes(condition.type));
  }

  /** Nothing will change without a person: reconciling is over. */
  stall(reason: string, message: string): void {
    this.clear(FluxCondition.Reconciling);
    this.set(FluxCondition.Stalled, { status: 'True', reason, message });
  }

  /** Writes the status when it differs from what is in the cluster. */
  async write(signal: AbortSignal): Promise<void> {
    const patch = difference(this.#written, this.status);
    if (Object.keys(patch).length === 0) return;
    this.object = await this.#api.mergePatch(
      refOf(this.object),
      { status: patch },
      { subresource: 'status', fieldManager: this.#fieldManager },
      signal,
    );
    this.#written = structuredClone(this.status);
  }
}

/** Ready stands first, as `kubectl` users expect it; the rest by name. */
function rank(type: string): number {
  return type === FluxCondition.Ready ? 0 : 1;
}

/** The merge patch (RFC 7386) for the top-level fields of a status. */
function difference(before: object, after: object): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  const old = new Map<string, unknown>(Object.entries(before));
  for (const [field, value] of Object.entries(after)) {
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(old.get(field))) patch[field] = value;
  }
  const kept = new Set(Object.entries(after).flatMap(([field, value]) => (value === undefined ? [] : [field])));
  for (const field of old.keys()) if (!kept.has(field)) patch[field] = null;
  return patch;
}
