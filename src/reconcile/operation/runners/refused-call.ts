import { KubeError } from '../../../kube/cluster-api.ts';
import { isForbiddenByRbac, isNotTaken } from '../../../kube/read-failure.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry } from '../template-runner.ts';

/** Does what a runner does; a missing right or a refused object becomes a failed try. Every other fault is thrown on. */
export async function orRefused<T>(namespace: string, work: () => Promise<T>): Promise<T | FailedTry> {
  try {
    return await work();
  } catch (error) {
    return failedTry(error, namespace);
  }
}

/**
 * What an answer of the API server that no repetition changes makes of a try.
 *
 * @throws the error itself, where it may pass
 */
export function failedTry(error: unknown, namespace: string): FailedTry {
  if (!(error instanceof KubeError)) throw error;
  if (isForbiddenByRbac(error)) {
    return finalFailure(Reason.NamespaceNotGranted, `${rightIsMissing(error, namespace)} (${error.message})`);
  }
  if (!isNotTaken(error)) throw error;
  return finalFailure(Reason.ApplyFailed, `the API server does not take it: ${error.message}`);
}

export function finalFailure(reason: Reason, message: string): FailedTry {
  return { state: 'failed', reason, message, isFinal: true };
}

/** A role of an older version lacks what a newer operator needs, so that the binding alone may not mend it. */
function rightIsMissing({ message }: KubeError, namespace: string): string {
  const [, verb = 'work on', resource = 'it', group = ''] =
    /cannot (\w+) resource "([^"]+)" in API group "([^"]*)"/.exec(message) ?? [];
  return (
    `the operator may not ${verb} ${resource}${group === '' ? '' : `.${group}`} in namespace ${namespace}; a cluster admin ` +
    `applies what 'servicectl namespaces add ${namespace}' prints and the operator's manifest of this version; then run it again`
  );
}
