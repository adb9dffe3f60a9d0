import semver from 'semver';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../resources/labels.ts';
import { Reason } from '../../resources/reasons.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { stalled, type Verdict } from './verdict.ts';

/** Why an instance may not be released on this cluster, or undefined. Runs at every pass, whatever admission said. */
export function policyVerdict(
  instance: ApplicationInstance,
  namespace: KubeObject | undefined,
  policy: ClusterPolicy,
): Verdict | undefined {
  return (
    namespaceIsNotAllowed('namespace', instance.metadata.namespace, policy) ??
    namespaceIsNotLabelled(instance, namespace) ??
    namespaceIsNotAllowed('targetNamespace', instance.spec.targetNamespace ?? instance.metadata.namespace, policy) ??
    chartIsNotAllowed(instance, policy) ??
    valuesAreSealed(instance)
  );
}

function namespaceIsNotAllowed(field: string, name: string | undefined, policy: ClusterPolicy): Verdict | undefined {
  if (name !== undefined && policy.allowedNamespaces.includes(name)) return undefined;
  return stalled(
    Reason.NamespaceNotAllowed,
    `${field} ${name ?? '(none)'} is not allowed for this cluster; allowed: ${policy.allowedNamespaces.join(', ') || 'none'}`,
  );
}

function namespaceIsNotLabelled(instance: ApplicationInstance, namespace: KubeObject | undefined): Verdict | undefined {
  if (namespace?.metadata.labels?.[NAMESPACE_LABEL] === NAMESPACE_LABEL_VALUE) return undefined;
  const name = instance.metadata.namespace ?? '';
  return stalled(
    Reason.NamespaceNotAllowed,
    `namespace ${name} is not labelled for the operator; a cluster admin runs: ` +
      `kubectl label namespace ${name} ${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`,
  );
}

function chartIsNotAllowed({ spec }: ApplicationInstance, policy: ClusterPolicy): Verdict | undefined {
  const { chart, catalogEntry } = spec;
  const entry = policy.catalogEntries.find((candidate) => candidate.entry === catalogEntry);
  if (entry === undefined) {
    const known = policy.catalogEntries.map((candidate) => candidate.entry).join(', ') || 'none';
    return stalled(
      Reason.ChartNotAllowed,
      `catalog entry ${catalogEntry} is not allowed for this cluster; allowed: ${known}`,
    );
  }
  for (const field of ['type', 'url', 'name'] as const) {
    if (chart[field] === entry.chart[field]) continue;
    return stalled(
      Reason.ChartNotAllowed,
      `spec.chart.${field} is ${chart[field]}; catalog entry ${catalogEntry} says ${entry.chart[field]}`,
    );
  }
  if (semver.satisfies(chart.version, entry.versions)) return undefined;
  return stalled(
    Reason.ChartNotAllowed,
    `spec.chart.version ${chart.version} is outside ${entry.versions}, which catalog entry ${catalogEntry} allows`,
  );
}

/** Releasing without the secret values would run the application with other settings than were asked for. */
function valuesAreSealed({ spec }: ApplicationInstance): Verdict | undefined {
  if (spec.sealedValues === undefined) return undefined;
  return stalled(
    Reason.SealedValuesNotSupported,
    'this operator version does not open spec.sealedValues; nothing is released without them',
  );
}
