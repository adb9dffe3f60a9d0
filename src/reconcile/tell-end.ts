import type { ObjectRef } from '../resources/kube-object.ts';
import { Reason } from '../resources/reasons.ts';
import type { Pass } from './pass.ts';

/**
 * A manifest that is older than the end of its object comes from a control plane that does not know of that end, such as one
 * that was restored from a backup: it is told again. To one that knows it, it is the same event.
 */
export function tellEndAgain({ deps, policy }: Pass, ref: ObjectRef): void {
  const record = deps.inventory.deleted(ref);
  if (record === undefined) return;
  const { apiVersion, kind, namespace, name, epoch, generation, at, reportedFor: intentId } = record;
  const message = 'the object is not in the cluster';
  deps.reporter?.statusChanged({
    ref: { apiVersion, kind, namespace, name },
    before: [],
    after: [{ type: 'Ready', status: 'False', reason: Reason.Uninstalled, message, lastTransitionTime: at }],
    source: { mode: policy.mode, epoch, generation, ...(intentId === undefined ? {} : { intentId }) },
  });
}
