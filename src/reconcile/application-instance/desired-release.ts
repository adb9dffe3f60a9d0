import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease, type HelmReleaseSpec } from '../../resources/flux-helm-release.ts';
import { HELM_REPOSITORY } from '../../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../../resources/flux-oci-repository.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { DEFAULT_RELEASE_SERVICE_ACCOUNT, SERVICE_ACCOUNT_ANNOTATION } from '../../resources/labels.ts';
import { ownedMeta } from './owned-meta.ts';

/** Flux compares the release with the chart this often, beside at every change. */
export const RELEASE_INTERVAL = '10m';

/** The HelmRelease of an instance. It runs with no more rights than its namespace was given. */
export function desiredRelease(
  instance: ApplicationInstance,
  namespace: KubeObject | undefined,
  clusterId: string,
): HelmRelease {
  const { spec, metadata } = instance;
  const name = metadata.name;
  const serviceAccountName =
    namespace?.metadata.annotations?.[SERVICE_ACCOUNT_ANNOTATION] ?? DEFAULT_RELEASE_SERVICE_ACCOUNT;
  const targetNamespace = spec.targetNamespace ?? metadata.namespace;
  return {
    ...HELM_RELEASE,
    metadata: ownedMeta(instance, clusterId),
    spec: {
      interval: RELEASE_INTERVAL,
      ...chartOf(instance),
      releaseName: spec.releaseName ?? name,
      ...(targetNamespace === undefined ? {} : { targetNamespace }),
      serviceAccountName,
      ...(spec.dependsOn === undefined ? {} : { dependsOn: spec.dependsOn.map((other) => ({ ...other })) }),
      ...(spec.driftDetection === undefined ? {} : { driftDetection: { mode: spec.driftDetection } }),
      ...remediation(spec.upgrade),
      ...(spec.suspend === undefined ? {} : { suspend: spec.suspend }),
      ...(spec.values === undefined ? {} : { values: spec.values }),
      ...(spec.valuesFrom === undefined ? {} : { valuesFrom: spec.valuesFrom.map((from) => ({ ...from })) }),
    },
  };
}

function chartOf({ spec, metadata }: ApplicationInstance): Pick<HelmReleaseSpec, 'chart' | 'chartRef'> {
  if (spec.chart.type === 'oci') return { chartRef: { kind: OCI_REPOSITORY.kind, name: metadata.name } };
  return {
    chart: {
      spec: {
        chart: spec.chart.name,
        version: spec.chart.version,
        sourceRef: { kind: HELM_REPOSITORY.kind, name: metadata.name },
      },
    },
  };
}

/** Without `upgrade` Flux' own defaults hold: one try, and a failed upgrade stays as it is for a person to look at. */
function remediation(
  upgrade: ApplicationInstance['spec']['upgrade'],
): Pick<HelmReleaseSpec, 'timeout' | 'install' | 'upgrade'> {
  if (upgrade === undefined) return {};
  const retries = upgrade.retries === undefined ? {} : { retries: upgrade.retries };
  const strategy =
    upgrade.remediation === undefined || upgrade.remediation === 'none'
      ? {}
      : { remediateLastFailure: true, strategy: upgrade.remediation };
  return {
    ...(upgrade.timeout === undefined ? {} : { timeout: upgrade.timeout }),
    ...(upgrade.retries === undefined ? {} : { install: { remediation: retries } }),
    ...(Object.keys({ ...retries, ...strategy }).length === 0
      ? {}
      : { upgrade: { remediation: { ...retries, ...strategy } } }),
  };
}
