import type { ApplyLoop } from './apply-loop.ts';

/** The same loop for several sources: their passes follow each other and never overlap. */
export function serialApply(applyLoop: ApplyLoop): ApplyLoop {
  let last: Promise<unknown> = Promise.resolve();
  return {
    async apply(set, signal) {
      const turn = last.then(async () => {
        signal.throwIfAborted();
        return await applyLoop.apply(set, signal);
      });
      last = turn.catch(() => undefined);
      return await turn;
    },
  };
}
