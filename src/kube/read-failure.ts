import type { KubeObject } from '../resources/kube-object.ts';
import { KubeError } from './cluster-api.ts';
import { giveUpCommand, managerIn } from './give-up-fields.ts';

const MAX_CAUSES = 5;

/** Only a field that another manager owns; a 409 without such a cause is a lost race on resourceVersion or uid. */
export function isFieldConflict(error: KubeError): boolean {
  return error.status === 409 && error.causes.some((cause) => cause.field !== undefined);
}

export function isLostRace(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409 && !isFieldConflict(error);
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404;
}

/** The API server could not be reached at all, as opposed to having said no. */
export function isNoAnswer(error: unknown): boolean {
  return error instanceof KubeError && error.status === 0;
}

/** The rights are missing, or the credential is not taken any more. An admission webhook that says no is not meant. */
export function isDenied(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 401 || isForbiddenByRbac(error));
}

/** The server, or a webhook before it, has looked at the object and will not have it: the same once more changes nothing. */
export function isNotTaken(error: unknown): boolean {
  return error instanceof KubeError && [400, 403, 413, 422].includes(error.status);
}

/** RBAC's own words; a webhook that says no is 403 too, and a grant would not help there. */
export function isForbiddenByRbac(error: KubeError): boolean {
  return error.status === 403 && /cannot \w+ resource/.test(error.message);
}

/** Names field manager and field path of every conflict (specification, "Job result body"), and how to end it. `self` applied. */
export function conflictMessage(error: KubeError, live: KubeObject | undefined, self: string): string {
  const causes = error.causes.filter((cause) => cause.field !== undefined);
  const shown = causes.slice(0, MAX_CAUSES).map((cause) => {
    const manager = managerIn(cause.message);
    return manager === undefined
      ? `${cause.field}: ${cause.message ?? 'owned by another field manager'}`
      : `field manager "${manager}" owns ${cause.field}`;
  });
  const more = causes.length - shown.length;
  const command = giveUpCommand(live, error, self);
  const named = shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
  return command === undefined ? named : `${named}; to give what is set there up for what is delivered: ${command}`;
}
