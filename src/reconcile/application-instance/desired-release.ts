import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease, type HelmReleaseSpec } from '../../resources/flux-helm-release.ts';
import { HELM_REPOSITORY } from '../../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../../resources/flux-oci-repository.ts';
import type { KubeObject, ObjectMeta } from '../../resources/kube-object.ts';
import { DEFAULT_RELEASE_SERVICE_ACCOUNT, SERVICE_ACCOUNT_ANNOTATION } from '../../resources/labels.ts';
import type { SealedInputs } from './instance-pass.ts';
import { ownedMeta } from './owned-meta.ts';
import { SEALED_SECRET_ANNOTATION } from './sealed-secret.ts';
import { withoutSealed } from './sealed-shape.ts';

/** Flux compares the release with the chart this often, beside at every change. */
export const RELEASE_INTERVAL = '10m';

/** The HelmRelease of an instance. It runs with no more rights than its namespace was given. */
export function desiredRelease(
  instance: ApplicationInstance,
  namespace: KubeObject | undefined,
  clusterId: string,
  sealed?: SealedInputs,
): HelmRelease {
  const { spec, metadata } = instance;
  const name = metadata.name;
  const serviceAccountName =
    namespace?.metadata.annotations?.[SERVICE_ACCOUNT_ANNOTATION] ?? DEFAULT_RELEASE_SERVICE_ACCOUNT;
  const targetNamespace = spec.targetNamespace ?? metadata.namespace;
  return {
    ...HELM_RELEASE,
    metadata: metadataOf(instance, clusterId, sealed),
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
      ...valuesOf(spec, sealed?.from),
    },
  };
}

function metadataOf(instance: ApplicationInstance, clusterId: string, sealed: SealedInputs | undefined): ObjectMeta {
  const metadata = ownedMeta(instance, clusterId);
  return sealed === undefined
    ? metadata
    : { ...metadata, annotations: { [SEALED_SECRET_ANNOTATION]: sealed.secretUid } };
}

/** Sealed values come last in `valuesFrom`, and nothing of `values` stays in their way. */
function valuesOf(
  { values, valuesFrom }: ApplicationInstance['spec'],
  sealed: SealedInputs['from'],
): Pick<HelmReleaseSpec, 'values' | 'valuesFrom'> {
  const inline = values === undefined || sealed === undefined ? values : withoutSealed(values, sealed.shape);
  const from = (valuesFrom ?? []).map((one) => ({ ...one }));
  const all =
    sealed === undefined
      ? from
      : [...from, { kind: 'Secret' as const, name: sealed.secretName, valuesKey: sealed.valuesKey }];
  return {
    ...(inline === undefined ? {} : { values: inline }),
    ...(valuesFrom === undefined && all.length === 0 ? {} : { valuesFrom: all }),
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
