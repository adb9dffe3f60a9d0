import type { WorkloadKind } from '../../../operation-templates/built-in/workload.ts';
import type { Condition } from '../../../protocol/condition.ts';
import { allowedNames } from '../../../policy/policy-violation.ts';
import type { KubeObject, ObjectRef } from '../../../resources/kube-object.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry, OperationRun, RunnerDeps } from '../template-runner.ts';
import { finalFailure } from './refused-call.ts';

export const WORKLOAD_API_VERSION = 'apps/v1';
/** One more than is named, which tells that there are more. */
const MOST_READ = 21;

/** A Deployment, StatefulSet or DaemonSet, as far as the runners look at it. */
export interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
    readonly template?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } | null };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** The workload that the operation names, by its target or by its parameters. */
export function workloadRef({ operation, parameters }: OperationRun): ObjectRef & { readonly kind: WorkloadKind } {
  const { spec, metadata } = operation;
  const { kind = 'Deployment', name } = parameters as { readonly kind?: WorkloadKind; readonly name?: string };
  return {
    apiVersion: WORKLOAD_API_VERSION,
    kind: (spec.targetRef?.kind as WorkloadKind | undefined) ?? kind,
    namespace: metadata.namespace ?? '',
    name: spec.targetRef?.name ?? name ?? '',
  };
}

/** `Deployment web`. */
export function named({ kind, name }: ObjectRef): string {
  return `${kind} ${name}`;
}

/** What a try comes to whose object is not there: says what there is. */
export async function targetIsMissing({ api }: RunnerDeps, ref: ObjectRef, signal: AbortSignal): Promise<FailedTry> {
  const { namespace = '' } = ref;
  const { items } = await api.list<KubeObject>(ref, { namespace, atMost: MOST_READ }, signal);
  const there = allowedNames(items.map(({ metadata }) => metadata.name).sort()).replace('allowed', 'there');
  return finalFailure(Reason.TargetNotFound, `${named(ref)} is not in namespace ${namespace}; ${there}`);
}
