import { isOperatorMark, withdrawMark } from '../kube/withdraw-mark.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER } from '../resources/labels.ts';
import type { ClusterPolicy } from '../policy/cluster-policy.ts';
import type { Inventory } from './inventory.ts';
import type { Pass } from './pass.ts';
import { labelIsMissing, writesArePaused } from './write-checks.ts';

/**
 * The operator's mark is on it, and no delete of its own is known to have gone through: a process ended in between, or the
 * mark was left by one that did and a person deleted the object since. What Git wants says which: the next pass over it
 * either carries the removal out or takes the mark off. A mark of push mode leaves no such doubt: it stands for an uninstall
 * that was accepted.
 */
export function markIsUnclear(
  object: KubeObject,
  { inventory, policy }: { readonly inventory: Inventory; readonly policy: Pick<ClusterPolicy, 'mode'> },
): boolean {
  const isKnown = inventory.find(refOf(object))?.uid === object.metadata.uid;
  return policy.mode === 'gitops' && isKnown && isOperatorMark(object);
}

/**
 * Takes a mark of the operator off an object whose end its source, as it is in this very delivery epoch, does not want: a
 * crash between mark and delete left it there, and it would make an uninstall of a later deletion by hand. Off an object that
 * is being deleted only where its finalizer waits for that word. What push mode marked is left to whoever writes next.
 * Answers the object as it stands then.
 *
 * @throws KubeError
 */
export async function withoutMark(
  pass: Pass,
  live: KubeObject | undefined,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (live === undefined || !isOperatorMark(live)) return live;
  const ref = refOf(live);
  const { policy } = pass;
  const { inventory, api } = pass.deps;
  const { namespace: name = '', uid } = live.metadata;
  // Where a delete went through the record has ended, and the mark stays.
  if (inventory.find(ref)?.uid !== uid || !pass.mayRead(ref)) return live;
  const namespace = await pass.namespace(name, signal);
  if ((writesArePaused(policy, namespace, live) ?? labelIsMissing(name, namespace)) !== undefined) return live;
  const isUnclear = (object: KubeObject): boolean => markIsUnclear(object, { inventory, policy });
  return await withdrawMark(api, live, META_FIELD_MANAGER, signal, isUnclear);
}
