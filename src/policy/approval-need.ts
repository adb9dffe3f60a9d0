import type { ApplicationInstance } from '../resources/application-instance.ts';
import { APPROVAL_REQUIRED_ANNOTATION } from '../resources/labels.ts';
import { OPERATION_KIND, type Operation } from '../resources/operation.ts';
import { pendingName } from '../protocol/approval-statement.ts';
import { approvableHashes } from './approvable-hashes.ts';
import { NO_APPROVALS } from './cluster-policy.ts';
import { otherNamespacesOf } from './other-namespaces.ts';
import { allowAtControlPlane, type PolicySituation } from './policy-violation.ts';

/** What an approval can be about. */
export type Approvable = ApplicationInstance | Operation;

export interface ApprovalNeed {
  /** Who asks for one, as a whole clause. */
  readonly why: string;
  /** The control plane does not know that one is needed, so nobody can give it there; how it comes to know. */
  readonly unknown?: string;
}

export function isOperation(object: Approvable): object is Operation {
  return object.kind === OPERATION_KIND;
}

/** Why the object needs an approval here, or undefined. What is to be cancelled needs none: it does not run. */
export function approvalNeed(
  object: Approvable,
  situation: Pick<PolicySituation, 'namespace' | 'elsewhere' | 'policy'>,
): ApprovalNeed | undefined {
  if (isOperation(object)) {
    if (object.spec.cancel === true) return undefined;
    if (object.spec.approval?.required === true) return { why: 'the operation needs an approval (spec.approval)' };
  }
  return needOfPolicy(object, situation) ?? needOfNamespace(situation) ?? needOfPending(object, situation);
}

function needOfPolicy(object: Approvable, { policy }: Pick<PolicySituation, 'policy'>): ApprovalNeed | undefined {
  const { operationTemplates, catalogEntries, namespaces } = policy.approvals ?? NO_APPROVALS;
  const byPolicy = (what: string): ApprovalNeed => ({ why: `${what} needs an approval on this cluster` });
  if (isOperation(object)) {
    const { template } = object.spec;
    if (operationTemplates.includes(template)) return byPolicy(`operation template ${template}`);
  } else if (catalogEntries.includes(object.spec.catalogEntry)) {
    return byPolicy(`catalog entry ${object.spec.catalogEntry}`);
  }
  const listed = [object.metadata.namespace ?? '', ...otherNamespacesOf(object, policy)].find((name) =>
    namespaces.includes(name),
  );
  return listed === undefined ? undefined : byPolicy(`whatever is done in namespace ${listed}`);
}

/** What was asked for at the request holds to its end: settings that ask for nothing any more release nothing that waits. */
function needOfPending(object: Approvable, { policy }: Pick<PolicySituation, 'policy'>): ApprovalNeed | undefined {
  const { pending = [] } = policy.approvals ?? NO_APPROVALS;
  if (pending.length === 0) return undefined;
  const { namespace = '', name } = object.metadata;
  const isPending = approvableHashes(object.spec).some((hash) => pending.includes(pendingName(namespace, name, hash)));
  return isPending ? { why: 'an approval was asked for when this was, and nobody has given it' } : undefined;
}

function needOfNamespace({
  namespace,
  elsewhere = [],
  policy,
}: Pick<PolicySituation, 'namespace' | 'elsewhere' | 'policy'>): ApprovalNeed | undefined {
  const asking = [namespace, ...elsewhere].find(
    (one) => one?.metadata.annotations?.[APPROVAL_REQUIRED_ANNOTATION] === 'true',
  );
  if (asking === undefined) return undefined;
  const { name } = asking.metadata;
  return {
    why: `namespace ${name} asks for approvals (annotation ${APPROVAL_REQUIRED_ANNOTATION})`,
    unknown: `the control plane does not see that annotation: ${allowAtControlPlane(policy, 'approvalNamespaces')} (${name}), and the intent is asked for anew`,
  };
}
