import { KubeError } from '../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../kube/kube-fault.ts';
import type { WorkResult } from '../../kube/work-queue.ts';
import { Reason } from '../../resources/reasons.ts';
import { isDenied, isLostRace } from '../../kube/read-failure.ts';
import { outcomeOfFailure } from '../kube-failure.ts';
import { observe, type InstanceDeps, type InstancePass, type InstanceWatches, type Step } from './instance-pass.ts';
import { leftovers } from './leftovers.ts';
import { saveVerdict } from './save-verdict.ts';
import { applyRollback } from './steps/apply-rollback.ts';
import { checkNamespace } from './steps/check-namespace.ts';
import { checkPaused } from './steps/check-paused.ts';
import { checkPolicy } from './steps/check-policy.ts';
import { checkRelease } from './steps/check-release.ts';
import { checkSource } from './steps/check-source.ts';
import { ensureChartSource } from './steps/ensure-chart-source.ts';
import { ensureFinalizer } from './steps/ensure-finalizer.ts';
import { ensureRelease } from './steps/ensure-release.ts';
import { ensureSealedValues } from './steps/ensure-sealed-values.ts';
import { finalize } from './steps/finalize.ts';
import { observeDownstream } from './steps/observe-downstream.ts';
import { observeRelease } from './steps/observe-release.ts';
import { pruneReplacedSource } from './steps/prune-replaced-source.ts';
import { pruneSealedSecret } from './steps/prune-sealed-secret.ts';
import { degraded, stalled, type Verdict } from './verdict.ts';

/** In this order; each goes on from where the ones before have brought the instance, or ends the pass. */
const STEPS: readonly Step[] = [
  checkPaused,
  checkNamespace,
  observeDownstream,
  finalize,
  checkSource,
  ensureFinalizer,
  applyRollback,
  checkPolicy,
  checkRelease,
  ensureSealedValues,
  ensureChartSource,
  ensureRelease,
  pruneReplacedSource,
  pruneSealedSecret,
  observeRelease,
];

const AFTER_LOST_RACE_MS = 50;
/** What a person mends is looked at again by itself, for what no watch tells of: rights, a webhook, a new kind. */
const AFTER_REFUSAL_MS = 15_000;

/**
 * One pass over one instance: observe, run the steps, write the status once. Level-triggered: it may be called at any
 * time, any number of times, and after a crash between any two requests.
 *
 * @throws KubeError that a later try may not meet
 */
export async function reconcileInstance(
  deps: InstanceDeps,
  watches: InstanceWatches,
  names: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<WorkResult> {
  const pass = await observe(deps, watches, names, signal);
  if (pass === undefined) return {};
  try {
    return await runSteps(pass);
  } catch (error) {
    if (isLostRace(error)) return { requeueAfterMs: AFTER_LOST_RACE_MS };
    if (isDenied(error)) watches.flux.doubt(names.namespace);
    const verdict = verdictOfFailure(error, pass);
    if (verdict === undefined) throw error;
    await saveVerdict(pass, verdict);
    return { requeueAfterMs: Math.max(AFTER_REFUSAL_MS, deps.unwritten.retryAfterMs(pass.instance) ?? 0) };
  }
}

async function runSteps(pass: InstancePass): Promise<WorkResult> {
  for (const step of STEPS) {
    const result = await step(pass);
    if (result.kind === 'next') continue;
    const saved = result.verdict === undefined ? undefined : await saveVerdict(pass, result.verdict);
    const retryMs = saved === 'refused' ? pass.deps.unwritten.retryAfterMs(pass.instance) : undefined;
    const waits = [result.requeueAfterMs, retryMs].filter((ms) => ms !== undefined);
    return waits.length === 0 ? {} : { requeueAfterMs: Math.min(...waits) };
  }
  return {};
}

/** What only a person can mend becomes a condition, that of a deletion with what is left; everything else is tried again by the queue. */
function verdictOfFailure(error: unknown, pass: InstancePass): Verdict | undefined {
  if (!(error instanceof KubeError) || error.retryable) return undefined;
  const namespace = pass.instance.metadata.namespace ?? '';
  if (error.reason === KIND_NOT_FOUND) {
    const message = `the cluster does not serve Flux' kinds; install Flux' source-controller and helm-controller (${error.message})`;
    return stalled(Reason.ReleaseControllerMissing, message);
  }
  if (error.status === 404) return undefined;
  const isEnding = pass.instance.metadata.deletionTimestamp !== undefined;
  const outcome = outcomeOfFailure(error, isEnding ? 'delete' : 'apply', namespace);
  const message = outcome.message + leftovers(pass);
  if (outcome.reason === Reason.NamespaceNotGranted) return stalled(Reason.NamespaceNotGranted, message);
  if (isEnding) return degraded(Reason.HelmReleaseUninstallFailed, message, { stalled: true });
  return degraded(Reason.ApplyFailed, message, { stalled: true });
}
