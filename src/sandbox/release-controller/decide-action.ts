import type { HelmReleaseSpec } from '../../resources/flux-helm-release.ts';
import { isInSync, previousRelease, type DesiredRelease, type Snapshot } from './release-history.ts';

/** What helm-controller does next with a release. */
export type ReleaseAction =
  | { readonly kind: 'none' }
  | { readonly kind: 'install' | 'upgrade' | 'uninstall-remediation' }
  | { readonly kind: 'rollback'; readonly to: Snapshot }
  | { readonly kind: 'stall'; readonly reason: string; readonly message: string };

/** The part of a HelmRelease's status that decides. */
export interface ReleaseRecord {
  readonly history: readonly Snapshot[];
  readonly lastAction: 'install' | 'upgrade' | undefined;
  readonly installFailures: number;
  readonly upgradeFailures: number;
}

/** Out of retries: a new spec, chart or values, or the reset annotation, starts anew. */
export const RETRIES_EXCEEDED = 'RetriesExceeded';
/** A failed upgrade has nothing to be rolled back to. */
export const MISSING_ROLLBACK_TARGET = 'MissingRollbackTarget';

/** Pure. `forced`: the force annotation asks for one more attempt, whatever the counters say. */
export function decideAction(
  spec: HelmReleaseSpec,
  record: ReleaseRecord,
  desired: DesiredRelease,
  forced: boolean,
): ReleaseAction {
  const latest = record.history[0];
  if (latest === undefined || latest.status === 'uninstalled') {
    return !forced && isExhausted('install', spec, record) ? outOfRetries('install', record) : { kind: 'install' };
  }
  if (latest.status === 'failed') return afterFailure(spec, record, forced);
  if (isInSync(latest, desired)) return forced ? { kind: 'upgrade' } : { kind: 'none' };
  return !forced && isExhausted('upgrade', spec, record) ? outOfRetries('upgrade', record) : { kind: 'upgrade' };
}

/** Whether the failures of the last attempt leave no further one. Retries below 0 never end. */
export function retriesAreExhausted(spec: HelmReleaseSpec, record: ReleaseRecord): boolean {
  return record.lastAction !== undefined && isExhausted(record.lastAction, spec, record);
}

export function outOfRetries(action: 'install' | 'upgrade', record: ReleaseRecord): ReleaseAction {
  const message = `Failed to ${action} after ${failuresOf(action, record)} attempt(s)`;
  return { kind: 'stall', reason: RETRIES_EXCEEDED, message };
}

function afterFailure(spec: HelmReleaseSpec, record: ReleaseRecord, forced: boolean): ReleaseAction {
  const action = record.lastAction;
  // No failure counted any more: what failed was changed since, so it is tried again.
  if (forced || action === undefined || failuresOf(action, record) === 0) return { kind: 'upgrade' };
  const remediation = action === 'install' ? spec.install?.remediation : spec.upgrade?.remediation;
  const remediateLast = remediation?.remediateLastFailure ?? (action === 'upgrade' && (remediation?.retries ?? 0) > 0);
  if (isExhausted(action, spec, record) && !remediateLast) return outOfRetries(action, record);
  if (action === 'install' || spec.upgrade?.remediation?.strategy === 'uninstall') {
    return { kind: 'uninstall-remediation' };
  }
  const to = previousRelease(record.history);
  if (to !== undefined) return { kind: 'rollback', to };
  const message = 'Failed to perform remediation: missing target release for rollback: cannot remediate failed release';
  return { kind: 'stall', reason: MISSING_ROLLBACK_TARGET, message };
}

function isExhausted(action: 'install' | 'upgrade', spec: HelmReleaseSpec, record: ReleaseRecord): boolean {
  const retries = (action === 'install' ? spec.install : spec.upgrade)?.remediation?.retries ?? 0;
  return retries >= 0 && failuresOf(action, record) > retries;
}

function failuresOf(action: 'install' | 'upgrade', record: ReleaseRecord): number {
  return action === 'install' ? record.installFailures : record.upgradeFailures;
}
