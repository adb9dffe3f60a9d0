import type { KubeObject } from '../resources/kube-object.ts';
import type { Reason } from '../resources/reasons.ts';
import type { ClusterPolicy } from './cluster-policy.ts';

/** One thing that is not allowed. `message` says what, and what to do instead, as one line. */
export interface PolicyViolation {
  readonly reason: Reason;
  readonly message: string;
}

/** What an object is judged by, besides itself. All of it from memory: a check asks nobody. */
export interface PolicySituation {
  /** The namespace that the object is in; undefined when there is none by that name, as far as known. */
  readonly namespace: KubeObject | undefined;
  readonly policy: ClusterPolicy;
  readonly now: Date;
  /** What the object was, at an update; of an instance under reconcile: as it was released. */
  readonly before?: object;
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
