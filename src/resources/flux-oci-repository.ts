import type { KubeObject } from './kube-object.ts';
import type { Artifact, FluxStatus, LocalObjectReference } from './flux-meta.ts';

export const OCI_REPOSITORY = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'OCIRepository' } as const;

/** Media type of the layer that holds a Helm chart. */
export const HELM_CHART_MEDIA_TYPE = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';

/** The part of Flux' OCIRepository v1 that is read or written here. */
export interface OciRepository extends KubeObject {
  spec: {
    /** `oci://host/path/name`, without a tag. */
    url: string;
    interval: string;
    ref?: { tag?: string; semver?: string; digest?: string };
    layerSelector?: { mediaType?: string; operation?: 'extract' | 'copy' };
    provider?: 'generic' | 'aws' | 'azure' | 'gcp';
    secretRef?: LocalObjectReference;
    insecure?: boolean;
    suspend?: boolean;
    timeout?: string;
  };
  status?: FluxStatus & { artifact?: Artifact; url?: string };
}
