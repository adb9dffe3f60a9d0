import type { Static } from 'typebox';
import type { ReleaseReconcileParameters } from '../../../operation-templates/built-in/release.ts';
import { findCondition } from '../../../resources/conditions.ts';
import { FORCE_REQUEST_ANNOTATION, RECONCILE_REQUEST_ANNOTATION } from '../../../resources/flux-meta.ts';
import { RESET_REQUEST_ANNOTATION } from '../../../resources/flux-meta.ts';
import { refOf, type KubeObject } from '../../../resources/kube-object.ts';
import { Reason } from '../../../resources/reasons.ts';
import type { FailedTry, OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import { failedTry, finalFailure } from './refused-call.ts';
import {
  applicationOf,
  INSTANCE,
  isFailure,
  readApplication,
  releaseIsSuspended,
  writesAreStopped,
} from './release.ts';
import { targetIsElsewhere } from './target-is-elsewhere.ts';
import { targetIsNotApproved } from './target-is-not-approved.ts';
import { markOf, markOn, OPERATION_FIELD_MANAGER } from './workload-mark.ts';

/** On a HelmRelease: the operation that had it looked at last, as `<when it began> <its UID>`. */
export const LAST_RECONCILE_ANNOTATION = 'ops.service.io/last-reconcile';

/**
 * Has Flux look at a release now. The request is the operation's mark, so that a repeat asks nothing new, and Flux says which
 * request it has answered (`status.lastHandledReconcileAt`).
 */
export const releaseReconcileRunner: TemplateRunner = {
  name: 'release-reconcile',
  violations: (run) => targetIsElsewhere(run, INSTANCE.apiVersion),
  async start(deps, run, signal) {
    try {
      return await ask(deps, run, signal);
    } catch (error) {
      return failedTry(error, applicationOf(run).namespace);
    }
  },
  async observe(deps, run, signal) {
    try {
      return await answerOf(deps, run, signal);
    } catch (error) {
      return failedTry(error, applicationOf(run).namespace);
    }
  },
};

async function ask(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<FailedTry | undefined> {
  const found = await readApplication(deps, run, Reason.ReleaseNotReconciled, signal);
  if (isFailure(found)) return found;
  const { release, source } = found;
  const held =
    writesAreStopped(found, run) ??
    releaseIsSuspended(found, Reason.ReleaseNotReconciled) ??
    (await targetIsNotApproved(deps, found, run, signal));
  if (held !== undefined) return held;
  if (markOn(release, LAST_RECONCILE_ANNOTATION, run) !== 'before') return undefined;
  const { force = false, reset = false } = run.parameters as Static<typeof ReleaseReconcileParameters>;
  const request = markOf(run);
  // The chart first: a release whose chart could not be fetched waits for that.
  if (source !== undefined) await annotate(deps, source, { [RECONCILE_REQUEST_ANNOTATION]: request }, signal);
  const annotations = {
    [RECONCILE_REQUEST_ANNOTATION]: request,
    [LAST_RECONCILE_ANNOTATION]: request,
    ...(force ? { [FORCE_REQUEST_ANNOTATION]: request } : {}),
    ...(reset ? { [RESET_REQUEST_ANNOTATION]: request } : {}),
  };
  await annotate(deps, release, annotations, signal);
  return undefined;
}

async function annotate(
  { api }: RunnerDeps,
  object: KubeObject,
  annotations: Record<string, string>,
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { uid: object.metadata.uid, annotations } };
  await api.mergePatch(refOf(object), patch, { fieldManager: OPERATION_FIELD_MANAGER }, signal);
}

async function answerOf(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  const found = await readApplication(deps, run, Reason.ReleaseNotReconciled, signal);
  if (isFailure(found)) return found;
  const { release } = found;
  if (markOn(release, LAST_RECONCILE_ANNOTATION, run) === 'before') return { state: 'absent' };
  const named = `HelmRelease ${release.metadata.namespace ?? ''}/${release.metadata.name}`;
  const suspended = releaseIsSuspended(found, Reason.ReleaseNotReconciled);
  if (suspended !== undefined) return suspended;
  const { annotations = {}, generation } = release.metadata;
  const { lastHandledReconcileAt, conditions } = release.status ?? {};
  // Of a later request too, whoever made it: Flux has looked since.
  if (lastHandledReconcileAt !== annotations[RECONCILE_REQUEST_ANNOTATION]) {
    return { state: 'running', message: `waits until Flux looks at ${named}` };
  }
  const ready = findCondition(conditions, 'Ready');
  const isStalled = findCondition(conditions, 'Stalled')?.status === 'True';
  const isUnderWay = findCondition(conditions, 'Reconciling')?.status === 'True';
  const words = `${named}: ${ready?.message ?? ready?.reason ?? 'says nothing of itself yet'}`;
  const isAboutNow = ready?.observedGeneration === undefined || ready.observedGeneration === generation;
  if (ready?.status === 'True' && !isUnderWay && isAboutNow) {
    return { state: 'succeeded', reason: Reason.ReleaseReconciled, message: words, outputRef: refOf(release) };
  }
  if (ready?.status === 'False' && isAboutNow && (isStalled || !isUnderWay)) {
    return { ...finalFailure(Reason.ReleaseNotReconciled, words), outputRef: refOf(release) };
  }
  return { state: 'running', message: words };
}
