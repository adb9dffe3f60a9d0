import type { KubeObject } from '../../resources/kube-object.ts';
import type { JsonObject } from '../json-value.ts';
import type { Kind } from '../kind.ts';
import type { Subresource } from '../object-parts.ts';

/**
 * A point of a write at which webhooks have their say. The writers yield these and know of no webhook; whoever runs
 * them answers each with the object to go on with, or throws the refusal into them.
 */
export interface AdmissionStep {
  readonly phase: 'mutating' | 'validating';
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly kind: Kind;
  readonly namespace: string | undefined;
  /** Empty for a create with `generateName` before a name is made, and for each object of a deletecollection. */
  readonly name: string;
  readonly subresource: Subresource;
  /** Undefined for a delete. */
  readonly object: KubeObject | undefined;
  /** Undefined for a create. */
  readonly oldObject: KubeObject | undefined;
  readonly dryRun: boolean;
  /** `CreateOptions`, `UpdateOptions`, `DeleteOptions` as requested. */
  readonly options: JsonObject;
}

export type Admitted<Result> = Generator<AdmissionStep, Result, KubeObject | undefined>;

/** For the server's own writes, which no webhook sees, and where there are no webhooks. */
export function withoutAdmission<Result>(steps: Admitted<Result>): Result {
  for (let next = steps.next(); ; next = steps.next(next.value.object)) {
    if (next.done === true) return next.value;
  }
}

/** Asks about each step in turn. */
export async function withAdmission<Result>(
  steps: Admitted<Result>,
  ask: (step: AdmissionStep) => Promise<KubeObject | undefined>,
): Promise<Result> {
  for (let next = steps.next(); ;) {
    if (next.done === true) return next.value;
    let object: KubeObject | undefined;
    try {
      object = await ask(next.value);
    } catch (error) {
      next = steps.throw(error);
      continue;
    }
    next = steps.next(object);
  }
}
