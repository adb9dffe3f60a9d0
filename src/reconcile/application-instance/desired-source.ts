import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../resources/flux-helm-repository.ts';
import { HELM_CHART_MEDIA_TYPE, OCI_REPOSITORY, type OciRepository } from '../../resources/flux-oci-repository.ts';
import { tagOf } from './chart-version.ts';
import { ownedMeta } from './owned-meta.ts';

/** Flux looks at the registry this often; a new tag in the spec is fetched at once. */
export const SOURCE_INTERVAL = '10m';

/** The chart source of an instance: an upgrade of an OCI chart changes nothing but its tag. */
export function desiredSource(instance: ApplicationInstance, clusterId: string): OciRepository | HelmRepository {
  const { chart } = instance.spec;
  const secret = chart.secretRef === undefined ? {} : { secretRef: { name: chart.secretRef.name } };
  const metadata = ownedMeta(instance, clusterId);
  if (chart.type === 'helm') {
    return { ...HELM_REPOSITORY, metadata, spec: { url: chart.url, interval: SOURCE_INTERVAL, ...secret } };
  }
  return {
    ...OCI_REPOSITORY,
    metadata,
    spec: {
      url: chart.url,
      interval: SOURCE_INTERVAL,
      ref: { tag: tagOf(chart.version) },
      layerSelector: { mediaType: HELM_CHART_MEDIA_TYPE, operation: 'copy' },
      ...secret,
    },
  };
}
