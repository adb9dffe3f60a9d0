import type { Reporter } from '../../events/report/reporter.ts';
import type { ClusterApi } from '../../kube/cluster-api.ts';
import { setCondition } from '../../resources/conditions.ts';
import type { Operation } from '../../resources/operation.ts';
import { Reason } from '../../resources/reasons.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import type { Inventory } from '../inventory.ts';
import { sourceOf } from '../status-source.ts';
import type { Watched } from '../watched.ts';
import { writesArePaused } from '../write-checks.ts';
import { writeStatus } from '../write-status.ts';

export interface OperationDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly policy: () => ClusterPolicy;
}

/** Says of every operation that this version does not run it, so that its intent does not hang without a word. */
export async function reconcileOperation(
  deps: OperationDeps,
  operations: Watched<Operation>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const operation = await operations.get(namespace, name, signal);
  if (operation === undefined || operation.metadata.deletionTimestamp !== undefined) return;
  const policy = deps.policy();
  if (writesArePaused(policy, operation) !== undefined) return;
  const generation = operation.metadata.generation ?? 0;
  const finding = {
    reason: Reason.TemplateNotSupported,
    message: `this operator version does not run operations (template ${operation.spec.template})`,
    observedGeneration: generation,
  };
  const now = deps.clock.now();
  const accepted = { type: 'Accepted', status: 'False', ...finding } as const;
  const blocked = { type: 'Blocked', status: 'True', ...finding } as const;
  const conditions = setCondition(setCondition(operation.status?.conditions ?? [], accepted, now), blocked, now);
  const source = sourceOf(operation, deps.inventory, policy);
  const written = await writeStatus(deps, operation, { conditions, source, rest: { phase: 'Blocked' } }, signal);
  if (written !== undefined) operations.note(written);
}
