import type { KubeObject } from '../resources/kube-object.ts';
import type { Kind } from './kind.ts';
import { conflict, invalid } from './status-error.ts';

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again';

/** `0` is the same as none. */
export function isSet(resourceVersion: string | undefined): boolean {
  return resourceVersion !== undefined && resourceVersion !== '0';
}

/** A UID says which object is meant; where there is none it cannot be. @throws StatusError 409 */
export function checkAbsent(kind: Kind, config: KubeObject): void {
  const { name, uid } = config.metadata;
  if (uid === undefined) return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(kind, name, why);
}

/** UID and resourceVersion of a write, where given, are those of the live object. @throws StatusError 409, 422 */
export function checkVersion(kind: Kind, live: KubeObject, candidate: KubeObject, replaces: boolean): void {
  const { name, resourceVersion, uid } = candidate.metadata;
  if (uid !== undefined && uid !== live.metadata.uid) {
    if (!replaces) {
      const detail = 'field is immutable';
      throw invalid(kind, name, [{ reason: 'FieldValueInvalid', field: 'metadata.uid', value: uid, detail }]);
    }
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
    throw conflict(kind, name, why);
  }
  if (isSet(resourceVersion) && resourceVersion !== live.metadata.resourceVersion) {
    throw conflict(kind, name, MODIFIED);
  }
}
