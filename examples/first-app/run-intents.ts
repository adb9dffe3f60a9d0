import { AdminApiError } from '../../src/cli/admin-client.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { watchCluster } from './cluster-view.ts';
import { followIntent, type IntentView } from './follow-intent.ts';
import { readGit, type GitView } from './git-view.ts';
import type { Progress } from './progress.ts';
import type { Stage } from './stage.ts';

/** Events travel in batches of 1 s by default; the demo shortens that and measures the default beside it. */
const DEMO_BATCH_MS = 20;
const DEFAULT_BATCH_MS = 1000;

export interface IntentRequest {
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly chartVersion?: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface IntentResult {
  readonly id: string;
  readonly action: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly commit: string | null;
  readonly acceptedToCommitMs: number | null;
  /** Until the control plane saw Ready; null for an intent that never becomes Ready (a failed one, an uninstall). */
  readonly acceptedToReadyMs: number | null;
}

export interface DemoResult {
  readonly json: {
    readonly ok: boolean;
    readonly cluster: { readonly id: string; readonly mode: string };
    readonly intents: readonly IntentResult[];
    readonly git: { readonly commits: number; readonly path: string };
    readonly audit: { readonly entries: number };
    /** What the figures were measured with, and one more install with the default batches. */
    readonly measured: {
      readonly releaseControllerMs: number;
      readonly eventBatchMs: number;
      readonly acceptedToCommitP50Ms: number | null;
      readonly acceptedToReadyP50Ms: number | null;
      readonly withDefaults: { readonly eventBatchMs: number; readonly acceptedToReadyMs: number | null };
    };
  };
  readonly git: GitView;
}

export interface RunDeps {
  readonly stage: Stage;
  readonly progress: Progress;
  readonly clock: Clock;
  readonly requests: readonly IntentRequest[];
  /** Uninstall at the end what the comparison installed: the cluster is somebody's own. */
  readonly tidyUp: boolean;
}

/** Takes the intents one after the other and gathers what became of them. */
export async function runIntents(deps: RunDeps): Promise<DemoResult> {
  const { stage, progress } = deps;
  await setBatch(stage, DEMO_BATCH_MS);
  const intents: IntentResult[] = [];
  let asExpected = true;
  for (const request of deps.requests) {
    const outcome = await takeIntent(deps, request, titleOf(request));
    asExpected &&= outcome.state === expectedState(request);
    intents.push(outcome);
  }
  await setBatch(stage, DEFAULT_BATCH_MS);
  const [install] = deps.requests;
  progress.note(`\nOnce more with the default event batches of ${DEFAULT_BATCH_MS} ms, for comparison:`);
  const compared = install === undefined ? undefined : await takeIntent(deps, install, titleOf(install));
  if (deps.tidyUp && install !== undefined) {
    const { namespace, name } = install;
    await takeIntent(
      deps,
      { action: 'uninstall', namespace, name },
      `uninstall ${namespace}/${name}, to leave nothing behind`,
    );
  }

  const git = await readGit(stage);
  const audit = await stage.admin.call<{ items: readonly unknown[] }>(
    'GET',
    `/audit?cluster=${stage.clusterId}&limit=200`,
  );
  const cluster = await stage.admin.call<{ connectivityMode: string }>('GET', `/clusters/${stage.clusterId}`);
  const json: DemoResult['json'] = {
    ok: asExpected && compared?.state === 'ready',
    cluster: { id: stage.clusterId, mode: cluster.connectivityMode },
    intents,
    git: { commits: git.commits, path: git.path },
    audit: { entries: audit.items.length },
    measured: {
      releaseControllerMs: 0,
      eventBatchMs: DEMO_BATCH_MS,
      acceptedToCommitP50Ms: median(intents.map((intent) => intent.acceptedToCommitMs)),
      acceptedToReadyP50Ms: median(intents.map((intent) => intent.acceptedToReadyMs)),
      withDefaults: { eventBatchMs: DEFAULT_BATCH_MS, acceptedToReadyMs: compared?.acceptedToReadyMs ?? null },
    },
  };
  return { json, git };
}

async function takeIntent(deps: RunDeps, request: IntentRequest, title: string): Promise<IntentResult> {
  const { stage, progress, clock } = deps;
  progress.begin(title);
  await using cluster = await watchCluster(stage, request);
  let accepted: { id: string };
  try {
    accepted = await stage.admin.call('POST', `/clusters/${stage.clusterId}/intents`, request);
  } catch (fault) {
    if (fault instanceof AdminApiError) progress.end(`refused: ${fault.message}`, false);
    throw fault;
  }
  const intent = await followIntent(
    { admin: stage.admin, clock, progress, cluster: cluster.view, timeoutMs: 30_000 },
    accepted.id,
  );
  const reason = intent.reason === undefined ? '' : `: ${intent.reason}`;
  progress.end(`${intent.state}${reason}`, intent.state === expectedState(request));
  return resultOf(intent);
}

/** The example's third intent is wrong on purpose: the cluster must refuse it. */
function expectedState(request: IntentRequest): string {
  if (request.action === 'uninstall') return 'removed';
  return Number(request.values?.['replicaCount'] ?? 0) < 0 ? 'failed' : 'ready';
}

function titleOf(request: IntentRequest): string {
  const version = request.chartVersion === undefined ? '' : ` ${request.chartVersion}`;
  return `${request.action} ${request.namespace}/${request.name}${version}`;
}

function resultOf(intent: IntentView): IntentResult {
  const since = (at: string | undefined): number | null =>
    at === undefined ? null : Date.parse(at) - Date.parse(intent.acceptedAt);
  return {
    id: intent.id,
    action: intent.action,
    name: `${intent.namespace}/${intent.name}`,
    state: intent.state,
    ...(intent.reason === undefined ? {} : { reason: intent.reason }),
    commit: intent.receipt?.commit ?? null,
    acceptedToCommitMs: since(intent.deliveredAt),
    acceptedToReadyMs: since(intent.readyAt),
  };
}

async function setBatch(stage: Stage, eventBatchMs: number): Promise<void> {
  await stage.admin.call('PATCH', `/clusters/${stage.clusterId}`, { intervals: { eventBatchMs } });
}

function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return known[Math.floor((known.length - 1) / 2)] ?? null;
}
