import type { AdminClient } from '../../src/cli/admin-client.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { INTENT_ID_ANNOTATION } from '../../src/resources/labels.ts';
import type { Progress, Step } from './progress.ts';

/** What `GET /api/v1/intents/{id}` answers, the part that is shown. */
export interface IntentView {
  readonly id: string;
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly receipt?: { readonly commit?: string };
  readonly acceptedAt: string;
  readonly deliveredAt?: string;
  readonly appliedAt?: string;
  readonly readyAt?: string;
}

/** What the cluster itself shows of the instance while the intent is on its way. */
export interface ClusterView {
  /** Tree id of the cluster's directory that the operator applied last. */
  readonly appliedRevision: string | undefined;
  readonly instance: KubeObject | undefined;
  readonly release: KubeObject | undefined;
}

export interface FollowDeps {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly progress: Progress;
  /** Watched, not asked: answers from memory at once. */
  readonly cluster: () => ClusterView;
  readonly timeoutMs: number;
}

const FINAL: ReadonlySet<string> = new Set(['ready', 'failed', 'removed', 'superseded']);

/**
 * Shows each step of an accepted intent as it is seen, until the control plane knows how it ended.
 * Times of commit and Ready are the control plane's own; the cluster's steps are timed when the watch tells them.
 */
export async function followIntent(deps: FollowDeps, id: string): Promise<IntentView> {
  const { admin, clock, progress } = deps;
  const seen = new Set<Step>();
  const revisionBefore = deps.cluster().appliedRevision;
  const versionBefore = releaseVersion(deps.cluster().release);
  let accepted = Number.NaN;
  const since = (time: Date): number => Math.max(0, time.getTime() - accepted);
  const show = (step: Step, ms: number, detail?: string): void => {
    if (seen.has(step)) return;
    seen.add(step);
    progress.step(step, ms, detail);
  };
  const deadline = clock.now().getTime() + deps.timeoutMs;
  for (;;) {
    const intent = await admin.call<IntentView>('GET', `/intents/${id}`);
    accepted = Date.parse(intent.acceptedAt);
    show('accepted', 0, intent.id);
    if (intent.deliveredAt !== undefined) {
      show('committed', since(new Date(intent.deliveredAt)), intent.receipt?.commit?.slice(0, 12));
      const { appliedRevision, instance, release } = deps.cluster();
      const gone =
        intent.action === 'uninstall' && (instance === undefined || instance.metadata.deletionTimestamp !== undefined);
      const arrived = gone || instance?.metadata.annotations?.[INTENT_ID_ANNOTATION] === id;
      if (arrived || appliedRevision !== revisionBefore)
        show('synced', since(clock.now()), appliedRevision?.slice(0, 12));
      if (arrived) show('applied', since(clock.now()), `${intent.namespace}/${intent.name}`);
      const version = releaseVersion(release);
      if (arrived && version !== versionBefore) show('released', since(clock.now()), version ?? 'release gone');
      if (FINAL.has(intent.state)) {
        const at = intent.readyAt === undefined ? clock.now() : new Date(intent.readyAt);
        show('reported', since(at), intent.state);
        return intent;
      }
    }
    if (clock.now().getTime() > deadline) {
      throw new Error(
        `intent ${id} is still ${intent.state} after ${deps.timeoutMs} ms${intent.reason === undefined ? '' : `: ${intent.reason}`}`,
      );
    }
    await clock.sleep(10);
  }
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
