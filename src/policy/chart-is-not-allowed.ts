import semver from 'semver';
import type { ApplicationInstance } from '../resources/application-instance.ts';
import { Reason } from '../resources/reasons.ts';
import { allowAtControlPlane, allowedNames, type PolicySituation, type PolicyViolation } from './policy-violation.ts';

const FIELDS = ['type', 'url', 'name'] as const;

/** The catalog entry is not projected to this cluster, or the chart is not the one that the entry stands for. */
export function chartIsNotAllowed(
  { metadata, spec }: Pick<ApplicationInstance, 'metadata' | 'spec'>,
  { policy }: Pick<PolicySituation, 'policy'>,
): readonly PolicyViolation[] {
  const { chart, catalogEntry } = spec;
  const entry = policy.catalogEntries.find((candidate) => candidate.entry === catalogEntry);
  if (entry === undefined) {
    const allowed = allowedNames(policy.catalogEntries.map((candidate) => candidate.entry));
    const message = `catalog entry ${catalogEntry} is not allowed for this cluster; ${allowed}; ${allowAtControlPlane(policy, 'allowedCatalogEntries')}`;
    return [{ reason: Reason.ChartNotAllowed, message, fault: { path: '/catalogEntry', message } }];
  }
  const set = (path: string, value: string): string =>
    `set it with: kubectl patch applicationinstance ${metadata.name} -n ${metadata.namespace ?? ''} --type=merge ` +
    `-p '${JSON.stringify({ spec: { chart: { [path]: value } } })}'`;
  const differing = FIELDS.filter((field) => chart[field] !== entry.chart[field]).map((field) => ({
    reason: Reason.ChartNotAllowed,
    message:
      `spec.chart.${field} is ${chart[field]}; catalog entry ${catalogEntry} says ${entry.chart[field]}; ` +
      set(field, entry.chart[field]),
    fault: { path: `/chart/${field}`, message: `catalog entry ${catalogEntry} says ${entry.chart[field]}` },
  }));
  if (semver.satisfies(chart.version, entry.versions)) return differing;
  const message =
    `spec.chart.version ${chart.version} is outside ${entry.versions}, which catalog entry ${catalogEntry} allows; ` +
    `take a version of that range, or an admin of the control plane widens it with: PUT /api/v1/catalog/${catalogEntry}`;
  return [...differing, { reason: Reason.ChartNotAllowed, message, fault: { path: '/chart/version', message } }];
}
