import { withdrawalPatch, withdrawMark } from '../kube/withdraw-mark.ts';
import { refOf, type KubeObject } from '../resources/kube-object.ts';
import { META_FIELD_MANAGER } from '../resources/labels.ts';
import type { Pass } from './pass.ts';
import { labelIsMissing, writesArePaused } from './write-checks.ts';

/**
 * Takes a mark of ours off an object whose end nobody wants any more: a crash between mark and delete left it there, and
 * it would make an uninstall of a later deletion by hand. Where a delete went through the record has ended, and it stays.
 * Answers the object as it stands then.
 *
 * @throws KubeError
 */
export async function withoutMark(
  pass: Pass,
  live: KubeObject | undefined,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  if (live === undefined || withdrawalPatch(live) === undefined) return live;
  const ref = refOf(live);
  const { namespace: name = '', uid } = live.metadata;
  if (pass.deps.inventory.find(ref)?.uid !== uid || !pass.mayRead(ref)) return live;
  const namespace = await pass.namespace(name, signal);
  if ((writesArePaused(pass.policy, namespace, live) ?? labelIsMissing(name, namespace)) !== undefined) return live;
  return await withdrawMark(pass.deps.api, live, META_FIELD_MANAGER, signal);
}
