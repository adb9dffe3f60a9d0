import type { Rendered } from '../intent/rendered.ts';
import type { Violation } from '../intent/violation.ts';
import { isOperation, type Approvable } from '../policy/approval-need.ts';
import { checkApplicationInstance } from '../policy/check-application-instance.ts';
import { checkOperation } from '../policy/check-operation.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { PolicyViolation } from '../policy/policy-violation.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';

/** A violation that the cluster's operator would block the object for. */
export interface ClusterViolation extends Violation {
  readonly reason: Reason;
}

const FORBIDDEN: readonly string[] = [Reason.NamespaceNotAllowed, Reason.ChartNotAllowed, Reason.TemplateNotAllowed];
/** The operation says that it needs an approval, which is asked for once it is accepted. */
const LATER: readonly string[] = [Reason.ApprovalMissing];
/** Where a place in a spec has another name in an intent. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^\/template(?=\/|$)/, '/operationTemplate'],
  [/^\/chart\/version$/, '/chartVersion'],
  [/^\/chart\/.*$/, '/catalogEntry'],
];

/**
 * What is certain to be refused in the cluster of an intent as it is rendered: by the very functions that its webhook and its
 * reconcile judge by. Of the namespace nothing is known here, so it is taken to be given to the operator.
 */
export async function clusterViolations(
  rendered: Rendered,
  policy: ClusterPolicy,
  now: Date,
): Promise<ClusterViolation[]> {
  if (rendered.kind === 'delete') return [];
  const object = rendered.object as Approvable;
  const situation = { namespace: assumed(object.metadata.namespace ?? ''), policy, now };
  const found = isOperation(object)
    ? await checkOperation(object, situation)
    : await checkApplicationInstance(object, situation);
  return found.filter(({ reason }) => !LATER.includes(reason)).map(inIntent);
}

function assumed(name: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE } },
  };
}

function inIntent({ reason, message, fault }: PolicyViolation): ClusterViolation {
  const path = NAMES.reduce((named, [from, to]) => named.replace(from, to), fault?.path ?? '');
  return {
    code: FORBIDDEN.includes(reason) ? 'forbidden' : 'constraint_violated',
    reason,
    path,
    message: fault?.message ?? message,
    ...(fault?.allowed === undefined ? {} : { allowed: fault.allowed }),
  };
}
