import { refOf } from '../../resources/kube-object.ts';
import type { Operation } from '../../resources/operation.ts';
import { pairOf } from '../source-pair.ts';
import type { SourceMemory } from '../stale-source.ts';

/**
 * Whether this very operation has begun before, as another object: whatever is delivered again, or restored from a copy or a
 * backup, it runs once. One that is known to have gone before it began may yet run. Answers what to say of it. Pure.
 */
export function hasRunBefore(operation: Operation, memory: SourceMemory): string | undefined {
  const pair = pairOf(operation);
  if (pair === undefined) return undefined;
  const { uid } = operation.metadata;
  const ref = refOf(operation);
  const gone = memory.deleted(ref);
  const isOther = gone?.uid !== undefined && gone.uid !== uid;
  const anew = 'it runs once; ask for it anew through the control plane, under another name';
  if (isOther && gone.generation >= pair.generation && gone.run !== 'never') {
    return `generation ${pair.generation} of this operation was here before and was deleted at ${gone.at}: ${anew}`;
  }
  const known = memory.find(ref);
  if (known?.run === undefined || known.uid === uid || known.generation < pair.generation) return undefined;
  return `generation ${pair.generation} of this operation was here before (uid ${known.uid}) and is gone: ${anew}`;
}

/** What a cancellation came too late for: the operation had begun as another object, which went. */
export function hadBegun(operation: Operation, memory: SourceMemory): string | undefined {
  const { uid } = operation.metadata;
  const ref = refOf(operation);
  if (pairOf(operation) === undefined) return undefined;
  const gone = memory.deleted(ref);
  const known = memory.find(ref);
  const wentBegun = gone !== undefined && gone.uid !== uid && gone.run !== undefined && gone.run !== 'never';
  const isBegun = known?.run !== undefined && known.uid !== uid;
  if (!wentBegun && !isBegun) return undefined;
  return 'it was cancelled too late: it had begun as an object that was deleted since; nothing was stopped, and what it had begun may go on';
}
