import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { PolicyViolation } from '../../policy/policy-violation.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { BuiltInTemplateName } from '../../operation-templates/built-in-templates.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import type { Operation, OperationStatus } from '../../resources/operation.ts';
import type { Reason } from '../../resources/reasons.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';

/** One try of one operation, as the template that does its work sees it. */
export interface OperationRun {
  readonly operation: Operation;
  /** Of the built-in template; they passed its checks. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** 1, 2, …: what is made is named `<operation>-<attempt>`, so that making it again makes nothing. */
  readonly attempt: number;
  /** When the first try began; it was written down before that. */
  readonly startedAt: Date;
  /** When the operation is to have ended. */
  readonly deadline: Date;
  readonly namespace: KubeObject;
  readonly policy: ClusterPolicy;
  readonly now: Date;
}

/** The object that holds what the operation made. */
export type OutputRef = NonNullable<OperationStatus['outputRef']>;

/** How a try stands. `message` is one line for people. */
export type RunState =
  /** Nothing of it is there: it has not begun, or what was made is gone. */
  | { readonly state: 'absent' }
  | { readonly state: 'running'; readonly message: string; readonly outputRef?: OutputRef }
  | {
      readonly state: 'succeeded';
      readonly reason: Reason;
      readonly message: string;
      readonly outputRef?: OutputRef;
      /** Text that is kept in a ConfigMap beside the operation, cut where it is too long; `outputRef` then names that. */
      readonly output?: string;
    }
  | FailedTry;

export interface FailedTry {
  readonly state: 'failed';
  readonly reason: Reason;
  readonly message: string;
  /** Another try would fare no better. */
  readonly isFinal: boolean;
  readonly outputRef?: OutputRef;
  readonly output?: string;
}

/** What is kept of a try that was stopped. */
export interface LeftBehind {
  readonly output?: string;
}

export interface RunnerDeps {
  readonly api: ClusterApi;
  readonly logger: Logger;
  /** The cluster's private keys, the current one first; undefined until they are read. */
  readonly keyRing?: () => readonly Secret[] | undefined;
}

/**
 * What a built-in template does. Every function may be called again after a crash at any point, and then does what is still
 * to do: a try has its effect once. Faults of the API server are thrown (KubeError) and tried again by the queue; what is
 * wrong with the operation itself is a `failed` state.
 */
export interface TemplateRunner {
  readonly name: BuiltInTemplateName;
  /** What of it the cluster's policy forbids, beside what holds for every operation; pure. Checked before the first try. */
  readonly violations?: (run: OperationRun) => readonly PolicyViolation[];
  /** Begins the try; answers why it cannot begin, where that is no fault that passes (a missing right, a refused object). */
  readonly start: (deps: RunnerDeps, run: OperationRun, signal: AbortSignal) => Promise<FailedTry | void>;
  /** Looks how the try stands; changes nothing. */
  readonly observe: (deps: RunnerDeps, run: OperationRun, signal: AbortSignal) => Promise<RunState>;
  /**
   * Ends what runs, at a cancellation, a missed deadline or the end of a try; absent: it cannot be stopped. Answers what it
   * had written until then, where that goes with it.
   */
  readonly stop?: (deps: RunnerDeps, run: OperationRun, signal: AbortSignal) => Promise<LeftBehind | void>;
}
