import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { KubeObject, ObjectMeta } from '../../resources/kube-object.ts';
import {
  APPLICATION_INSTANCE_LABEL,
  CLUSTER_ID_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_BY_VALUE,
} from '../../resources/labels.ts';

/** Field manager of the Flux objects that are made of an instance; payloads and status have their own. */
export const RELEASE_FIELD_MANAGER = 'service-operator-release';

/** On each Flux object: what was applied last, so that a pass with nothing new writes nothing. */
export const FINGERPRINT_ANNOTATION = 'app.service.io/applied';

/**
 * Metadata of a Flux object made of an instance. It has the instance's name, and on purpose no ownerReference: garbage
 * collection would uninstall a release whenever its instance is deleted by hand.
 */
export function ownedMeta(instance: ApplicationInstance, clusterId: string): ObjectMeta {
  const { name, namespace } = instance.metadata;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: {
      [MANAGED_BY_LABEL]: MANAGED_BY_VALUE,
      [CLUSTER_ID_LABEL]: clusterId,
      [APPLICATION_INSTANCE_LABEL]: name,
    },
  };
}

/** Whether a Flux object was made of this instance, by this operator or an earlier incarnation of it. */
export function isOwned(object: KubeObject, instance: ApplicationInstance): boolean {
  const labels = object.metadata.labels ?? {};
  return labels[MANAGED_BY_LABEL] === MANAGED_BY_VALUE && labels[APPLICATION_INSTANCE_LABEL] === instance.metadata.name;
}
