import { KubeError } from '../../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../../kube/kube-fault.ts';
import { isForbiddenByRbac } from '../../../kube/read-failure.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../../resources/kube-object.ts';
import { CLUSTER_ID_LABEL, FIELD_MANAGER, OPERATION_UID_LABEL } from '../../../resources/labels.ts';
import type { Reason } from '../../../resources/reasons.ts';
import {
  DEFAULT_VELERO_NAMESPACE,
  VELERO_FAILED_PHASES,
  type VeleroBackup,
  type VeleroRestore,
  type VeleroStatus,
} from '../../../resources/velero.ts';
import { namespaceIsNotThere } from '../../write-checks.ts';
import type { FailedTry, OperationRun, OutputRef, RunnerDeps, RunState } from '../template-runner.ts';
import { isMadeHere } from './made-here.ts';

/** At most so many of Velero's own words about what it did not take. */
const MOST_ERRORS = 5;

/** A kind of Velero's, and how an operation ends that makes one. */
export interface VeleroWork {
  readonly kind: { readonly apiVersion: string; readonly kind: 'Backup' | 'Restore' };
  readonly completed: Reason;
  readonly failed: Reason;
}

/** The object that a try makes. */
export function veleroRef(work: VeleroWork, run: OperationRun): ObjectRef & { readonly namespace: string } {
  const name = `${run.operation.metadata.name}-${run.attempt}`;
  return { ...work.kind, namespace: veleroNamespaceOf(run), name };
}

export function veleroNamespaceOf({ parameters }: OperationRun): string {
  const named = parameters['veleroNamespace'];
  return typeof named === 'string' ? named : DEFAULT_VELERO_NAMESPACE;
}

/** By these labels a later look knows its own, and an admin whose it is. */
export function veleroLabels({ operation, policy }: OperationRun): Record<string, string> {
  return { [OPERATION_UID_LABEL]: operation.metadata.uid ?? '', [CLUSTER_ID_LABEL]: policy.clusterId };
}

/**
 * Makes the object of a try. One that is there already is this try's, from before a crash, or somebody else's, and stays
 * as it is: `standing` tells the two apart.
 */
export async function createOnce(
  work: VeleroWork,
  object: KubeObject,
  { api }: RunnerDeps,
  signal: AbortSignal,
): Promise<FailedTry | undefined> {
  try {
    await api.create(object, FIELD_MANAGER, signal);
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && error.status === 409 && error.reason === 'AlreadyExists') return undefined;
    return refusalOf(work, object.metadata.namespace ?? '', error, 'create');
  }
}

/** What only a person can mend, as a failed try. Every other fault is thrown on, and tried again. */
export function refusalOf(
  work: VeleroWork,
  namespace: string,
  error: unknown,
  verb: 'create' | 'get',
  kind: string = work.kind.kind,
): FailedTry {
  if (!(error instanceof KubeError) || error.retryable || error.status === 409) throw error;
  if (error.reason === KIND_NOT_FOUND) {
    return failedTry(
      work,
      `the cluster does not serve ${work.kind.apiVersion} ${kind}: Velero is not installed; install it, ${THEN}`,
    );
  }
  if (isForbiddenByRbac(error)) {
    const command = `servicectl namespaces add-velero --velero-namespace ${namespace}`;
    const message = `the operator may not ${verb} a ${kind} in namespace ${namespace}; a cluster admin applies what '${command}' prints`;
    return failedTry(work, `${message}; ${THEN}`);
  }
  if (error.status === 404) {
    return failedTry(
      work,
      `namespace ${namespace} does not exist; the parameter veleroNamespace says where Velero runs`,
    );
  }
  return failedTry(work, `the API server does not take the ${kind}: ${error.message}`);
}

const THEN = 'then run the operation again under another name';

export function failedTry(work: VeleroWork, message: string, isFinal = true): FailedTry {
  return { state: 'failed', reason: work.failed, message, isFinal };
}

/**
 * Velero may read and write anywhere, the operator only where the cluster's admin has let it: the label of the namespace
 * counts for what Velero does on its behalf too. Of one that is gone nobody can say that the admin lets it.
 */
export async function closedNamespace(
  work: VeleroWork,
  names: readonly string[],
  { api }: RunnerDeps,
  signal: AbortSignal,
): Promise<FailedTry | undefined> {
  for (const name of names) {
    const namespace = await api.get({ apiVersion: 'v1', kind: 'Namespace', name }, signal);
    const refusal = namespaceIsNotThere(name, namespace);
    if (refusal !== undefined) return failedTry(work, refusal.message);
  }
  return undefined;
}

/** How the try stands by what Velero says of its object. @throws KubeError */
export async function standing<T extends VeleroBackup | VeleroRestore>(
  work: VeleroWork,
  run: OperationRun,
  deps: RunnerDeps,
  signal: AbortSignal,
  words: { readonly completed: (object: T) => string; readonly progress: (object: T) => string },
): Promise<RunState> {
  const ref = veleroRef(work, run);
  let object: T | undefined;
  try {
    object = await deps.api.get<T>(ref, signal);
  } catch (error) {
    return refusalOf(work, ref.namespace, error, 'get');
  }
  if (object === undefined) return { state: 'absent' };
  const named = `${ref.kind} ${ref.namespace}/${ref.name}`;
  if (!isMadeHere(object, run, deps)) {
    const message = `${named} is there already and was not made by this operation; it is left alone: run the operation again under another name`;
    return failedTry(work, message);
  }
  const outputRef: OutputRef = refOf(object);
  const { phase = 'New' } = object.status ?? {};
  if (phase === 'Completed') {
    return { state: 'succeeded', reason: work.completed, message: `${named} ${words.completed(object)}`, outputRef };
  }
  if (VELERO_FAILED_PHASES.includes(phase)) {
    const message = `${named} is ${phase}${failureWords(object.status ?? {})}`;
    return { ...failedTry(work, message, phase === 'FailedValidation'), outputRef };
  }
  return { state: 'running', message: `${named} is ${phase}${words.progress(object)}`, outputRef };
}

function failureWords({ errors, warnings, failureReason, validationErrors = [] }: VeleroStatus): string {
  const shown = validationErrors.slice(0, MOST_ERRORS);
  const more = validationErrors.length - shown.length;
  const said = [
    ...(errors === undefined && warnings === undefined ? [] : [counts({ errors, warnings })]),
    ...(failureReason === undefined || failureReason === '' ? [] : [failureReason]),
    ...shown,
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  return said.length === 0 ? '' : `: ${said.join('; ')}`;
}

/** `2 errors, 1 warning` */
export function counts(status: {
  readonly errors?: number | undefined;
  readonly warnings?: number | undefined;
}): string {
  const { errors = 0, warnings = 0 } = status;
  return `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`;
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
