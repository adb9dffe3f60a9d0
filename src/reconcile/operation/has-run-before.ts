import { refOf } from '../../resources/kube-object.ts';
import type { Operation } from '../../resources/operation.ts';
import { pairOf } from '../source-pair.ts';
import type { SourceMemory } from '../stale-source.ts';

/**
 * Whether this very operation was here before, as another object, and went: whatever is delivered again or restored from a
 * backup, it runs once. Answers what to say of it. Pure.
 */
export function hasRunBefore(operation: Operation, memory: SourceMemory): string | undefined {
  const pair = pairOf(operation);
  const gone = memory.deleted(refOf(operation));
  const { uid } = operation.metadata;
  if (pair === undefined || gone === undefined || gone.generation !== pair.generation) return undefined;
  if (gone.uid === undefined || gone.uid === uid) return undefined;
  return (
    `generation ${pair.generation} of this operation was here before and was deleted at ${gone.at}: it runs once; ` +
    'ask for it anew through the control plane'
  );
}
