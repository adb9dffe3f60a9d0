import { HelmRelease as FluxHelmRelease } from '@kubernetes-models/flux-cd/helm.toolkit.fluxcd.io/v2/HelmRelease';
import type { IHelmReleaseSpec } from '@kubernetes-models/flux-cd/helm.toolkit.fluxcd.io/v2/HelmReleaseSpec';
import { HelmRepository as FluxHelmRepository } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/HelmRepository';
import type { IHelmRepositorySpec } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/HelmRepositorySpec';
import { OCIRepository as FluxOciRepository } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/OCIRepository';
import type { IOCIRepositorySpec } from '@kubernetes-models/flux-cd/source.toolkit.fluxcd.io/v1/OCIRepositorySpec';
import { describe, expect, it } from 'vitest';
import { HELM_RELEASE, type HelmReleaseSpec } from '../../src/resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../src/resources/flux-helm-repository.ts';
import { HELM_CHART_MEDIA_TYPE, OCI_REPOSITORY, type OciRepository } from '../../src/resources/flux-oci-repository.ts';

const metadata = { name: 'podinfo', namespace: 'shop' };

// Every field that ours have: the compiler refuses one that Flux' types do not, the schemas one of another form.
const release = {
  interval: '10m',
  chartRef: { kind: 'OCIRepository', name: 'podinfo', namespace: 'shop' },
  chart: {
    spec: {
      chart: 'podinfo',
      version: '6.5.0',
      interval: '10m',
      sourceRef: {
        apiVersion: 'source.toolkit.fluxcd.io/v1',
        kind: 'HelmRepository',
        name: 'podinfo',
        namespace: 'shop',
      },
    },
  },
  releaseName: 'podinfo',
  targetNamespace: 'shop',
  storageNamespace: 'shop',
  serviceAccountName: 'service-applications',
  dependsOn: [{ name: 'db', namespace: 'shop' }],
  driftDetection: { mode: 'enabled' },
  install: { remediation: { retries: 3, remediateLastFailure: true }, timeout: '5m' },
  upgrade: { remediation: { retries: 3, remediateLastFailure: true, strategy: 'rollback' }, timeout: '5m' },
  suspend: false,
  timeout: '5m',
  maxHistory: 5,
  values: { a: 1 },
  valuesFrom: [{ kind: 'Secret', name: 's', valuesKey: 'k', targetPath: 'a.b', optional: true }],
} satisfies Required<HelmReleaseSpec> satisfies IHelmReleaseSpec;
const oci = {
  url: 'oci://host/podinfo',
  interval: '10m',
  ref: { tag: '6.5.0' },
  layerSelector: { mediaType: HELM_CHART_MEDIA_TYPE, operation: 'copy' },
  provider: 'generic',
  secretRef: { name: 's' },
  insecure: true,
  suspend: false,
  timeout: '1m',
} satisfies Required<OciRepository['spec']> satisfies IOCIRepositorySpec;
const helm = {
  url: 'https://host',
  interval: '10m',
  type: 'default',
  secretRef: { name: 's' },
  insecure: false,
  suspend: false,
  timeout: '1m',
} satisfies Required<HelmRepository['spec']> satisfies IHelmRepositorySpec;

describe('the Flux types', () => {
  it("pass the validation of Flux' own schemas", () => {
    const { chart: _chart, ...byReference } = release;
    const { chartRef: _chartRef, ...byTemplate } = release;
    expect(() => new FluxHelmRelease({ metadata, spec: byReference }).validate()).not.toThrow();
    expect(() => new FluxHelmRelease({ metadata, spec: byTemplate }).validate()).not.toThrow();
    expect(() => new FluxOciRepository({ metadata, spec: oci }).validate()).not.toThrow();
    expect(() => new FluxHelmRepository({ metadata, spec: helm }).validate()).not.toThrow();
  });

  it("are of the kinds and versions of Flux' own", () => {
    expect([HELM_RELEASE, OCI_REPOSITORY, HELM_REPOSITORY]).toEqual(
      [FluxHelmRelease, FluxOciRepository, FluxHelmRepository].map(({ apiVersion, kind }) => ({ apiVersion, kind })),
    );
  });
});
