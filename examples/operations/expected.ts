/** How each intent ended, in the order in which they did. */
export const ENDS: readonly string[] = [
  'before-the-sale: ready',
  'back-to-before: ready',
  'restart-web: ready',
  'more-web: ready',
  'reindex-north: failed, OperationCancelled: it was stopped',
  'reindex-north: ready',
  'reindex-south: failed, DeadlineExceeded: it had not ended 2 s after its start: Job reindex-south-1 runs',
];

/** The whole audit of the run. */
export const AUDIT: { readonly user: readonly string[]; readonly agent: readonly string[] } = {
  user: [
    'CatalogEntryUpdated by admin: catalog entry podinfo: oci oci://ghcr.io/stefanprodan/charts/podinfo, versions >=6.5.0 <7',
    'ClusterCreated by admin: cluster demo created in mode pull; a registration token was issued',
    'AdminTokenCreated by admin: admin token ada made without a role',
    'AdminTokenCreated by admin: admin token grace made with roles data-owner',
    'OperationTemplateUpdated by admin: operation template velero-restore: built in, 1 to approve',
    'OperationTemplateUpdated by admin: operation template reindex: runs run-job, within 600 s, no approval needed',
    'OperationRequested by ada: demo: operate velero-backup as shop/before-the-sale (before the sale begins)',
    'OperationRequested by ada: demo: operate velero-restore as shop/back-to-before (somebody deleted the settings)',
    'ApprovalRefused by ada: demo: velero-restore shop/back-to-before (approval <approval>) was not approved by ada (forbidden: ada asked for this and cannot approve it; somebody else has to)',
    'OperationApproved by grace: demo: velero-restore shop/back-to-before (approval <approval>) was approved by grace (the backup is of this morning)',
    'OperationRequested by ada: demo: operate rollout-restart as shop/restart-web',
    'OperationRequested by ada: demo: operate scale as shop/more-web',
    'OperationRequested by ada: demo: operate reindex as shop/reindex-north',
    'OperationCancelled by ada: demo: cancel shop/reindex-north (<intent of reindex-north>) by <its cancellation>, generation 2 (the wrong shard)',
    'OperationRequested by ada: demo: operate reindex as shop/reindex-south',
  ],
  agent: [
    'ClusterRegistered: demo registered (Registered)',
    'ConditionTransition: Connected (ControlPlaneReachable): The control plane answers. (ControlPlaneReachable)',
    'ConditionTransition: Running (OperationRunning): velero-backup runs, for at most 14400 s (OperationRunning)',
    'ConditionTransition: Succeeded (VeleroBackupCompleted): Backup velero/before-the-sale-1 is complete: 0 errors, 0 warnings, <n> items, kept until <time> (VeleroBackupCompleted)',
    'ConditionTransition: Running (OperationRunning): velero-restore runs, for at most 14400 s (OperationRunning)',
    'ConditionTransition: Succeeded (VeleroRestoreCompleted): Restore velero/back-to-before-1 of Backup before-the-sale-1 is complete: 0 errors, 0 warnings, <n> items (VeleroRestoreCompleted)',
    'ConditionTransition: Running (OperationRunning): rollout-restart runs, for at most 900 s (OperationRunning)',
    'ConditionTransition: Succeeded (WorkloadRestarted): Deployment web: 2 pods restarted and available (WorkloadRestarted)',
    'ConditionTransition: Running (OperationRunning): scale runs, for at most 900 s (OperationRunning)',
    'ConditionTransition: Succeeded (WorkloadScaled): Deployment web: 4 replicas, all ready; the number was set by field manager "shop" before, which may set it again (WorkloadScaled)',
    'ConditionTransition: Running (OperationRunning): run-job runs, for at most 600 s (OperationRunning)',
    'ConditionTransition: Running (OperationRunning): run-job runs, for at most 600 s (OperationRunning)',
    'ConditionTransition: Cancelled (OperationCancelled): it was stopped (OperationCancelled)',
    'ConditionTransition: Running (OperationRunning): run-job runs, for at most 2 s (OperationRunning)',
    'ConditionTransition: Failed (DeadlineExceeded): it had not ended 2 s after its start: Job reindex-south-1 runs (DeadlineExceeded)',
  ],
};

/** The whole discussion channel: of operations it is told how backups and restores ended, once each. */
export const CHANNEL: readonly string[] = [
  'demo: shop/before-the-sale backup completed: Backup velero/before-the-sale-1 is complete: 0 errors, 0 warnings, <n> items, kept until <time>',
  'demo: shop/back-to-before restore completed: Restore velero/back-to-before-1 of Backup before-the-sale-1 is complete: 0 errors, 0 warnings, <n> items',
];
