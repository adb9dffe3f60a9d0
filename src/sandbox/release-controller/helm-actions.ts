import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ShelfChart } from './chart-shelf.ts';
import type { Values } from './chart-values.ts';
import { applyDeployment, deleteDeployment, findDrift, renderDeployment, renderDigest } from './deployed-object.ts';
import type { FluxEvents } from './flux-events.ts';
import { FluxCondition } from './flux-status.ts';
import { goDuration, milliseconds } from './go-duration.ts';
import { markReconciling, PROGRESSING, summarize, type ReleaseDraft } from './release-draft.ts';
import { desiredOf, fullReleaseName, recordRelease, versionedChartName } from './release-history.ts';
import type { DesiredRelease, Snapshot } from './release-history.ts';
import type { ReleaseStorage } from './release-storage.ts';

/** How long Helm's actions take, in milliseconds. */
export interface ActionTiming {
  readonly installMs: number;
  readonly upgradeMs: number;
  readonly uninstallMs: number;
}

export interface ActionDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly events: FluxEvents;
  readonly timing: ActionTiming;
  readonly storage: ReleaseStorage;
}

/** All that one pass over a HelmRelease works with. */
export interface ReleasePass {
  readonly release: HelmRelease;
  readonly draft: ReleaseDraft;
  readonly chart: ShelfChart;
  readonly values: Values;
  readonly desired: DesiredRelease;
}

/** helm-controller's reasons on Released and Remediated, by what was done. */
const REASONS = {
  install: { succeeded: 'InstallSucceeded', failed: 'InstallFailed' },
  upgrade: { succeeded: 'UpgradeSucceeded', failed: 'UpgradeFailed' },
} as const;

/** Installs or upgrades, and records in the draft how that went. Throws only when the API server could not be asked. */
export async function runRelease(
  deps: ActionDeps,
  action: 'install' | 'upgrade',
  pass: ReleasePass,
  signal: AbortSignal,
): Promise<void> {
  const { draft, desired, release } = pass;
  const timeout = release.spec[action]?.timeout ?? release.spec.timeout ?? '5m0s';
  const running = `Running '${action}' action with timeout of ${goDuration(milliseconds(timeout))}`;
  markReconciling(draft, PROGRESSING, running);
  draft.set(FluxCondition.Ready, { status: 'Unknown', reason: PROGRESSING, message: running });
  draft.status.lastAttemptedReleaseAction = action;
  await draft.write(signal);

  const took = action === 'install' ? deps.timing.installMs : deps.timing.upgradeMs;
  if (took > 0) await deps.clock.sleep(took, signal);
  draft.clear(FluxCondition.Remediated);
  draft.status.lastAttemptedReleaseActionDuration = goDuration(took);
  const rendered = renderDeployment(release, desired, pass.values);
  const refused = pass.chart.validate(desired.name, pass.values) ?? (await refusal(deps, rendered, signal));
  const state = refused === undefined ? 'deployed' : 'failed';
  deps.storage.put(desired.configDigest, pass.values);
  const at = { now: draft.now(), digest: renderDigest(rendered) };
  const history = recordRelease(draft.status.history ?? [], desired, state, at);
  draft.status.history = history;
  if (refused === undefined) {
    const [latest] = history;
    const message = `Helm ${action} succeeded for release ${fullReleaseName(latest as Snapshot)} with chart ${versionedChartName(desired)}`;
    draft.set(FluxCondition.Released, { status: 'True', reason: REASONS[action].succeeded, message });
    deps.events.record(release, { type: 'Normal', reason: REASONS[action].succeeded, message });
  } else {
    const message = `Helm ${action} failed for release ${desired.namespace}/${desired.name} with chart ${versionedChartName(desired)}: ${refused}`;
    draft.set(FluxCondition.Released, { status: 'False', reason: REASONS[action].failed, message });
    deps.events.record(release, { type: 'Warning', reason: REASONS[action].failed, message });
    const counter = `${action}Failures` as const;
    draft.status.failures = (draft.status.failures ?? 0) + 1;
    draft.status[counter] = (draft.status[counter] ?? 0) + 1;
  }
  summarize(draft);
}

/** Puts the release before back, as a release of its own. */
export async function runRollback(
  deps: ActionDeps,
  to: Snapshot,
  pass: ReleasePass,
  signal: AbortSignal,
): Promise<void> {
  const { draft, release } = pass;
  markReconciling(draft, PROGRESSING, `Running 'rollback' action with timeout of ${timeoutOf(release)}`);
  await draft.write(signal);
  if (deps.timing.upgradeMs > 0) await deps.clock.sleep(deps.timing.upgradeMs, signal);
  const desired = desiredOf(to);
  const values = deps.storage.get(to.configDigest);
  await applyDeployment(deps.api, renderDeployment(release, desired, values), signal);
  const at = { now: draft.now(), digest: to.digest };
  draft.status.history = recordRelease(draft.status.history ?? [], desired, 'deployed', at);
  const message = `Helm rollback to previous release ${fullReleaseName(to)} with chart ${versionedChartName(to)} succeeded`;
  draft.set(FluxCondition.Remediated, { status: 'True', reason: 'RollbackSucceeded', message });
  deps.events.record(release, { type: 'Normal', reason: 'RollbackSucceeded', message });
  summarize(draft);
}

export async function runUninstallRemediation(deps: ActionDeps, pass: ReleasePass, signal: AbortSignal): Promise<void> {
  const { draft, release } = pass;
  markReconciling(draft, PROGRESSING, `Running 'uninstall' action with timeout of ${timeoutOf(release)}`);
  await draft.write(signal);
  const latest = await uninstall(deps, draft, signal);
  if (latest === undefined) return;
  const message = `Helm uninstall remediation for release ${fullReleaseName(latest)} with chart ${versionedChartName(latest)} succeeded`;
  draft.set(FluxCondition.Remediated, { status: 'True', reason: 'UninstallSucceeded', message });
  deps.events.record(release, { type: 'Normal', reason: 'UninstallSucceeded', message });
  summarize(draft);
}

/** Takes the release out of the cluster; undefined when there was none. */
export async function uninstall(
  deps: ActionDeps,
  draft: ReleaseDraft,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  const [latest, ...earlier] = draft.status.history ?? [];
  if (latest === undefined || latest.status === 'uninstalled') return undefined;
  if (deps.timing.uninstallMs > 0) {
    draft.status.history = [{ ...latest, status: 'uninstalling' }, ...earlier];
    await draft.write(signal);
    await deps.clock.sleep(deps.timing.uninstallMs, signal);
  }
  await deleteDeployment(deps.api, { name: latest.name, namespace: latest.namespace }, signal);
  const gone: Snapshot = { ...latest, status: 'uninstalled', deleted: draft.now() };
  draft.status.history = [gone, ...earlier];
  return gone;
}

/** Reports what changed behind the release's back, and in mode `enabled` puts it right; answers whether it is not right after. */
export async function checkDrift(deps: ActionDeps, pass: ReleasePass, signal: AbortSignal): Promise<boolean> {
  const { draft, release, desired, values } = pass;
  const { mode = 'disabled', ignore } = release.spec.driftDetection ?? {};
  const [latest] = draft.status.history ?? [];
  if (mode === 'disabled' || latest === undefined) return false;
  const drift = await findDrift(deps.api, renderDeployment(release, desired, values), ignore, signal);
  if (drift === undefined) return false;
  const name = fullReleaseName(latest);
  deps.events.record(release, {
    type: 'Warning',
    reason: 'DriftDetected',
    message: `Cluster state of release ${name} has drifted from the desired state:\n${drift.summary}`,
  });
  if (mode === 'warn') return false;
  const action = `Running 'correct cluster drift' action with timeout of ${timeoutOf(release)}`;
  markReconciling(draft, PROGRESSING, action);
  draft.set(FluxCondition.Ready, { status: 'Unknown', reason: PROGRESSING, message: 'correcting cluster drift' });
  await draft.write(signal);
  const refused = await refusal(deps, drift.object, signal);
  const { kind, metadata } = drift.object;
  deps.events.record(
    release,
    refused === undefined
      ? {
          type: 'Normal',
          reason: 'DriftCorrected',
          message: `Cluster state of release ${name} has been corrected:\n${kind}/${metadata.namespace ?? ''}/${metadata.name} configured`,
        }
      : {
          type: 'Warning',
          reason: 'DriftCorrectionFailed',
          message: `Failed to correct cluster state of release ${name}:\n${refused}`,
        },
  );
  return refused !== undefined;
}

/** Applies; a refusal is Helm's error text, an API server that cannot answer is thrown and tried again. */
async function refusal(
  deps: ActionDeps,
  rendered: Parameters<typeof applyDeployment>[1],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await applyDeployment(deps.api, rendered, signal);
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && !error.retryable) return error.message;
    throw error;
  }
}

function timeoutOf(release: HelmRelease): string {
  return goDuration(milliseconds(release.spec.timeout ?? '5m0s'));
}
