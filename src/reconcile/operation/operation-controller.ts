import type { Reporter } from '../../events/report/reporter.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { Condition } from '../../protocol/condition.ts';
import { setCondition } from '../../resources/conditions.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import type { Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ClusterPolicy } from '../../policy/cluster-policy.ts';
import type { Inventory } from '../inventory.ts';
import { isDenied } from '../../kube/read-failure.ts';
import { checkOperation } from '../../policy/check-operation.ts';
import { refusalText } from '../../policy/policy-violation.ts';
import type { ClusterEventRecorder } from '../application-instance/instance-pass.ts';
import { sourceIsStale } from '../stale-source.ts';
import { sourceOf } from '../status-source.ts';
import type { ToldSources } from '../told-sources.ts';
import type { UnwrittenStatus } from '../unwritten-status.ts';
import type { Watched } from '../watched.ts';
import { writesArePaused } from '../write-checks.ts';
import { writeStatus, type StatusDraft } from '../write-status.ts';

export interface OperationDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly policy: () => ClusterPolicy;
  readonly unwritten: UnwrittenStatus;
  readonly told?: ToldSources;
  readonly recorder?: ClusterEventRecorder;
}

/** The kinds that an operation is judged by. */
export interface OperationWatches {
  readonly operations: Watched<Operation>;
  readonly namespaces: Watched<KubeObject>;
}

/**
 * Blocks what the cluster's policy does not allow, and says of every other operation that this version does not run it, so
 * that its intent does not hang without a word.
 */
export async function reconcileOperation(
  deps: OperationDeps,
  { operations, namespaces }: OperationWatches,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const operation = await operations.get(namespace, name, signal);
  if (operation === undefined || operation.metadata.deletionTimestamp !== undefined) return;
  const policy = deps.policy();
  const inside = await namespaces.get(undefined, namespace, signal);
  const pause = writesArePaused(policy, inside, operation);
  if (policy.paused) return;
  const now = deps.clock.now();
  const observedGeneration = operation.metadata.generation ?? 0;
  const save = async (conditions: readonly Condition[], rest: Readonly<Record<string, unknown>>): Promise<void> => {
    const draft = { conditions, source: sourceOf(operation, deps.inventory, policy), rest };
    await saveStatus(deps, operations, operation, draft, signal);
  };
  const before = operation.status?.conditions ?? [];
  if (pause !== undefined) {
    const { reason, message } = pause;
    await save(
      setCondition(before, { type: 'Accepted', status: 'Unknown', reason, message, observedGeneration }, now),
      {},
    );
    return;
  }
  const stale = sourceIsStale(operation, deps.inventory, policy);
  if (stale !== undefined) {
    const finding = { reason: Reason.StaleSource, message: stale.message, observedGeneration };
    const accepted = { type: 'Accepted', status: 'False', ...finding } as const;
    const blocked = { type: 'Blocked', status: 'True', ...finding } as const;
    const isKnown = before.some(({ reason }) => reason === Reason.StaleSource);
    if (!isKnown) {
      deps.recorder?.record(operation, { type: 'Warning', reason: finding.reason, message: finding.message });
    }
    await save(setCondition(setCondition(before, accepted, now), blocked, now), { phase: 'Blocked' });
    return;
  }
  const violations = await checkOperation(operation, { namespace: inside, policy, now });
  const [first] = violations;
  const finding = {
    reason: first?.reason ?? Reason.TemplateNotSupported,
    message: first === undefined ? operationIsNotRun(operation) : refusalText(violations),
    observedGeneration,
  };
  const accepted = { type: 'Accepted', status: 'False', ...finding } as const;
  const blocked = { type: 'Blocked', status: 'True', ...finding } as const;
  await save(setCondition(setCondition(before, accepted, now), blocked, now), { phase: 'Blocked' });
}

/** Where the rights are missing the control plane alone is told. */
async function saveStatus(
  deps: OperationDeps,
  operations: Watched<Operation>,
  operation: Operation,
  draft: StatusDraft,
  signal: AbortSignal,
): Promise<void> {
  try {
    const written = await writeStatus(deps, operation, draft, signal);
    deps.unwritten.written(operation, draft);
    if (written !== undefined) operations.note(written);
  } catch (error) {
    if (!isDenied(error)) throw error;
    deps.unwritten.tell(operation, draft);
  }
}

/** What is said of an operation that is allowed. */
export function operationIsNotRun({ spec }: Pick<Operation, 'spec'>): string {
  return `this operator version does not run operations (template ${spec.template})`;
}
