import type { KubeObject } from './kube-object.ts';
import type { Artifact, FluxStatus, LocalObjectReference } from './flux-meta.ts';

export const HELM_REPOSITORY = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'HelmRepository' } as const;

/** The part of Flux' HelmRepository v1 that is read or written here. */
export interface HelmRepository extends KubeObject {
  spec: {
    url: string;
    interval?: string;
    type?: 'default' | 'oci';
    secretRef?: LocalObjectReference;
    insecure?: boolean;
    suspend?: boolean;
    timeout?: string;
  };
  status?: FluxStatus & { artifact?: Artifact; url?: string };
}
