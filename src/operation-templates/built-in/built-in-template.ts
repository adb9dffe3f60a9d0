import type { TObject } from 'typebox';
import type { Fault } from '../../protocol/app-error.ts';
import type { Reason } from '../../resources/reasons.ts';

/** One of the templates that every operator has: what it takes and what may be done with it. What it does is the operator's. */
export interface BuiltInTemplate {
  readonly description: string;
  readonly parameters: TObject;
  /** An operation that has not finished so many seconds after its start fails. */
  readonly deadlineSeconds: number;
  /** Further tries after the first one failed; an admin may set another number where the template `isRetryable`. */
  readonly isRetryable: boolean;
  readonly isCancellable: boolean;
  /** The kinds of object that `targetRef` may name; none: it takes no target. */
  readonly targets: readonly string[];
  /** The reason of every failure, however it came about (default: that of each). */
  readonly failedReason?: Reason;
  /** What the schema cannot say, as faults below the parameters (`/replicas`). */
  readonly faults?: (parameters: Readonly<Record<string, unknown>>, target: OperationTarget | undefined) => Fault[];
}

/** `spec.targetRef` as far as a template looks at it. */
export interface OperationTarget {
  readonly kind: string;
  readonly name: string;
}

/** For templates that work on one object: it is named by the target or by a parameter, and by one of them only. */
export function exactlyOneTarget(
  named: string,
): (parameters: Readonly<Record<string, unknown>>, target: OperationTarget | undefined) => Fault[] {
  return (parameters, target) => {
    const isNamed = parameters[named] !== undefined;
    if (isNamed && target !== undefined) {
      return [{ path: `/${named}`, message: 'names a target beside targetRef; give one of the two' }];
    }
    return isNamed || target !== undefined ? [] : [{ path: `/${named}`, message: 'is required, or a targetRef' }];
  };
}
