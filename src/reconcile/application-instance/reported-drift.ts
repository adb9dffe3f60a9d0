import { KubeError } from '../../kube/cluster-api.ts';
import { isDenied } from '../../kube/read-failure.ts';
import type { HelmRelease } from '../../resources/flux-helm-release.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { Reason } from '../../resources/reasons.ts';
import { RELEASE_INTERVAL_MS } from './desired-release.ts';
import type { InstancePass } from './instance-pass.ts';
import type { Finding } from './verdict.ts';

/** Flux writes drift that it only reports nowhere but in an event, which no watch of the release tells of. */
export const LOOK_FOR_DRIFT_MS = 5 * 60_000;
/** Flux reports what is still so at each of its intervals; after two without a word it is over. */
const SAID_WITHIN_MS = 2 * RELEASE_INTERVAL_MS + LOOK_FOR_DRIFT_MS;

/** helm-controller's reasons (`internal/reconcile/atomic_release.go`, `correct_cluster_drift.go`). */
const DRIFT_EVENTS: readonly string[] = ['DriftDetected', 'DriftCorrected', 'DriftCorrectionFailed'];

interface Report {
  readonly reason: string;
  readonly message: string;
  readonly at: number;
}

/** Whether drift is looked for at all. */
export function detectsDrift({ spec: { driftDetection = 'disabled', suspend } }: InstancePass['instance']): boolean {
  return driftDetection !== 'disabled' && suspend !== true;
}

/** What Flux last said of drift, as the condition `Drifted`; undefined where that cannot be asked just now: it stays as it was. */
export async function reportedDrift(pass: InstancePass, release: HelmRelease): Promise<Finding | undefined> {
  const mode = pass.instance.spec.driftDetection === 'enabled' ? 'enabled' : 'warn';
  const { name, namespace = '', uid } = release.metadata;
  const fieldSelector = `involvedObject.kind=${release.kind},involvedObject.name=${name}`;
  try {
    const { items } = await pass.deps.api.list<KubeObject>(
      { apiVersion: 'v1', kind: 'Event' },
      { namespace, fieldSelector },
      pass.signal,
    );
    const since = Date.parse(release.status?.history?.[0]?.lastDeployed ?? '') || 0;
    const reports = items.flatMap((event) => reportOf(event, uid)).filter(({ at }) => at >= since);
    return findingOf(reports, mode, pass.deps.clock.now().getTime());
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (!isDenied(error)) return undefined;
    const message = `the operator may not list events in namespace ${namespace}, which is where Flux reports drift; apply the operator's manifest again`;
    return { status: 'Unknown', reason: Reason.DriftNotVisible, message };
  }
}

/** Pure. A later release than the reports' is asked about before. */
export function findingOf(reports: readonly Report[], mode: 'enabled' | 'warn', now: number): Finding {
  // Of one second: what was done about it stands after it.
  const rank = ({ reason }: Report): number => DRIFT_EVENTS.indexOf(reason);
  const [last] = reports.toSorted((a, b) => b.at - a.at || rank(b) - rank(a));
  if (last === undefined || (last.reason === 'DriftDetected' && now - last.at > SAID_WITHIN_MS)) {
    return { status: 'False', reason: Reason.NoDrift, message: 'Flux reports no drift' };
  }
  if (last.reason === 'DriftCorrected')
    return { status: 'False', reason: Reason.DriftCorrected, message: last.message };
  const isCorrected = mode === 'enabled' && last.reason === 'DriftCorrectionFailed';
  return {
    status: 'True',
    reason: isCorrected ? Reason.DriftNotCorrected : Reason.DriftDetected,
    message: last.message,
  };
}

function reportOf(event: KubeObject, uid: string | undefined): Report[] {
  const { reason, message, involvedObject, lastTimestamp, eventTime } = event as KubeObject & {
    readonly reason?: string;
    readonly message?: string;
    readonly involvedObject?: { readonly uid?: string };
    readonly lastTimestamp?: string | null;
    readonly eventTime?: string | null;
  };
  if (reason === undefined || !DRIFT_EVENTS.includes(reason) || involvedObject?.uid !== uid) return [];
  const at = Date.parse(lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp ?? '');
  return Number.isNaN(at) ? [] : [{ reason, message: message ?? '', at }];
}
