import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import { RELEASE_FIELD_MANAGER } from './owned-meta.ts';

/**
 * The instance with the release name and target namespace that its HelmRelease was last given by us, or undefined when it
 * has none of us. A value that somebody else wrote there since (managedFields tell) is taken back, not taken for the
 * instance's past.
 */
export function asReleased(
  instance: ApplicationInstance,
  release: HelmRelease | undefined,
): ApplicationInstance | undefined {
  if (release === undefined) return undefined;
  const { name, namespace } = instance.metadata;
  const { releaseName, targetNamespace, ...spec } = instance.spec;
  const nameWas = given(release, 'releaseName', releaseName, name);
  const namespaceWas = given(release, 'targetNamespace', targetNamespace, namespace);
  return {
    ...instance,
    spec: {
      ...spec,
      ...(nameWas === undefined ? {} : { releaseName: nameWas }),
      ...(namespaceWas === undefined ? {} : { targetNamespace: namespaceWas }),
    },
  };
}

/** What the instance must have said for the release to have been given this value; `now` where that fits as well. */
function given(
  release: HelmRelease,
  field: 'releaseName' | 'targetNamespace',
  now: string | undefined,
  byDefault: string | undefined,
): string | undefined {
  const was = release.spec[field];
  return was === undefined || was === (now ?? byDefault) || !isOurs(release, field) ? now : was;
}

function isOurs({ metadata }: HelmRelease, field: string): boolean {
  return (metadata.managedFields ?? []).some(({ manager, fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'];
    return manager === RELEASE_FIELD_MANAGER && typeof spec === 'object' && spec !== null && `f:${field}` in spec;
  });
}
