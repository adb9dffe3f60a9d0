import type { Tombstone } from '../intent/rendered.ts';
import { Reason } from '../resources/reasons.ts';
import { endOf } from './ends-to-repeat.ts';
import type { DeletedRecord } from './inventory-record.ts';
import { leftOverOf } from './left-over.ts';
import type { Pass } from './pass.ts';

/**
 * An uninstall whose object is not there has nobody left to report it: the controller reports the end of an object that it
 * sees go, but the object may never have existed, or have ended while nobody watched. So the intent does not hang, it is
 * reported here, once for each tombstone. Where somebody deleted an instance by hand first, what was made of it is named.
 *
 * @throws KubeError
 */
export async function reportGone(pass: Pass, tombstone: Tombstone, signal: AbortSignal): Promise<void> {
  const { inventory, reporter, clock } = pass.deps;
  const { apiVersion, kind, namespace, name, uid, intentId, epoch, generation } = tombstone;
  const ref = { apiVersion, kind, namespace, name };
  const known = inventory.deleted(ref);
  if (known?.reportedFor === intentId && inventory.find(ref) === undefined) return;
  const left = await leftOverOf(pass, ref, signal);
  const lastUid = uid ?? inventory.find(ref)?.uid;
  const at = clock.now().toISOString();
  const told =
    left === undefined
      ? { reason: Reason.Uninstalled, message: 'the object is not in the cluster' }
      : { reason: Reason.Orphaned, message: shortened(`the object is not in the cluster any more; ${left}`) };
  const record: DeletedRecord = {
    ...ref,
    epoch,
    generation,
    at,
    reportedFor: intentId,
    told: { ...told, at, ...(lastUid === undefined ? {} : { uid: lastUid }) },
  };
  inventory.remember(record);
  const end = endOf(record, pass.policy.mode);
  const { revision } = pass;
  reporter?.statusChanged(revision === undefined ? end : { ...end, source: { ...end.source, revision } });
}

function shortened(message: string): string {
  return message.slice(0, 2000).toWellFormed();
}
