/**
 * Condition types of `ApplicationInstance` (decisions, "Custom resources"), and one of ours: `Drifted`, where the instance
 * has drift looked for.
 */
export const APPLICATION_INSTANCE_CONDITIONS = ['Ready', 'Reconciling', 'Degraded', 'Stalled', 'Drifted'] as const;
export type ApplicationInstanceConditionType = (typeof APPLICATION_INSTANCE_CONDITIONS)[number];

/** Condition types of `Operation`. */
export const OPERATION_CONDITIONS = ['Accepted', 'Blocked', 'Running', 'Succeeded', 'Failed', 'Cancelled'] as const;
export type OperationConditionType = (typeof OPERATION_CONDITIONS)[number];

/**
 * Condition types of `Cluster`: the specification's, and ours. `Synced`: the source's revision is fetched and everything
 * in it applied. `RemovedWithoutTombstone`: files vanished from the source and their objects were kept. `Stalled`:
 * nothing will change without a person. `SourceHistoryRewritten`: the branch was force-pushed, and read on from its new tip.
 * `SourcePartial`: False where the Git host sends more than the cluster's directory.
 * `NamespacesGranted`: every namespace that is allowed and labelled has the operator's RoleBinding.
 * `RegistrationTokenSpent`: the token in the spec is used and can be taken out. `SigningKeyTrusted`: False where the
 * control plane signs with a key that is neither pinned nor endorsed.
 */
export const CLUSTER_CONDITIONS = [
  'Authenticated',
  'ConfigurationServed',
  'Connected',
  'Disconnected',
  'BufferOverflow',
  'JobReportRefused',
  'ControllersHealthy',
  'Synced',
  'RemovedWithoutTombstone',
  'Stalled',
  'SourceHistoryRewritten',
  'SourcePartial',
  'OperatorUpToDate',
  'VersionSupported',
  'RegistrationTokenSpent',
  'NamespacesGranted',
  'SigningKeyTrusted',
] as const;
export type ClusterConditionType = (typeof CLUSTER_CONDITIONS)[number];
