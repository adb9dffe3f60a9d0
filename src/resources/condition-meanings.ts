import type {
  ApplicationInstanceConditionType,
  ClusterConditionType,
  OperationConditionType,
} from './condition-types.ts';

/** What each condition says when it is True. docs/reference/reasons.md is made from these. */
export const APPLICATION_INSTANCE_MEANINGS: Readonly<Record<ApplicationInstanceConditionType, string>> = {
  Ready: 'The release that is wanted is installed and ready.',
  Reconciling: 'Something is under way; False says that nothing is, or why nothing will move.',
  Degraded: 'The last try failed.',
  Stalled: 'Nothing will change without a person.',
  Drifted: 'Others changed what the chart installed; only where drift is looked for.',
};

export const OPERATION_MEANINGS: Readonly<Record<OperationConditionType, string>> = {
  Accepted: 'Everything allows the operation.',
  Blocked: 'Something keeps it from running; it goes on by itself when that is gone.',
  Running: 'It runs, or waits for its next try.',
  Succeeded: 'It did what it was to do.',
  Failed: 'It ended without that.',
  Cancelled: 'It was ended because somebody asked for that.',
};

export const CLUSTER_MEANINGS: Readonly<Record<ClusterConditionType, string>> = {
  Authenticated: 'The control plane accepts the credential.',
  ConfigurationServed: 'The control plane tells what is allowed here.',
  Connected: 'The control plane answers.',
  Disconnected: 'The opposite of Connected, so that a loss of contact has an entry of its own.',
  BufferOverflow: 'Events were dropped before they reached the control plane.',
  JobReportRefused: 'The control plane will not have a report of a job.',
  ControllersHealthy: 'The loops of the operator run.',
  Synced: "The source's revision is fetched and everything in it is applied.",
  RemovedWithoutTombstone: 'Files vanished from the source, and their objects were kept.',
  Stalled: 'Nothing will change without a person.',
  SourceHistoryRewritten: 'The branch was force-pushed, and is read on from its new tip.',
  SourcePartial: "The copy of the repository holds the cluster's directory and no more.",
  OperatorUpToDate: 'The version that the control plane asks for runs.',
  VersionSupported: 'The versions of both sides work together.',
  RegistrationTokenSpent: 'The token in the spec is used and can be taken out.',
  NamespacesGranted: "Every namespace that is allowed and labelled has the operator's RoleBinding.",
  SigningKeyTrusted: 'Every key that the control plane signs with is pinned or endorsed.',
};
