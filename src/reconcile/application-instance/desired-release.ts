import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { DriftIgnoreRule } from '../../resources/drift-ignore.ts';
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
export const RELEASE_INTERVAL_MS = 10 * 60_000;

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
      ...driftDetection(spec),
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

/** Flux matches the parts of a target as regular expressions; here they are exact. */
function driftDetection({
  driftDetection: mode,
  driftIgnore = [],
}: ApplicationInstance['spec']): Pick<HelmReleaseSpec, 'driftDetection'> {
  if (mode === undefined) return {};
  if (driftIgnore.length === 0) return { driftDetection: { mode } };
  const ignore = driftIgnore.map(({ paths, target }) => ({
    paths: [...paths],
    ...(target === undefined ? {} : { target: exactly(target) }),
  }));
  return { driftDetection: { mode, ignore } };
}

function exactly(target: NonNullable<DriftIgnoreRule['target']>): NonNullable<DriftIgnoreRule['target']> {
  const literal = (text: string): string => text.replaceAll('.', '\\.');
  const { group, name } = target;
  return {
    ...target,
    ...(group === undefined ? {} : { group: literal(group) }),
    ...(name === undefined ? {} : { name: literal(name) }),
  };
}

/**
 * Without `upgrade` Flux' own defaults hold: one try, and a failed upgrade stays as it is for a person to look at. With
 * retries Flux remediates the last failure too, unless it is told not to; between two tries it always does, by a rollback,
 * and after a failed install by an uninstall.
 */
function remediation(
  upgrade: ApplicationInstance['spec']['upgrade'],
): Pick<HelmReleaseSpec, 'timeout' | 'install' | 'upgrade'> {
  if (upgrade === undefined) return {};
  const { timeout, retries, remediation: strategy = 'none' } = upgrade;
  const tries = retries === undefined ? {} : { retries };
  const last =
    strategy === 'none'
      ? retries === undefined
        ? {}
        : { remediateLastFailure: false }
      : { remediateLastFailure: true, strategy };
  const remediate = { ...tries, ...last };
  // After an uninstall the next try is an install.
  const install = strategy === 'uninstall' ? { ...tries, remediateLastFailure: true } : tries;
  return {
    ...(timeout === undefined ? {} : { timeout }),
    ...(Object.keys(install).length === 0 ? {} : { install: { remediation: install } }),
    ...(Object.keys(remediate).length === 0 ? {} : { upgrade: { remediation: remediate } }),
  };
}
