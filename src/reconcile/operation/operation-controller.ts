import type { Reporter } from '../../events/report/reporter.ts';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { isDenied } from '../../kube/read-failure.ts';
import type { WorkResult } from '../../kube/work-queue.ts';
import { BUILT_IN_TEMPLATES } from '../../operation-templates/built-in-templates.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { ClusterEventRecorder } from '../application-instance/instance-pass.ts';
import type { InventorySaver } from '../inventory-saver.ts';
import type { Inventory } from '../inventory.ts';
import { namespacesElsewhere } from '../namespaces-elsewhere.ts';
import { sourceOf } from '../status-source.ts';
import { withdrawApprovals, type ApprovalMemory } from '../take-approval.ts';
import type { ToldSources } from '../told-sources.ts';
import type { UnwrittenStatus } from '../unwritten-status.ts';
import type { Watched } from '../watched.ts';
import { writesArePaused } from '../write-checks.ts';
import { writeStatus, type StatusDraft } from '../write-status.ts';
import { clearAway } from './clear-away.ts';
import { hadBegun } from './has-run-before.ts';
import { judgeStart } from './judge-start.ts';
import { keepOutput } from './keep-output.ts';
import { noteBegun } from './known-runs.ts';
import { isAsWritten, withSeal } from './operation-seal.ts';
import { winningCondition, type NextStatus } from './operation-status.ts';
import { asPlanned, deadlineOf, standingOf, type RunPlan } from './operation-standing.ts';
import { passOperation, type OperationEffects, type RunningStanding } from './pass-operation.ts';
import type { OperationRun, TemplateRunner } from './template-runner.ts';

export interface OperationDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly saver: Pick<InventorySaver, 'saved'>;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly policy: () => ClusterPolicy;
  readonly unwritten: UnwrittenStatus;
  /** The cluster's private keys, the current one first; undefined until they are read, and nothing begins before. */
  readonly keyRing?: () => readonly Secret[] | undefined;
  /** What this operator can run. */
  readonly runners: readonly TemplateRunner[];
  readonly told?: ToldSources;
  readonly recorder?: ClusterEventRecorder;
  /** Whether the control plane has taken all that was said of the object (default: it has). */
  readonly isReported?: (operation: Operation) => boolean;
  /** Where it is written down that an approval is used; absent: nobody remembers. */
  readonly approvals?: ApprovalMemory;
}

/** The kinds that an operation is judged by. */
export interface OperationWatches {
  readonly operations: Watched<Operation>;
  readonly namespaces: Watched<KubeObject>;
}

/** The status could not be written for want of rights; the control plane was told. */
class StatusNotWritten extends Error {}

/** Longest wait until a namespace that is not known yet is asked for again. */
const UNKNOWN_NAMESPACE_MS = 5000;
/** The cluster's keys are read when the operator starts. */
const KEYS_RETRY_MS = 1000;

/**
 * One pass over one operation: as far as it goes now. What it needs to know of earlier passes stands in the status, so a
 * pass that is cut off anywhere, or made by another operator, goes on with the same try.
 */
export async function reconcileOperation(
  deps: OperationDeps,
  watches: OperationWatches,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<WorkResult> {
  const { operations, namespaces } = watches;
  const operation = await operations.get(namespace, name, signal);
  // Deleted while it ran: what it owns goes with it, which is all that could be stopped.
  if (operation === undefined || operation.metadata.deletionTimestamp !== undefined) return {};
  const policy = deps.policy();
  const inside = await namespaces.get(undefined, namespace, signal);
  const standing = standingOf(operation);
  if (policy.paused && standing.kind !== 'running') return {};
  if (inside === undefined && standing.kind === 'running') return { requeueAfterMs: UNKNOWN_NAMESPACE_MS };
  const ring = deps.keyRing?.() ?? [];
  if (ring.length === 0 && standing.kind !== 'ended') return { requeueAfterMs: KEYS_RETRY_MS };
  const effects = effectsOf(deps, watches, { inside, policy, ring }, signal);
  const pause = writesArePaused(policy, inside, operation)?.message;
  try {
    const again = await passOperation(effects, operation, pause);
    return again === undefined ? {} : { requeueAfterMs: Math.max(1, again.getTime() - deps.clock.now().getTime()) };
  } catch (error) {
    if (!(error instanceof StatusNotWritten)) throw error;
    const wait = deps.unwritten.retryAfterMs(operation);
    return wait === undefined ? {} : { requeueAfterMs: wait };
  }
}

function effectsOf(
  deps: OperationDeps,
  { operations, namespaces }: OperationWatches,
  view: { readonly inside: KubeObject | undefined; readonly policy: ClusterPolicy; readonly ring: readonly Secret[] },
  signal: AbortSignal,
): OperationEffects {
  const { inside, policy, ring } = view;
  const { clusterId } = policy;
  const { api, clock, random, logger, keyRing } = deps;
  const runnerDeps = { api, logger, ...(keyRing === undefined ? {} : { keyRing }) };
  const runnerOf = (template: RunPlan['template']): TemplateRunner | undefined =>
    deps.runners.find((runner) => runner.name === template);
  const runner = ({ plan }: RunningStanding): TemplateRunner => {
    const found = runnerOf(plan.template);
    if (found === undefined) throw new Error(`this operator version cannot go on with template ${plan.template}`);
    return found;
  };
  const runOf = (operation: Operation, standing: RunningStanding): OperationRun => ({
    operation,
    parameters: standing.plan.parameters,
    attempt: standing.attempt,
    startedAt: standing.startedAt,
    deadline: deadlineOf(standing),
    namespace: inside ?? {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: operation.metadata.namespace ?? '' },
    },
    policy,
    now: clock.now(),
  });
  return {
    now: () => clock.now(),
    random,
    judge: async (operation, standing) => {
      const now = clock.now();
      const { approvals } = deps;
      const plannedRun = (plan: RunPlan): OperationRun =>
        runOf(operation, { kind: 'running', plan, attempt: 1, isBegun: false, startedAt: now, said: '', progress: '' });
      const memory = { memory: deps.inventory, ...(approvals === undefined ? {} : { approvals }) };
      const elsewhere = await namespacesElsewhere(namespaces, asPlanned(operation, standing), policy, signal);
      const situation = { namespace: inside, elsewhere, policy, now, runnerOf, runOf: plannedRun, ...memory };
      const verdict = await judgeStart(operation, standing, situation, signal);
      if (verdict.kind === 'may run' && standing.kind !== 'running') await noteBegun(deps, operation, signal);
      return verdict;
    },
    write: async (operation, next, ifDenied) => {
      const status = ring[0] === undefined ? next : withSeal(operation, next, clusterId, ring[0]);
      const told = { status, ...(ifDenied === undefined ? {} : { ifDenied }) };
      return await save(deps, operations, operation, told, signal);
    },
    hadBegun: (operation) => hadBegun(operation, deps.inventory),
    isOurs: (operation) => isAsWritten(operation, clusterId, ring),
    withdraw: async (operation) =>
      await withdrawApprovals(deps.approvals, operation, { policy, now: clock.now() }, signal),
    isAsSeen: async (operation) => {
      const live = await api.get(refOf(operation), signal);
      const { uid, resourceVersion } = operation.metadata;
      return live?.metadata.uid === uid && live?.metadata.resourceVersion === resourceVersion;
    },
    start: async (operation, standing) => await runner(standing).start(runnerDeps, runOf(operation, standing), signal),
    observe: async (operation, standing) =>
      await runner(standing).observe(runnerDeps, runOf(operation, standing), signal),
    stop: async (operation, standing) => await runner(standing).stop?.(runnerDeps, runOf(operation, standing), signal),
    isStoppable: (standing) => standing.kind === 'running' && runnerOf(standing.plan.template)?.stop !== undefined,
    isCancellable: (standing) =>
      standing.kind === 'running' && BUILT_IN_TEMPLATES[standing.plan.template].isCancellable,
    keepOutput: async (operation, text) => await keepOutput(api, operation, text, signal),
    remove: async (operation) => await clearAway(deps, operation, signal),
    isFault: (error) => error instanceof KubeError,
  };
}

/** Where the rights are missing the control plane alone is told, and nothing is done by what is not written down. */
async function save(
  deps: OperationDeps,
  operations: Watched<Operation>,
  operation: Operation,
  { status, ifDenied }: { readonly status: NextStatus; readonly ifDenied?: NextStatus },
  signal: AbortSignal,
): Promise<Operation> {
  const source = sourceOf(operation, deps.inventory, deps.policy());
  const draftOf = ({ conditions, ...rest }: NextStatus): StatusDraft => ({ conditions, source, rest, isAsSeen: true });
  const draft = draftOf(status);
  try {
    const written = await writeStatus(deps, operation, draft, signal);
    deps.unwritten.written(operation, draft);
    if (written === undefined) return operation;
    operations.note(written);
    record(deps, operation, status);
    return written;
  } catch (error) {
    if (!isDenied(error)) throw error;
    deps.unwritten.tell(operation, ifDenied === undefined ? draft : draftOf(ifDenied));
    throw new StatusNotWritten('the status cannot be written', { cause: error });
  }
}

/** Each transition is one event under `kubectl describe`. */
function record({ recorder }: OperationDeps, before: Operation, status: NextStatus): void {
  const { phase } = status;
  const now = winningCondition(status);
  const earlier = before.status?.conditions?.find(({ type }) => type === phase);
  if (now === undefined || (earlier?.status === 'True' && earlier.reason === now.reason)) return;
  const isGood = phase === 'Running' || phase === 'Succeeded' || phase === 'Cancelled';
  const isRetry = now.reason === 'OperationRetrying';
  recorder?.record(before, {
    type: isGood && !isRetry ? 'Normal' : 'Warning',
    reason: now.reason ?? now.type,
    message: now.message ?? '',
  });
}
