import type { KubeError } from '../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../kube/kube-fault.ts';
import { conflictMessage, isFieldConflict, isForbiddenByRbac } from '../../kube/read-failure.ts';
import { BLOCKED_FOR_NOW } from '../../resources/blocked-for-now.ts';
import type { KubeObject, ObjectRef } from '../../resources/kube-object.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE, PUSH_FIELD_MANAGER } from '../../resources/labels.ts';
import { Reason } from '../../resources/reasons.ts';
import { MANIFEST_TOO_LARGE } from '../refusal-reasons.ts';
import { refused, waits, type Pushed } from './pushed.ts';

/** Reason of a write that was not sent: the cluster is not in push mode any more, or is at another epoch. */
export const NOT_OURS_TO_WRITE = 'NotOursToWrite';

/** How the message begins where the API server answers 401: nothing goes on until somebody gives another credential. */
export const CREDENTIAL_NOT_TAKEN = 'the API server does not accept the push credential any more';

const LABEL = `${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`;
/** etcd's words and gRPC's, behind a status of 500 on servers before 1.22. */
const TOO_LARGE = /request is too large|larger than max/i;
/** A webhook that could not be asked, as opposed to one that said no (apiserver, `ErrCallingWebhook`). */
const WEBHOOK_IS_GONE = /failed calling webhook/i;
const NAMESPACE_IS_GOING = /because it is being terminated/i;

/**
 * What an answer that is no success means for one intent. What somebody in the cluster may grant, make or mend is waited for;
 * what the server, or a webhook before it, has looked at and will not have is refused. Pure.
 *
 * @param live the object as it stood, for the command that ends a conflict
 */
export function readPushFault(
  error: KubeError,
  ref: ObjectRef,
  verb: 'apply' | 'delete',
  live: KubeObject | undefined,
): Pushed {
  const { namespace = '' } = ref;
  const { status } = error;
  const said = `${error.message} (${status} ${error.reason})`;
  if (isFieldConflict(error)) return refused(Reason.ApplyConflict, conflictMessage(error, live, PUSH_FIELD_MANAGER));
  if (status === 413 || TOO_LARGE.test(error.message)) return refused(MANIFEST_TOO_LARGE, said);
  if (WEBHOOK_IS_GONE.test(error.message) || NAMESPACE_IS_GOING.test(error.message)) return waits(said);
  if (error.reason === NOT_OURS_TO_WRITE) return { state: 'retry', message: error.message };
  if (status === 0) return { state: 'retry', message: `the API server does not answer: ${error.message}` };
  if (status === 401) {
    return { state: 'retry', message: `${CREDENTIAL_NOT_TAKEN}: ${said}` };
  }
  if (error.retryable) return { state: 'retry', message: said };
  if (isForbiddenByRbac(error)) {
    return waits(
      `the account of push mode has no rights in namespace ${namespace}; a cluster admin makes it, and applies what ` +
        `'servicectl clusters push-access' prints for this cluster (${error.message})`,
    );
  }
  if (error.reason === KIND_NOT_FOUND) return waits(`${said}; apply the definitions of the operator's installation`);
  if (status === 404) {
    return waits(`namespace ${namespace} does not exist; create it and label it ${LABEL} (${error.message})`);
  }
  if (isForNow(error)) return waits(said);
  // Changed under every try, or the operator's own webhook says what a cluster admin has to do first.
  if (status === 409 || error.message.includes(LABEL)) return waits(said);
  return refused(verb === 'apply' ? Reason.ApplyFailed : Reason.DeleteFailed, said);
}

/** The operator's webhook says no to what its reconcile would wait for, such as an approval that is still to come. */
function isForNow({ causes }: KubeError): boolean {
  return causes.length > 0 && causes.every(({ reason = '' }) => BLOCKED_FOR_NOW.includes(reason));
}
