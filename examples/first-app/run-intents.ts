import { figuresOf, type Figures } from './figures.ts';
import { readGit, type GitView } from './git-view.ts';
import { silentProgress } from './progress.ts';
import type { Stage } from './stage.ts';
import { expectedState, takeIntent, type IntentRequest, type IntentResult, type TakeDeps } from './take-intent.ts';

/** Events travel in batches of 1 s by default; the demo shortens that and measures the default beside it. */
const DEMO_BATCH_MS = 20;
const DEFAULT_BATCH_MS = 1000;
/** Updates of one more application, for figures that rest on more than the example's few intents. */
const SAMPLES = 10;
const SAMPLES_WITH_DEFAULTS = 3;

export interface DemoResult {
  readonly json: {
    readonly ok: boolean;
    readonly cluster: { readonly id: string; readonly mode: string };
    readonly intents: readonly IntentResult[];
    /** In gitops mode. */
    readonly git?: { readonly commits: number; readonly path: string };
    /** In pull mode: how many of the cluster's jobs ended how. */
    readonly jobs?: Readonly<Record<string, number>>;
    /** About this cluster. */
    readonly audit: { readonly entries: number };
    /** Of the example's intents and the samples together, with what they were measured with. */
    readonly measured: {
      readonly releaseControllerMs: number;
      readonly eventBatchMs: number;
      readonly acceptedToDeliveredMs: Figures | null;
      readonly acceptedToReadyMs: Figures | null;
      readonly withDefaults: { readonly eventBatchMs: number; readonly acceptedToReadyMs: Figures | null };
    };
  };
  readonly git: GitView | undefined;
}

export interface RunDeps extends TakeDeps {
  readonly requests: readonly IntentRequest[];
  /** Uninstall at the end what was installed for the figures: the cluster is somebody's own. */
  readonly tidyUp: boolean;
}

/** Takes the example's intents one after the other, then the samples, and gathers what became of them. */
export async function runIntents(deps: RunDeps): Promise<DemoResult> {
  const { stage, progress } = deps;
  const quiet = { ...deps, progress: silentProgress };
  let asExpected = true;
  const take = async (how: TakeDeps, request: IntentRequest): Promise<IntentResult> => {
    const outcome = await takeIntent(how, request);
    asExpected &&= outcome.state === expectedState(request);
    return outcome;
  };

  await setBatch(stage, DEMO_BATCH_MS);
  const intents: IntentResult[] = [];
  for (const request of deps.requests) intents.push(await take(deps, request));

  progress.note(
    `\nFor the figures, shop/sample is installed and updated ${SAMPLES} times, then ${SAMPLES_WITH_DEFAULTS} times with the default event batches …`,
  );
  const samples: IntentResult[] = [];
  for (let index = 0; index <= SAMPLES; index += 1) samples.push(await take(quiet, sample(index)));
  await setBatch(stage, DEFAULT_BATCH_MS);
  const compared: IntentResult[] = [];
  for (let index = 1; index <= SAMPLES_WITH_DEFAULTS; index += 1)
    compared.push(await take(quiet, sample(SAMPLES + index)));
  if (deps.tidyUp) await take(deps, { action: 'uninstall', namespace: 'shop', name: 'sample' });

  const git = stage.mode === 'gitops' ? await readGit(stage) : undefined;
  const jobs = stage.mode === 'pull' ? await countJobs(stage) : undefined;
  const audit = await stage.admin.call<{ items: readonly unknown[] }>(
    'GET',
    `/audit?cluster=${stage.clusterId}&limit=200`,
  );
  const cluster = await stage.admin.call<{ connectivityMode: string }>('GET', `/clusters/${stage.clusterId}`);
  const all = [...intents, ...samples];
  const json: DemoResult['json'] = {
    ok: asExpected,
    cluster: { id: stage.clusterId, mode: cluster.connectivityMode },
    intents,
    ...(git === undefined ? {} : { git: { commits: git.commits, path: git.path } }),
    ...(jobs === undefined ? {} : { jobs }),
    audit: { entries: audit.items.length },
    measured: {
      releaseControllerMs: 0,
      eventBatchMs: DEMO_BATCH_MS,
      acceptedToDeliveredMs: figuresOf(all.map((intent) => intent.acceptedToDeliveredMs)),
      acceptedToReadyMs: figuresOf(all.map((intent) => intent.acceptedToReadyMs)),
      withDefaults: {
        eventBatchMs: DEFAULT_BATCH_MS,
        acceptedToReadyMs: figuresOf(compared.map((intent) => intent.acceptedToReadyMs)),
      },
    },
  };
  return { json, git };
}

function sample(index: number): IntentRequest {
  return {
    action: index === 0 ? 'install' : 'update',
    namespace: 'shop',
    name: 'sample',
    catalogEntry: 'podinfo',
    chartVersion: index % 2 === 0 ? '6.5.0' : '6.6.1',
  };
}

/** The cluster's jobs by their outcome; those that are still open by their state. */
async function countJobs(stage: Stage): Promise<Record<string, number>> {
  const { items } = await stage.admin.call<{ items: readonly { state: string; outcome?: string }[] }>(
    'GET',
    `/clusters/${stage.clusterId}/jobs?limit=200`,
  );
  const counts: Record<string, number> = {};
  for (const { state, outcome = state } of items) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

async function setBatch(stage: Stage, eventBatchMs: number): Promise<void> {
  await stage.admin.call('PATCH', `/clusters/${stage.clusterId}`, { intervals: { eventBatchMs } });
}
