import type { ObjectRef } from '../resources/kube-object.ts';
import { endOf } from './ends-to-repeat.ts';
import type { Pass } from './pass.ts';

/**
 * A manifest that is older than the end of its object comes from a control plane that does not know of that end, such as one
 * that was restored from a backup: it is told again. To one that knows it, it is the same event.
 */
export function tellEndAgain({ deps, policy }: Pass, ref: ObjectRef): void {
  const record = deps.inventory.deleted(ref);
  if (record === undefined) return;
  deps.reporter?.statusChanged(endOf(record, policy.mode));
}
