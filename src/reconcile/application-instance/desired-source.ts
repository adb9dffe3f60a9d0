import type { ApplicationChart, ApplicationInstance } from '../../resources/application-instance.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../resources/flux-helm-repository.ts';
import { HELM_CHART_MEDIA_TYPE, OCI_REPOSITORY, type OciRepository } from '../../resources/flux-oci-repository.ts';
import { tagOf } from './chart-version.ts';
import { ownedMeta } from './owned-meta.ts';

/** Flux looks at the registry this often; a new tag in the spec is fetched at once. */
export const SOURCE_INTERVAL = '10m';

/** A chart in an OCI registry: an upgrade changes nothing but the tag. */
export function desiredOciRepository(instance: ApplicationInstance, clusterId: string): OciRepository {
  const { chart } = instance.spec;
  return {
    ...OCI_REPOSITORY,
    metadata: ownedMeta(instance, clusterId),
    spec: {
      url: chart.url,
      interval: SOURCE_INTERVAL,
      ref: { tag: tagOf(chart.version) },
      layerSelector: { mediaType: HELM_CHART_MEDIA_TYPE, operation: 'copy' },
      ...secretOf(chart),
    },
  };
}

/** A repository of charts; which one of them, and its version, stands in the HelmRelease. */
export function desiredHelmRepository(instance: ApplicationInstance, clusterId: string): HelmRepository {
  const { chart } = instance.spec;
  return {
    ...HELM_REPOSITORY,
    metadata: ownedMeta(instance, clusterId),
    spec: { url: chart.url, interval: SOURCE_INTERVAL, ...secretOf(chart) },
  };
}

function secretOf({ secretRef }: ApplicationChart): { secretRef?: { name: string } } {
  return secretRef === undefined ? {} : { secretRef: { name: secretRef.name } };
}
