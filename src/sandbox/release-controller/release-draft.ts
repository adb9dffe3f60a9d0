import type { HelmRelease, HelmReleaseStatus } from '../../resources/flux-helm-release.ts';
import type { ReleaseRecord } from './decide-action.ts';
import { FluxCondition, type StatusDraft } from './flux-status.ts';
import type { Snapshot } from './release-history.ts';

/** Fields of helm-controller's status beyond those that others read. */
export interface ReleaseStatus extends HelmReleaseStatus {
  history?: Snapshot[];
  lastAttemptedRevisionDigest?: string;
  lastAttemptedConfigDigest?: string;
  lastAttemptedReleaseActionDuration?: string;
  lastHandledForceAt?: string;
  lastHandledResetAt?: string;
}

export type ReleaseDraft = StatusDraft<ReleaseStatus>;

/** Helm's action runs, or the controller works towards one. */
export const PROGRESSING = 'Progressing';
export const PROGRESSING_WITH_RETRY = 'ProgressingWithRetry';

export function recordOf({ status }: ReleaseDraft): ReleaseRecord {
  return {
    history: status.history ?? [],
    lastAction: status.lastAttemptedReleaseAction,
    installFailures: status.installFailures ?? 0,
    upgradeFailures: status.upgradeFailures ?? 0,
  };
}

export function markReconciling(draft: ReleaseDraft, reason: string, message: string): void {
  draft.clear(FluxCondition.Stalled);
  draft.set(FluxCondition.Reconciling, { status: 'True', reason, message });
}

/** Ready says what the last remediation, else the last release, came to. A remediated release is never Ready. */
export function summarize(draft: ReleaseDraft): void {
  const remediated = draft.condition(FluxCondition.Remediated);
  const decisive = remediated ?? draft.condition(FluxCondition.Released);
  if (decisive === undefined) return;
  const status = remediated === undefined ? decisive.status : 'False';
  if (status === 'True') draft.clear(FluxCondition.Stalled);
  draft.set(FluxCondition.Ready, { status, reason: decisive.reason ?? '', message: decisive.message ?? '' });
}

export function clearFailures(draft: ReleaseDraft): void {
  delete draft.status.failures;
  delete draft.status.installFailures;
  delete draft.status.upgradeFailures;
}

export function releaseNameOf(release: HelmRelease): { readonly name: string; readonly namespace: string } {
  const { releaseName, targetNamespace } = release.spec;
  const { name, namespace = 'default' } = release.metadata;
  const prefix = targetNamespace === undefined ? '' : `${targetNamespace}-`;
  // Helm allows 53 characters.
  return { name: releaseName ?? `${prefix}${name}`.slice(0, 53), namespace: targetNamespace ?? namespace };
}
