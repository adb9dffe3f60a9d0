/** What an outcome is about (specification, "Events": deploy, backup and credential-rotation outcomes). */
export type ChannelCategory = 'deploy' | 'backup' | 'credential';
export const CHANNEL_CATEGORIES = ['deploy', 'backup', 'credential'] as const satisfies readonly ChannelCategory[];

/**
 * Every condition reason that the discussion channel tells of, whatever the condition's type: its category, and what is
 * said of the object. The first three of deploy, all of backup and the one of credential are the specification's examples;
 * the others are how the same deploys end otherwise. What only delays a deploy is not an outcome.
 */
export const CHANNEL_REASONS: ReadonlyMap<string, { readonly category: ChannelCategory; readonly says: string }> =
  new Map([
    ['HelmReleaseReady', { category: 'deploy', says: 'is ready' }],
    ['HelmReleaseUpgraded', { category: 'deploy', says: 'was upgraded' }],
    ['HelmReleaseUpgradeFailed', { category: 'deploy', says: 'could not be upgraded' }],
    ['HelmReleaseInstallFailed', { category: 'deploy', says: 'could not be installed' }],
    ['HelmReleaseFailed', { category: 'deploy', says: 'failed' }],
    ['HelmReleaseRolledBack', { category: 'deploy', says: 'was rolled back' }],
    ['HelmReleaseTakenOut', { category: 'deploy', says: 'failed and was uninstalled' }],
    ['Uninstalled', { category: 'deploy', says: 'was uninstalled' }],
    ['HelmReleaseUninstallFailed', { category: 'deploy', says: 'could not be uninstalled' }],
    ['VeleroBackupCompleted', { category: 'backup', says: 'backup completed' }],
    ['VeleroRestoreCompleted', { category: 'backup', says: 'restore completed' }],
    ['VeleroBackupFailed', { category: 'backup', says: 'backup failed' }],
    ['VeleroRestoreFailed', { category: 'backup', says: 'restore failed' }],
    ['CredentialRotated', { category: 'credential', says: 'credential rotated' }],
  ]);
