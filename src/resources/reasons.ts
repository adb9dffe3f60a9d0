/**
 * Every reason of every condition. The control plane mirrors deploy and credential outcomes by reason, so a reason is
 * part of the wire contract: add, never rename.
 */
export const Reason = {
  // ApplicationInstance, named by the specification.
  /** Reconciling=True: the release is being installed for the first time. */
  HelmReleaseInstalling: 'HelmReleaseInstalling',
  /** Reconciling=True: the release is being upgraded to a new chart version or new values. */
  HelmReleaseUpgrading: 'HelmReleaseUpgrading',
  /** Reconciling=False: what is observed is what is desired. */
  Stable: 'Stable',
  /** Ready=True: the release is installed and ready. */
  HelmReleaseReady: 'HelmReleaseReady',
  /** Ready=True: the release is ready after an upgrade. */
  HelmReleaseUpgraded: 'HelmReleaseUpgraded',
  /** Degraded=True, Ready=False: the upgrade failed; the message says whether it was rolled back. */
  HelmReleaseUpgradeFailed: 'HelmReleaseUpgradeFailed',

  // ApplicationInstance, ours.
  /** Degraded=True, Ready=False: the first installation failed. */
  HelmReleaseInstallFailed: 'HelmReleaseInstallFailed',
  /** Degraded=True: Flux took it back after a failed upgrade. Ready=True: an operation did, until the next intent. */
  HelmReleaseRolledBack: 'HelmReleaseRolledBack',
  /** Ready=False: the release controller has not looked at the newest release yet, or says nothing we know. */
  HelmReleasePending: 'HelmReleasePending',
  /** Degraded=True: the release failed in a way that is neither install nor upgrade (a test, a drift correction). */
  HelmReleaseFailed: 'HelmReleaseFailed',
  /** Degraded=False: nothing is wrong with the release. */
  Healthy: 'Healthy',
  /** Ready=False: the chart's source cannot be fetched; the message has the source controller's words. */
  SourceUnavailable: 'SourceUnavailable',
  /** Ready=False: waits for what `dependsOn` names. */
  DependencyNotReady: 'DependencyNotReady',
  /** Stalled=True: the catalog entry is not allowed, or chart, version or address are not what the entry says. */
  ChartNotAllowed: 'ChartNotAllowed',
  /** Stalled=True, Blocked=True: the namespace (or the one that is targeted) is not in the cluster's allowed namespaces. */
  NamespaceNotAllowed: 'NamespaceNotAllowed',
  /** Stalled=True, Blocked=True: the namespace does not carry the label by which a cluster admin gives it to the operator. */
  NamespaceNotLabelled: 'NamespaceNotLabelled',
  /** Stalled=True: the namespace has no RoleBinding for the operator or no service account for releases. */
  NamespaceNotGranted: 'NamespaceNotGranted',
  /** Stalled=True: the Helm release, or a Flux object of this name, is another's; it is not touched. The message says whose. */
  ReleaseNotOwned: 'ReleaseNotOwned',
  /** Stalled=True: the cluster does not serve Flux' kinds; the release controller is not installed. */
  ReleaseControllerMissing: 'ReleaseControllerMissing',
  /** Stalled=True: `spec.sealedValues` does not open: sealed to another key or for another place, or altered. */
  SealedValuesNotOpened: 'SealedValuesNotOpened',
  /** Reconciling=True: the release is being removed. */
  Uninstalling: 'Uninstalling',
  /** Ready=False: the release is gone. */
  Uninstalled: 'Uninstalled',
  /** Degraded=True: the release could not be removed; the message names what is left. */
  HelmReleaseUninstallFailed: 'HelmReleaseUninstallFailed',
  /** The resource was deleted by hand without a tombstone, or with `deletionPolicy: Orphan`: the release stays. */
  Orphaned: 'Orphaned',
  /** Reconciling=False: writes are stopped by the paused annotation on the object, its namespace or the Cluster. */
  Paused: 'Paused',
  /** Reconciling=False: `spec.suspend` is true; an intent that asks for that is carried out with it. */
  Suspended: 'Suspended',
  /** Reconciling=False: somebody suspended the HelmRelease itself; the message says who, where that is known. */
  HelmReleaseSuspended: 'HelmReleaseSuspended',
  /** Reconciling=True: others changed what the chart installed, and Flux puts it back; Ready stays. */
  DriftCorrecting: 'DriftCorrecting',
  /** Drifted=False: the release controller reports none since the last release. */
  NoDrift: 'NoDrift',
  /** Drifted=True: others changed what the chart installed; the message has the release controller's words. */
  DriftDetected: 'DriftDetected',
  /** Drifted=False: others changed it, and it was put back. */
  DriftCorrected: 'DriftCorrected',
  /** Drifted=True: others changed it, and it cannot be put back; it is tried again. */
  DriftNotCorrected: 'DriftNotCorrected',
  /** Drifted=Unknown: the operator may not list events in the namespace; apply its manifest again. */
  DriftNotVisible: 'DriftNotVisible',
  /** Reconciling=False: every try that `upgrade.retries` allows has failed. */
  RetriesExhausted: 'RetriesExhausted',
  /** Degraded=True: after its last failed try the release was uninstalled by remediation; nothing of it runs. */
  HelmReleaseTakenOut: 'HelmReleaseTakenOut',

  // Apply and source, on the object or on the Cluster's `Synced`.
  /** Synced=True: the revision is fetched and everything in it is applied. */
  Applied: 'Applied',
  /** Synced=Unknown: the revision is being fetched or applied. Not set yet. */
  Applying: 'Applying',
  /** A file of the source is not a manifest that is taken; the message names file and field. */
  ManifestInvalid: 'ManifestInvalid',
  /** A file that names another object than its place says, or a kind that is not taken. */
  ManifestRefused: 'ManifestRefused',
  /** Another field manager owns a field that the operator must own; the message names both. */
  ApplyConflict: 'ApplyConflict',
  /** The API server did not take the object. */
  ApplyFailed: 'ApplyFailed',
  /** The API server did not let an object be deleted; it is tried again. */
  DeleteFailed: 'DeleteFailed',
  /** The definition of the object's kind is being deleted and takes no new objects; it is tried again. */
  DefinitionTerminating: 'DefinitionTerminating',
  /** Stalled=True, Blocked=True, or not applied: it carries no signature of the control plane, and one is required. */
  SignatureMissing: 'SignatureMissing',
  /** Stalled=True, Blocked=True, or not applied: it is not as the control plane signed it, or not signed by it. */
  SignatureInvalid: 'SignatureInvalid',
  /** The spec breaks a rule of its kind, or changes what cannot be changed; the message says what to do instead. */
  SpecInvalid: 'SpecInvalid',
  /** The source pair is lower than what is applied already, or than that by which the object was uninstalled. */
  StaleSource: 'StaleSource',
  /** Another mode or delivery epoch came into force, and the directory was not read since. */
  SourceNotRead: 'SourceNotRead',
  /** Nothing is read from a directory in this mode. */
  NoSourceHere: 'NoSourceHere',
  /** The source (repository, branch, directory) cannot be read. */
  SourceUnreachable: 'SourceUnreachable',
  /** A commit that changes the directory is not signed by one whose signature counts: nothing of its branch is read. */
  CommitNotTrusted: 'CommitNotTrusted',
  /** Somebody rewrote the branch that the source reads. */
  HistoryRewritten: 'HistoryRewritten',
  /** The control plane named no source yet. Not set yet. */
  SourceNotConfigured: 'SourceNotConfigured',
  /** More files vanished at once than is believed: nothing is removed until a person accepts the revision. */
  RemovalsHeld: 'RemovalsHeld',
  /** SourcePartial=False: the Git host sends more than the cluster's directory. */
  CopyNotPartial: 'CopyNotPartial',
  /** SourcePartial=True: the copy holds the cluster's directory and no more. */
  CopyPartial: 'CopyPartial',
  /** Some objects of the revision are not applied; the message names the first. */
  PartlyApplied: 'PartlyApplied',
  /** RemovedWithoutTombstone=True: files vanished from the source; their objects are kept in the cluster. */
  FileRemoved: 'FileRemoved',
  /** RemovedWithoutTombstone=False: every applied object still has its file or had a tombstone. */
  AllFilesPresent: 'AllFilesPresent',

  // Operation.
  /** Accepted=True: everything allows the operation. */
  OperationAccepted: 'OperationAccepted',
  /** Running=True: it runs. */
  OperationRunning: 'OperationRunning',
  /** Running=True: a try failed, and another follows. */
  OperationRetrying: 'OperationRetrying',
  /** Failed=True: what the operation had made is gone, so nobody can say how it ended. */
  OperationLost: 'OperationLost',
  /** Failed=True: what it says that runs is not as the operator wrote it down, or the cluster's keys of then are lost. */
  StatusAltered: 'StatusAltered',
  /** Failed=True: it had not ended by its deadline. */
  DeadlineExceeded: 'DeadlineExceeded',
  /** Cancelled=True: `spec.cancel` asked for that. */
  OperationCancelled: 'OperationCancelled',
  /** Running=False: it has not begun. */
  NotStarted: 'NotStarted',
  /** Running=False: it has ended. */
  Finished: 'Finished',
  /** Blocked=False: nothing keeps it from running. */
  NotBlocked: 'NotBlocked',
  /** Succeeded=False, Failed=False or Cancelled=False: the operation has not come to this. */
  NotReached: 'NotReached',
  /** Blocked=True: the parameters are not those that the template takes; the message names every fault. */
  ParametersInvalid: 'ParametersInvalid',
  /** Blocked=True: the template is not one that this operator runs. */
  TemplateNotSupported: 'TemplateNotSupported',
  /** Blocked=True: the template is not in the cluster's or the namespace's list. */
  TemplateNotAllowed: 'TemplateNotAllowed',
  /** The admin-made operation template does something else now than when the operation was asked for. */
  TemplateChanged: 'TemplateChanged',
  /** Blocked=True, Stalled=True: it needs an approval and there is none, or none that is valid yet. */
  ApprovalMissing: 'ApprovalMissing',
  /** Blocked=True, Stalled=True: the statement does not approve this: forged, expired, of another object, spec or cluster. */
  ApprovalInvalid: 'ApprovalInvalid',
  /** Blocked=True, Stalled=True: another object used the approval, or this one did before a later approval. */
  ApprovalUsed: 'ApprovalUsed',
  /** Succeeded=True: every pod of the workload was replaced and is available. */
  WorkloadRestarted: 'WorkloadRestarted',
  /** Succeeded=True: the workload has the wanted number of replicas, all ready. */
  WorkloadScaled: 'WorkloadScaled',
  /** Succeeded=True: the Job came to its end. */
  JobCompleted: 'JobCompleted',
  /** Failed=True: the Job failed; the message has its reason, the output what it wrote last. */
  JobFailed: 'JobFailed',
  /** Failed=True: the object that the operation works on is not there; the message says which there are. */
  TargetNotFound: 'TargetNotFound',
  /** Failed=True: the object that the operation works on is such that it cannot be done; the message says what to change. */
  TargetNotSuited: 'TargetNotSuited',
  /** Failed=True: the workload did not come up within its own progress deadline. */
  RolloutFailed: 'RolloutFailed',
  /** Failed=True: somebody set back what the operation had changed, or deleted what it had made; the message says who. */
  ChangeUndone: 'ChangeUndone',
  /** At admission alone: somebody else than the operator changed what it alone may set. */
  ReservedFieldChanged: 'ReservedFieldChanged',
  /** Succeeded=True: Velero wrote the backup; the message has its expiry. */
  VeleroBackupCompleted: 'VeleroBackupCompleted',
  /** Failed=True: there is no whole backup; the message says what Velero says, or why it was not asked. */
  VeleroBackupFailed: 'VeleroBackupFailed',
  /** Succeeded=True: Velero restored everything that was asked for. */
  VeleroRestoreCompleted: 'VeleroRestoreCompleted',
  /** Failed=True: not everything was restored; the message says what Velero says, or why it was not asked. */
  VeleroRestoreFailed: 'VeleroRestoreFailed',
  /** Succeeded=True: the release controller looked at the release, and it is ready. */
  ReleaseReconciled: 'ReleaseReconciled',
  /** Failed=True: the release cannot be looked at, or is not ready after it was. */
  ReleaseNotReconciled: 'ReleaseNotReconciled',
  /** Succeeded=True: the application runs the earlier version. */
  ReleaseRolledBack: 'ReleaseRolledBack',
  /** Failed=True: there is nothing to go back to, it may not be gone back to, or it does not run. */
  ReleaseNotRolledBack: 'ReleaseNotRolledBack',

  // Cluster.
  /** Authenticated=True: registered and the credential is accepted. */
  Registered: 'Registered',
  /** Authenticated=False: there is neither a credential nor a registration token. */
  NotRegistered: 'NotRegistered',
  /** RegistrationTokenSpent=True: the token in the Cluster's spec is used; a person takes it out, the operator may not. */
  TokenSpent: 'TokenSpent',
  /** RegistrationTokenSpent=False: it was taken out, or replaced by another. */
  TokenRemoved: 'TokenRemoved',
  /** Authenticated=False: the control plane refused the registration token; the message says why. */
  RegistrationRefused: 'RegistrationRefused',
  /** Authenticated=False: the credential is past its expiry. */
  CredentialExpired: 'CredentialExpired',
  /** Authenticated=False: the control plane does not accept the credential; an admin must act. */
  CredentialRefused: 'CredentialRefused',
  /** Authenticated=True: the credential was replaced by schedule or on request. */
  CredentialRotated: 'CredentialRotated',
  /** Authenticated=True: the control plane did not know the credential any more and gave another, sealed to the cluster's key. */
  CredentialRecovered: 'CredentialRecovered',
  /** Authenticated=True: the credential works and cannot be replaced; the message says why and when it ends. */
  CredentialRotationFailed: 'CredentialRotationFailed',
  /** Authenticated=True: mTLS is wanted, and the control plane gave no client certificate that could be shown. */
  ClientCertificateMissing: 'ClientCertificateMissing',
  /** SigningKeyTrusted=False: the control plane's signing key is neither the pinned one nor endorsed by it. */
  SigningKeyNotTrusted: 'SigningKeyNotTrusted',
  /** SigningKeyTrusted=True: every signing key that the control plane names counts. */
  SigningKeysAccepted: 'SigningKeysAccepted',
  /** Stalled=True: what answers at the address has not the endpoints of the specification; the message names them. */
  EndpointMissing: 'EndpointMissing',
  /** Stalled=False: the endpoints that were missing are there. */
  EndpointsFound: 'EndpointsFound',
  /** Authenticated=False: the record is disabled at the control plane. */
  ClusterDisabled: 'ClusterDisabled',
  /** Authenticated=False: the record is bound to another cluster. */
  ClusterUidMismatch: 'ClusterUidMismatch',
  /** Connected=True, Disconnected=False: the control plane answers. */
  ControlPlaneReachable: 'ControlPlaneReachable',
  /** Connected=False, Disconnected=True: the control plane does not answer. */
  ControlPlaneUnreachable: 'ControlPlaneUnreachable',
  /** Connected=False, Disconnected=True: the operator asks nothing of the control plane; Authenticated says why. */
  ControlPlaneNotAsked: 'ControlPlaneNotAsked',
  /** ConfigurationServed=False: the control plane tells no configuration, so nothing is allowed here. */
  ConfigurationNotServed: 'ConfigurationNotServed',
  /** ConfigurationServed=True: it does again, or does by now. */
  ConfigurationFound: 'ConfigurationFound',
  /** BufferOverflow=True: events were dropped; the message counts them. */
  EventsDropped: 'EventsDropped',
  /** Synced=False: a job that came is not applied before the control plane takes its ack. */
  NotAcknowledged: 'NotAcknowledged',
  /** Synced=False: jobs that come cannot be kept in the cluster, so none is taken. */
  JobsNotKept: 'JobsNotKept',
  /** JobReportRefused=True: the control plane will not have the ack, status or result of a job (400, 413); the message says why. */
  ReportRefused: 'ReportRefused',
  /** JobReportRefused=False: a later result was taken. */
  ReportsTaken: 'ReportsTaken',
  /** BufferOverflow=False: nothing was dropped since the last full snapshot. */
  BufferWithinBounds: 'BufferWithinBounds',
  /** ControllersHealthy=True: source, apply and reconcile loops run. */
  ControllersRunning: 'ControllersRunning',
  /** ControllersHealthy=False: a loop ended or hangs; the message names it. */
  ControllerFailed: 'ControllerFailed',
  /** ControllersHealthy=False: the operator may not watch its own kinds, or its account is not accepted any more. */
  OperatorForbidden: 'OperatorForbidden',
  /** ControllersHealthy=False: the cluster does not serve one of our own kinds; apply the CRDs. */
  DefinitionMissing: 'DefinitionMissing',
  /** NamespacesGranted=True: the operator has its rights in every namespace that is allowed and labelled. */
  NamespacesGranted: 'NamespacesGranted',
  /** Stalled=True: there is a second Cluster resource; one operator serves one. */
  DuplicateCluster: 'DuplicateCluster',
  /** Authenticated=False: `spec.controlPlaneBaseUrl` or another setting cannot be used. */
  ConfigurationInvalid: 'ConfigurationInvalid',
  /** OperatorUpToDate=True: the version that the control plane asks for runs. */
  OperatorCurrent: 'OperatorCurrent',
  /** OperatorUpToDate=True: the control plane asks for no version any more. */
  NoVersionDesired: 'NoVersionDesired',
  /** OperatorUpToDate=False: the Deployment has the new image and its pods are on their way. */
  UpgradeInProgress: 'UpgradeInProgress',
  /** OperatorUpToDate=False: the operator may not change its Deployment, or there is none; the message has the command. */
  UpgradeNotAllowed: 'UpgradeNotAllowed',
  /** OperatorUpToDate=False: the image is pinned by a digest or a tag that names no version. */
  UpgradePinned: 'UpgradePinned',
  /** OperatorUpToDate=False: the new pods do not become ready, or what was asked for is no version. */
  UpgradeFailed: 'UpgradeFailed',
  /** VersionSupported=False: the control plane is older than this operator; upgrade it first. */
  ControlPlaneOlder: 'ControlPlaneOlder',
  /** VersionSupported=False: this operator is older than its control plane works with. */
  OperatorTooOld: 'OperatorTooOld',
  /** VersionSupported=True: the two versions work together. */
  WithinSkew: 'WithinSkew',
  /** Disconnected=True, set by the control plane: no contact for three heartbeats. Its applications go on running. */
  NoContact: 'NoContact',
  /** Connected=True, set by the control plane: the cluster called within three heartbeats. */
  WithinHeartbeat: 'WithinHeartbeat',
} as const;
export type Reason = (typeof Reason)[keyof typeof Reason];
