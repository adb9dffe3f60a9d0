import { KubeError } from '../kube/cluster-api.ts';
import { conflictMessage, isFieldConflict, isForbiddenByRbac, isNotTaken } from '../kube/read-failure.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { FIELD_MANAGER } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { conflict, failed, refused, type Refusal } from './refusal.ts';

/** What the rest of a pass comes to once the API server is gone. */
export function apiIsGone(reason: Reason): Refusal {
  return failed(reason, 'the API server does not answer; not tried in this pass');
}

/**
 * What a refused or failed write comes to, in words that say what to do. Errors that are not the server's are thrown on.
 *
 * @param live the object as it stood, for the command that ends a conflict
 */
export function outcomeOfFailure(
  error: unknown,
  verb: 'apply' | 'delete',
  namespace: string,
  live?: KubeObject,
): Refusal {
  if (!(error instanceof KubeError)) throw error;
  if (isFieldConflict(error)) return conflict(Reason.ApplyConflict, conflictMessage(error, live, FIELD_MANAGER));
  const reason = verb === 'apply' ? Reason.ApplyFailed : Reason.DeleteFailed;
  if (error.status === 0) return failed(reason, `the API server does not answer: ${error.message}`);
  if (isForbiddenByRbac(error)) {
    return refused(Reason.NamespaceNotGranted, `${notGrantedMessage(namespace)} (${error.message})`);
  }
  return failed(reason, `${error.message} (${error.status} ${error.reason})`, isNotTaken(error));
}

export function notGrantedMessage(namespace: string): string {
  return (
    `the operator has no rights in namespace ${namespace}; a cluster admin applies what ` +
    `'servicectl namespaces add ${namespace}' prints, which is noticed within 15 s`
  );
}
