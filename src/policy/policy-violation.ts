import type { Fault } from '../protocol/app-error.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import type { Operation } from '../resources/operation.ts';
import type { Reason } from '../resources/reasons.ts';
import type { ClusterPolicy } from './cluster-policy.ts';

/** One thing that is not allowed. `message` says what, and what to do instead, as one line. */
export interface PolicyViolation {
  readonly reason: Reason;
  readonly message: string;
  /** Where in the spec it is (`/parameters/replicas`; `/namespace`: the object's own), and the same words without the place. */
  readonly fault?: Fault;
}

/** What an object is judged by, besides itself. All of it from memory: a check asks nobody. */
export interface PolicySituation {
  /** The namespace that the object is in; undefined when there is none by that name, as far as known. */
  readonly namespace: KubeObject | undefined;
  /** The other namespaces that the object is about (`otherNamespacesOf`), as far as there are ones by these names. */
  readonly elsewhere?: readonly KubeObject[];
  /** What runs, where that is not what the spec says by now: a try goes by the plan of the first. */
  readonly runs?: Pick<Operation, 'spec'>;
  readonly policy: ClusterPolicy;
  readonly now: Date;
  /** What the object was, at an update; of an instance under reconcile: as it was released. */
  readonly before?: object;
  /** The `specHash` that the release of an instance was made of, where there is one. */
  readonly releasedSpec?: string;
  /** By what an approval was used, so that the object of this UID cannot use it; absent: that is not known here. */
  readonly usedBy?: (jti: string, uid: string | undefined) => string | undefined;
}

/** What a person is told, at admission and in the condition alike: one line a violation. */
export function refusalText(violations: readonly PolicyViolation[]): string {
  return violations.map(({ message }) => message).join('\n');
}

const MOST_LISTED = 20;

/** What would be taken instead, bounded. */
export function allowedNames(names: readonly string[]): string {
  if (names.length === 0) return 'allowed: none';
  const rest = names.length - MOST_LISTED;
  return `allowed: ${names.slice(0, MOST_LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** Where the control plane's admin changes what a cluster allows. */
export function allowAtControlPlane(policy: ClusterPolicy, field: string): string {
  return `an admin of the control plane adds to ${field} with: PATCH /api/v1/clusters/${policy.clusterId}`;
}
