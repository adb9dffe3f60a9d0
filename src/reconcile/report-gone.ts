import type { Tombstone } from '../intent/rendered.ts';
import { setCondition } from '../resources/conditions.ts';
import { Reason } from '../resources/reasons.ts';
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
  const now = clock.now();
  inventory.remember({ ...ref, epoch, generation, at: now.toISOString(), reportedFor: intentId });
  reporter?.statusChanged({
    ref: lastUid === undefined ? ref : { ...ref, uid: lastUid },
    before: [],
    after: setCondition(
      [],
      left === undefined
        ? { type: 'Ready', status: 'False', reason: Reason.Uninstalled, message: 'the object is not in the cluster' }
        : {
            type: 'Ready',
            status: 'False',
            reason: Reason.Orphaned,
            message: `the object is not in the cluster any more; ${left}`,
          },
      now,
    ),
    source: {
      mode: pass.policy.mode,
      epoch,
      ...(pass.revision === undefined ? {} : { revision: pass.revision }),
      intentId,
      generation,
    },
  });
}
