import type { ApplyLoop } from './apply-loop.ts';
import type { DeliveryFence } from './delivery-fence.ts';

/** The same loop for several sources: their passes follow each other, never overlap, and end where the fence is raised. */
export function serialApply(applyLoop: ApplyLoop, fence: DeliveryFence): ApplyLoop {
  return {
    apply: async (set, signal) => await fence.pass(async (ended) => await applyLoop.apply(set, signal, ended), signal),
  };
}
