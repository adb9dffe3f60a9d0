import type { ClusterApi } from '../../kube/cluster-api.ts';
import { isLostRace } from '../../kube/read-failure.ts';
import { knownPairOf } from '../../resources/known-pair.ts';
import { refOf } from '../../resources/kube-object.ts';
import type { Operation } from '../../resources/operation.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Inventory } from '../inventory.ts';
import type { InventorySaver } from '../inventory-saver.ts';

export interface ClearAwayDeps {
  readonly api: ClusterApi;
  readonly inventory: Inventory;
  readonly saver: Pick<InventorySaver, 'saved'>;
  readonly clock: Clock;
  /** Whether the control plane has taken all that was said of the object (default: it has). */
  readonly isReported?: (operation: Operation) => boolean;
}

const ASK_AGAIN_MS = 1000;

/**
 * Deletes an operation whose time after its end is over; what it owns (its output, its Job) goes with it. Not before its
 * end was told, and never without a memory of it: a manifest that is delivered again must not run a second time.
 *
 * @returns when to look again
 * @throws KubeError
 */
export async function clearAway(
  deps: ClearAwayDeps,
  operation: Operation,
  signal: AbortSignal,
): Promise<Date | undefined> {
  const { inventory, saver, clock, api } = deps;
  const again = new Date(clock.now().getTime() + ASK_AGAIN_MS);
  if (deps.isReported?.(operation) === false) return again;
  const { namespace, uid, resourceVersion } = operation.metadata;
  const ref = refOf(operation);
  const pair = knownPairOf(operation);
  if (pair !== undefined && namespace !== undefined) {
    const { epoch, generation } = pair;
    const went = uid === undefined ? {} : { uid };
    const known = inventory.deleted(ref);
    if (known?.uid !== uid || known?.generation !== generation || known.run !== 'ended') {
      inventory.remember({
        ...ref,
        namespace,
        epoch,
        generation,
        at: clock.now().toISOString(),
        ...went,
        run: 'ended',
      });
    }
    await saver.saved(signal);
  }
  try {
    const asSeen = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    await api.delete(ref, { ...asSeen, propagationPolicy: 'Background' }, signal);
    return undefined;
  } catch (error) {
    // Paused or kept for longer meanwhile, or another of that name: it is judged anew.
    if (!isLostRace(error)) throw error;
    return again;
  }
}
