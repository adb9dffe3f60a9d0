import type { AdminClient } from '../../src/cli/admin-client.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { INTENT_ID_ANNOTATION } from '../../src/resources/labels.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { STEPS, type DemoMode, type Progress, type Step } from './progress.ts';

/** What `GET /api/v1/intents/{id}` answers, the part that is shown. */
export interface IntentView {
  readonly id: string;
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly receipt?: { readonly commit?: string; readonly jobId?: string };
  readonly acceptedAt: string;
  readonly deliveredAt?: string;
  readonly readyAt?: string;
}

/** What the cluster itself shows, watched and not asked for: answered from memory at once. */
export interface ClusterView {
  /** Tree id of the cluster's directory that the operator read last (`Cluster.status.attemptedRevision`). */
  readonly attemptedRevision: string | undefined;
  readonly instance: KubeObject | undefined;
  readonly release: KubeObject | undefined;
}

export interface FollowDeps {
  readonly admin: AdminClient;
  readonly mode: DemoMode;
  readonly clock: Clock;
  readonly progress: Progress;
  readonly cluster: () => ClusterView;
  /** The cluster as it was before the intent was accepted. */
  readonly before: ClusterView;
  readonly timeoutMs: number;
}

interface Sight {
  readonly at: number;
  readonly detail?: string;
}

const FINAL: ReadonlySet<string> = new Set(['ready', 'failed', 'removed', 'superseded']);

/**
 * Shows each step of an accepted intent, until the control plane knows how it ended. Delivery and Ready are timed by the
 * control plane; what happens in the cluster by when the watch told it, to about 10 ms. A step is shown once it and all
 * before it were seen, so a line may come later than its time says, never with another step's time.
 */
export async function followIntent(deps: FollowDeps, id: string): Promise<IntentView> {
  const { admin, clock } = deps;
  const seen = new Map<Step, Sight>();
  const see = (step: Step, at: number, detail?: string): void => {
    if (!seen.has(step)) seen.set(step, detail === undefined ? { at } : { at, detail });
  };
  const shown = new Set<Step>();
  const deadline = clock.now().getTime() + deps.timeoutMs;
  for (;;) {
    const intent = await admin.call<IntentView>('GET', `/intents/${id}`);
    const now = clock.now().getTime();
    look(deps, intent, now, see);
    const ended = FINAL.has(intent.state);
    if (ended) see('reported', intent.readyAt === undefined ? now : Date.parse(intent.readyAt), intent.state);
    const accepted = Date.parse(intent.acceptedAt);
    for (const step of STEPS[deps.mode]) {
      const sight = seen.get(step);
      // At the end a step that was never seen is left out, and said by its absence.
      if (sight === undefined && !ended) break;
      if (sight === undefined || shown.has(step)) continue;
      shown.add(step);
      deps.progress.step(step, Math.max(0, sight.at - accepted), sight.detail);
    }
    if (ended) return intent;
    if (now > deadline) {
      const why = intent.reason === undefined ? '' : `: ${intent.reason}`;
      throw new Error(`intent ${id} is still ${intent.state} after ${deps.timeoutMs} ms${why}`);
    }
    await clock.sleep(10);
  }
}

function look(
  { cluster, before, mode }: FollowDeps,
  intent: IntentView,
  now: number,
  see: (step: Step, at: number, detail?: string) => void,
): void {
  see('accepted', Date.parse(intent.acceptedAt), intent.id);
  if (intent.deliveredAt !== undefined) {
    const at = Date.parse(intent.deliveredAt);
    if (mode === 'pull') see('queued', at, `job ${intent.receipt?.jobId}`);
    else see('committed', at, `commit ${intent.receipt?.commit?.slice(0, 12)}`);
  }
  const { attemptedRevision, instance, release } = cluster();
  if (attemptedRevision !== undefined && attemptedRevision !== before.attemptedRevision) {
    see('synced', now, `directory tree ${attemptedRevision.slice(0, 12)}`);
  }
  const ending = instance === undefined || instance.metadata.deletionTimestamp !== undefined;
  const arrived =
    intent.action === 'uninstall'
      ? before.instance !== undefined && ending
      : instance?.metadata.annotations?.[INTENT_ID_ANNOTATION] === intent.id;
  if (arrived) see('applied', now, `${intent.namespace}/${intent.name}`);
  const version = releaseVersion(release);
  if (version !== releaseVersion(before.release)) see('released', now, version ?? 'release gone');
}

interface ReleaseStatus {
  readonly history?: readonly { readonly chartVersion?: string; readonly version?: number; readonly status?: string }[];
}

/** The newest entry of the release's history, as Helm numbers it. */
function releaseVersion(release: KubeObject | undefined): string | undefined {
  const [latest] = (release?.['status'] as ReleaseStatus | undefined)?.history ?? [];
  if (latest === undefined) return undefined;
  return `release ${latest.version ?? '?'}, chart ${latest.chartVersion?.split('+')[0] ?? '?'}, ${latest.status ?? '?'}`;
}
