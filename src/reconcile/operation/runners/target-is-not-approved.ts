import { approvalNeed } from '../../../policy/approval-need.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import { APPROVAL_REQUIRED_ANNOTATION } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry, OperationRun, RunnerDeps } from '../template-runner.ts';
import { finalFailure } from './refused-call.ts';
import type { Application } from './release.ts';

/**
 * What is done to an application that has its effect in another namespace needs the approval that this one asks for, and
 * only the application says which one that is. An operation that had to be approved was before it began: the control plane
 * asks for as much as the application's namespaces and entry want.
 *
 * @throws KubeError
 */
export async function targetIsNotApproved(
  { api }: Pick<RunnerDeps, 'api'>,
  { instance }: Pick<Application, 'instance'>,
  run: OperationRun,
  signal: AbortSignal,
): Promise<FailedTry | undefined> {
  const { targetNamespace } = instance.spec;
  if (targetNamespace === undefined || targetNamespace === instance.metadata.namespace) return undefined;
  if (wasApproved(run)) return undefined;
  const isListed = run.policy.approvals?.namespaces.includes(targetNamespace) === true;
  const namespace = isListed
    ? undefined
    : await api.get<KubeObject>({ apiVersion: 'v1', kind: 'Namespace', name: targetNamespace }, signal);
  const isAnnotated = namespace?.metadata.annotations?.[APPROVAL_REQUIRED_ANNOTATION] === 'true';
  if (!isListed && !isAnnotated) return undefined;
  const { name, namespace: own = '' } = instance.metadata;
  return finalFailure(
    Reason.ApprovalMissing,
    `ApplicationInstance ${own}/${name} has its effect in namespace ${targetNamespace}, where whatever is done needs an approval, and this operation has none; ` +
      'ask for it with an intent, which waits for one where the namespace is among approvalNamespaces of the cluster',
  );
}

/** An approval of an installation is of its version and values: others are not run by an operation that nobody approved. */
export function choiceIsNotApproved(
  { instance }: Pick<Application, 'instance'>,
  run: OperationRun,
): FailedTry | undefined {
  const { catalogEntry } = instance.spec;
  const isAsked = run.policy.approvals?.catalogEntries.includes(catalogEntry) === true;
  if (!isAsked || wasApproved(run)) return undefined;
  const message =
    `catalog entry ${catalogEntry} needs an approval on this cluster, and this operation has none: without one an ` +
    'application goes back to a version that ran before and with its present values only; ask for it with an intent that names the version or the values, which waits for an approval';
  return finalFailure(Reason.ApprovalMissing, message);
}

/** It needed an approval, without which it would not have begun. */
function wasApproved({ operation, namespace, policy }: OperationRun): boolean {
  const { cancel: _cancel, ...spec } = operation.spec;
  return approvalNeed({ ...operation, spec }, { namespace, policy }) !== undefined;
}
