import { AdminApiError } from '../../src/cli/admin-client.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { watchCluster } from './cluster-view.ts';
import { followIntent, type IntentView } from './follow-intent.ts';
import type { Progress } from './progress.ts';
import type { Stage } from './stage.ts';

export interface IntentRequest {
  readonly action: string;
  readonly namespace: string;
  readonly name: string;
  readonly catalogEntry?: string;
  readonly chartVersion?: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface IntentResult {
  readonly id: string;
  readonly action: string;
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  /** In gitops mode. */
  readonly commit: string | null;
  /** In pull mode. */
  readonly jobId: string | null;
  /** Until the remote held the commit, or the job was in the cluster's queue. */
  readonly acceptedToDeliveredMs: number | null;
  /** Until the control plane saw Ready; null for an intent that never becomes Ready (a failed one, an uninstall). */
  readonly acceptedToReadyMs: number | null;
}

export interface TakeDeps {
  readonly stage: Stage;
  readonly progress: Progress;
  readonly clock: Clock;
}

/** Asks for one intent and follows it to its end. */
export async function takeIntent(deps: TakeDeps, request: IntentRequest): Promise<IntentResult> {
  const { stage, progress, clock } = deps;
  progress.begin(titleOf(request));
  await using cluster = await watchCluster(stage, request);
  const before = cluster.view();
  let accepted: { id: string };
  try {
    accepted = await stage.admin.call('POST', `/clusters/${stage.clusterId}/intents`, request);
  } catch (fault) {
    if (fault instanceof AdminApiError) progress.end(`refused: ${fault.message}`, false);
    throw fault;
  }
  const intent = await followIntent(
    { admin: stage.admin, mode: stage.mode, clock, progress, cluster: cluster.view, before, timeoutMs: 30_000 },
    accepted.id,
  );
  const expected = expectedState(request);
  const reason = intent.reason === undefined ? '' : `: ${intent.reason}`;
  const meant = expected === 'failed' ? ', as it had to' : '';
  progress.end(
    `${intent.state}${intent.state === expected ? meant : `, not ${expected}`}${reason}`,
    intent.state === expected,
  );
  return resultOf(intent);
}

/** The example's third intent is wrong on purpose: the cluster must refuse it. */
export function expectedState(request: IntentRequest): string {
  if (request.action === 'uninstall') return 'removed';
  return replicas(request) < 0 ? 'failed' : 'ready';
}

function replicas(request: IntentRequest): number {
  return Number(request.values?.['replicaCount'] ?? 1);
}

function titleOf(request: IntentRequest): string {
  const version = request.chartVersion === undefined ? '' : ` ${request.chartVersion}`;
  const wrong =
    replicas(request) < 0 ? ` with replicaCount ${replicas(request)}, a mistake on purpose: it must fail` : '';
  return `${request.action} ${request.namespace}/${request.name}${version}${wrong}`;
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
    jobId: intent.receipt?.jobId ?? null,
    acceptedToDeliveredMs: since(intent.deliveredAt),
    acceptedToReadyMs: since(intent.readyAt),
  };
}
