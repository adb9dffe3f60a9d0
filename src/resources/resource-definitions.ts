import { APPLICATION_INSTANCE_RULES } from './application-instance-rules.ts';
import { ApplicationInstanceSpec, ApplicationInstanceStatus } from './application-instance.ts';
import { CLUSTER_RULES } from './cluster-rules.ts';
import { ClusterSpec, ClusterStatus } from './cluster.ts';
import type { PrinterColumn, ResourceDefinition } from './crd.ts';
import { OPERATION_RULES } from './operation-rules.ts';
import { OperationSpec, OperationStatus } from './operation.ts';

/** Not in `all`: `kubectl delete all --all` is meant for what a namespace runs, not for what it should run. */
const CATEGORIES = ['service'];

const AGE: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

function condition(name: string, type: string, member: 'status' | 'reason' | 'message', priority = 0): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.type=="${type}")].${member}`;
  return { name, type: 'string', jsonPath, ...(priority === 0 ? {} : { priority }) };
}

/** The custom resources of this project; `crds/` is generated from this list. */
export const RESOURCE_DEFINITIONS: readonly ResourceDefinition[] = [
  {
    group: 'apps.service.io',
    version: 'v1alpha1',
    kind: 'ApplicationInstance',
    plural: 'applicationinstances',
    singular: 'applicationinstance',
    shortNames: ['appi'],
    categories: CATEGORIES,
    description: 'An application that is installed from a catalog entry as a Helm release.',
    spec: ApplicationInstanceSpec,
    status: ApplicationInstanceStatus,
    rules: APPLICATION_INSTANCE_RULES,
    columns: [
      { name: 'Chart', type: 'string', jsonPath: '.spec.chart.name' },
      { name: 'Version', type: 'string', jsonPath: '.spec.chart.version' },
      { name: 'Released', type: 'string', jsonPath: '.status.release.chartVersion' },
      condition('Ready', 'Ready', 'status'),
      condition('Reason', 'Ready', 'reason'),
      // Ready stays what it was over a pause; this says Stable, Paused, what is under way, or why nothing will move.
      condition('Status', 'Reconciling', 'reason'),
      condition('Stalled', 'Stalled', 'status', 1),
      condition('Message', 'Ready', 'message', 1),
      AGE,
    ],
  },
  {
    group: 'ops.service.io',
    version: 'v1alpha1',
    kind: 'Operation',
    plural: 'operations',
    singular: 'operation',
    shortNames: ['sop'],
    categories: CATEGORIES,
    description: 'One run of an operation template.',
    spec: OperationSpec,
    status: OperationStatus,
    rules: OPERATION_RULES,
    columns: [
      { name: 'Template', type: 'string', jsonPath: '.spec.template' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
      { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
      { name: 'Started', type: 'date', jsonPath: '.status.startedAt' },
      { name: 'Finished', type: 'date', jsonPath: '.status.finishedAt' },
      AGE,
    ],
  },
  {
    group: 'ops.service.io',
    version: 'v1alpha1',
    kind: 'Cluster',
    plural: 'clusters',
    singular: 'cluster',
    shortNames: ['scl'],
    categories: CATEGORIES,
    description: "This cluster's membership in its control plane, and what the control plane allows here.",
    spec: ClusterSpec,
    status: ClusterStatus,
    rules: CLUSTER_RULES,
    columns: [
      { name: 'ID', type: 'string', jsonPath: '.status.clusterId' },
      { name: 'Mode', type: 'string', jsonPath: '.status.connectivityMode' },
      condition('Authenticated', 'Authenticated', 'status'),
      condition('Connected', 'Connected', 'status'),
      condition('Synced', 'Synced', 'status'),
      condition('Reason', 'Synced', 'reason'),
      { name: 'Revision', type: 'string', jsonPath: '.status.appliedRevision', priority: 1 },
      { name: 'Last contact', type: 'date', jsonPath: '.status.lastContactTime', priority: 1 },
      AGE,
    ],
  },
];
