import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { WorkResult } from '../../kube/work-queue.ts';
import { findCondition } from '../../resources/conditions.ts';
import { HELM_RELEASE, type HelmRelease } from '../../resources/flux-helm-release.ts';
import {
  FORCE_REQUEST_ANNOTATION,
  RECONCILE_REQUEST_ANNOTATION,
  RESET_REQUEST_ANNOTATION,
} from '../../resources/flux-meta.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { ChartShelf } from './chart-shelf.ts';
import { chartValues, configDigest, ValuesError } from './chart-values.ts';
import { decideAction, outOfRetries, retriesAreExhausted } from './decide-action.ts';
import { deleteDeployment, HELM_FIELD_MANAGER } from './deployed-object.ts';
import { addFinalizer, hasFinalizer, removeFinalizer } from './finalizer.ts';
import { FluxCondition, StatusDraft } from './flux-status.ts';
import { milliseconds } from './go-duration.ts';
import { checkDrift, runRelease, runRollback, runUninstallRemediation, uninstall } from './helm-actions.ts';
import type { ActionDeps, ReleasePass } from './helm-actions.ts';
import { clearFailures, markReconciling, PROGRESSING, PROGRESSING_WITH_RETRY, recordOf } from './release-draft.ts';
import { releaseNameOf, summarize, type ReleaseDraft, type ReleaseStatus } from './release-draft.ts';
import { fullReleaseName, truncateHistory, versionedChartName } from './release-history.ts';
import { releaseSource } from './release-source.ts';

/** A HelmRelease that this one depends on is not there, or not ready at its generation. */
export const DEPENDENCY_NOT_READY = 'DependencyNotReady';
/** A Secret or ConfigMap of `valuesFrom` cannot be used. */
export const VALUES_ERROR = 'ValuesError';

const RETRY_WAIT = { minMs: 20, maxMs: 30_000 };
const REQUEUE_DEPENDENCY_MS = 30_000;

export interface ReleaseDeps extends ActionDeps {
  readonly api: ClusterApi;
  readonly charts: ChartShelf;
  readonly random: () => number;
}

/**
 * Behaves towards one HelmRelease as helm-controller does, seen from its status:
 *
 *     prerequisites ──► install | upgrade ──ok──► in sync (Ready)
 *      (dependencies,          │ failed
 *       source, values)        ├── retries left ──► rollback | uninstall ──► again
 *                              └── none left ─────► Stalled (RetriesExceeded)
 */
export async function reconcileRelease(
  deps: ReleaseDeps,
  name: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<WorkResult> {
  const release = await deps.api.get<HelmRelease>({ ...HELM_RELEASE, ...name }, signal);
  if (release === undefined) return {};
  const { api, clock } = deps;
  const draft = new StatusDraft<ReleaseStatus>({ api, clock, fieldManager: HELM_FIELD_MANAGER, object: release });
  if (release.metadata.deletionTimestamp !== undefined) {
    if (hasFinalizer(release)) await finalize(deps, release, draft, signal);
    return {};
  }
  if (!hasFinalizer(release)) await addFinalizer(deps.api, release, HELM_FIELD_MANAGER, signal);
  if (release.spec.suspend === true) {
    // A suspended release answers, and nothing else is done.
    noteRequest(release, draft);
    await draft.write(signal);
    return {};
  }

  const pass = await preparePass(deps, release, draft, signal);
  if ('reason' in pass) {
    const { reason, message } = pass;
    if (draft.condition(FluxCondition.Ready)?.message !== message) {
      deps.events.record(release, { type: 'Warning', reason, message });
    }
    markReconciling(draft, PROGRESSING, 'Fulfilling prerequisites');
    draft.set(FluxCondition.Ready, { status: 'False', reason, message });
    noteRequest(release, draft);
    await draft.write(signal);
    return { requeueAfterMs: Math.min(REQUEUE_DEPENDENCY_MS, intervalOf(release)) };
  }
  await beginAttempt(deps, pass, signal);
  return settle(deps, pass, signal);
}

async function settle(deps: ReleaseDeps, pass: ReleasePass, signal: AbortSignal): Promise<WorkResult> {
  const { draft, desired, release } = pass;
  let forced = takeRequest(release, draft, FORCE_REQUEST_ANNOTATION, 'lastHandledForceAt');
  for (let released = false; ; released = true) {
    const action = decideAction(release.spec, recordOf(draft), desired, forced);
    forced = false;
    switch (action.kind) {
      case 'none':
        // What cannot be corrected is tried again, and Ready stays Unknown until it is.
        if (!released && (await checkDrift(deps, pass, signal))) return retry(deps, release, draft, signal);
        inSync(draft);
        await finish(release, draft, signal);
        return { requeueAfterMs: intervalOf(release) };
      case 'stall':
        draft.stall(action.reason, action.message);
        await finish(release, draft, signal);
        return {};
      case 'install':
      case 'upgrade':
        // One release a pass: a second one in a row is a retry, and waits.
        if (released) return retry(deps, release, draft, signal);
        await runRelease(deps, action.kind, pass, signal);
        break;
      case 'rollback':
      case 'uninstall-remediation': {
        if (action.kind === 'rollback') await runRollback(deps, action.to, pass, signal);
        else await runUninstallRemediation(deps, pass, signal);
        const record = recordOf(draft);
        if (!retriesAreExhausted(release.spec, record)) return retry(deps, release, draft, signal);
        const end = outOfRetries(record.lastAction ?? 'upgrade', record);
        if (end.kind === 'stall') draft.stall(end.reason, end.message);
        await finish(release, draft, signal);
        return {};
      }
    }
  }
}

/** Dependencies, source and values, or the first of them that is missing. */
async function preparePass(
  deps: ReleaseDeps,
  release: HelmRelease,
  draft: ReleaseDraft,
  signal: AbortSignal,
): Promise<ReleasePass | { readonly reason: string; readonly message: string }> {
  const blocked = await unmetDependency(deps.api, release, signal);
  if (blocked !== undefined) return { reason: DEPENDENCY_NOT_READY, message: blocked };
  const source = await releaseSource(deps.api, deps.charts, release, signal);
  if (source.state === 'waiting') return source;
  try {
    const values = await chartValues(deps.api, release.metadata.namespace ?? '', release.spec, signal);
    const { chart, chartVersion, ociDigest } = source;
    const desired = {
      ...releaseNameOf(release),
      chartName: chart.name,
      chartVersion,
      appVersion: chart.appVersion,
      configDigest: configDigest(values),
      ...(ociDigest === undefined ? {} : { ociDigest }),
    };
    return { release, draft, chart, values, desired };
  } catch (error) {
    if (error instanceof ValuesError) return { reason: VALUES_ERROR, message: error.message };
    throw error;
  }
}

async function unmetDependency(
  api: ClusterApi,
  release: HelmRelease,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { name, namespace = release.metadata.namespace ?? '' } of release.spec.dependsOn ?? []) {
    const other = await api.get<HelmRelease>({ ...HELM_RELEASE, namespace, name }, signal);
    if (other === undefined) {
      const missing = `HelmRelease.helm.toolkit.fluxcd.io "${name}" not found`;
      return `unable to get '${namespace}/${name}' dependency: ${missing}`;
    }
    const ready = findCondition(other.status?.conditions, FluxCondition.Ready)?.status === 'True';
    if (!ready || other.status?.observedGeneration !== other.metadata.generation) {
      return `dependency '${namespace}/${name}' is not ready`;
    }
  }
  return undefined;
}

/** Writes down what is attempted, and forgets failures of another attempt. */
async function beginAttempt(deps: ReleaseDeps, pass: ReleasePass, signal: AbortSignal): Promise<void> {
  const { draft, desired, release } = pass;
  const { status } = draft;
  const [latest] = status.history ?? [];
  if (latest !== undefined && (latest.name !== desired.name || latest.namespace !== desired.namespace)) {
    // Another release name or namespace is another release: the old one goes first.
    await deleteDeployment(deps.api, { name: latest.name, namespace: latest.namespace }, signal);
    status.history = [];
    clearFailures(draft);
  }
  const isReset = takeRequest(release, draft, RESET_REQUEST_ANNOTATION, 'lastHandledResetAt');
  const changed =
    status.lastAttemptedGeneration !== draft.generation ||
    status.lastAttemptedRevision !== desired.chartVersion ||
    status.lastAttemptedConfigDigest !== desired.configDigest;
  if (changed || isReset) clearFailures(draft);
  status.storageNamespace = release.spec.storageNamespace ?? release.metadata.namespace ?? 'default';
  status.lastAttemptedGeneration = draft.generation;
  status.lastAttemptedRevision = desired.chartVersion;
  status.lastAttemptedConfigDigest = desired.configDigest;
  if (desired.ociDigest === undefined) delete status.lastAttemptedRevisionDigest;
  else status.lastAttemptedRevisionDigest = desired.ociDigest;
}

/** Once for each token, and only with the request that carries the same one (helm-controller, `api/v2/annotations.go`). */
function takeRequest(
  release: HelmRelease,
  draft: ReleaseDraft,
  annotation: string,
  handled: 'lastHandledForceAt' | 'lastHandledResetAt',
): boolean {
  const token = release.metadata.annotations?.[annotation];
  if (token === undefined) return false;
  const isNew = token !== draft.status[handled] && token !== draft.status.lastHandledReconcileAt;
  draft.status[handled] = token;
  return isNew && token === release.metadata.annotations?.[RECONCILE_REQUEST_ANNOTATION];
}

/** With the last write of a pass, as helm-controller does: whoever sees it sees how the pass came out. */
function noteRequest(release: HelmRelease, draft: ReleaseDraft): void {
  const requested = release.metadata.annotations?.[RECONCILE_REQUEST_ANNOTATION];
  if (requested !== undefined) draft.status.lastHandledReconcileAt = requested;
}

function inSync(draft: ReleaseDraft): void {
  const history = truncateHistory(draft.status.history ?? []);
  draft.status.history = history;
  const [latest] = history;
  if (latest !== undefined && draft.isTrue(FluxCondition.Remediated)) {
    // Rolled back to just what is now asked for.
    draft.clear(FluxCondition.Remediated);
    const message = `Helm upgrade succeeded for release ${fullReleaseName(latest)} with chart ${versionedChartName(latest)}`;
    draft.set(FluxCondition.Released, { status: 'True', reason: 'UpgradeSucceeded', message });
  }
  draft.clear(FluxCondition.Reconciling);
  summarize(draft);
}

async function finish(release: HelmRelease, draft: ReleaseDraft, signal: AbortSignal): Promise<void> {
  draft.status.observedGeneration = draft.generation;
  noteRequest(release, draft);
  await draft.write(signal);
}

async function retry(
  deps: ReleaseDeps,
  release: HelmRelease,
  draft: ReleaseDraft,
  signal: AbortSignal,
): Promise<WorkResult> {
  noteRequest(release, draft);
  markReconciling(draft, PROGRESSING_WITH_RETRY, draft.condition(FluxCondition.Ready)?.message ?? '');
  await draft.write(signal);
  return { requeueAfterMs: backoffMs(RETRY_WAIT, draft.status.failures ?? 1, deps.random) };
}

/** Uninstalls, unless suspended, and lets the object go. */
async function finalize(
  deps: ReleaseDeps,
  release: HelmRelease,
  draft: ReleaseDraft,
  signal: AbortSignal,
): Promise<void> {
  const latest = release.spec.suspend === true ? undefined : await uninstall(deps, draft, signal);
  if (latest !== undefined) {
    const message = `Helm uninstall succeeded for release ${fullReleaseName(latest)} with chart ${versionedChartName(latest)}`;
    deps.events.record(release, { type: 'Normal', reason: 'UninstallSucceeded', message });
  }
  await removeFinalizer(deps.api, draft.object, HELM_FIELD_MANAGER, signal);
}

function intervalOf(release: HelmRelease): number {
  return Math.max(1_000, milliseconds(release.spec.interval));
}
