import type { EventSource } from '../protocol/event.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { formatSource, type SourcePair } from '../resources/source-annotation.ts';
import { pairOf } from './source-pair.ts';

/**
 * Which delivery of each object the control plane was told of last, by this process. A status names its intent and not its
 * delivery epoch, so an object that is delivered again under another one may keep its status to the byte, and is told of
 * all the same: a switch of mode waits for just that.
 */
export class ToldSources {
  readonly #told = new Map<string, SourcePair | undefined>();

  /** Shown by a watch. As it is seen first it is told with the snapshot, or with its first status. */
  seen(object: KubeObject): void {
    const { uid } = object.metadata;
    if (uid !== undefined && !this.#told.has(uid)) this.#told.set(uid, pairOf(object));
  }

  /** The part of the source that was told last, where that is another one now. */
  before(object: KubeObject, source: EventSource): EventSource | undefined {
    const pair = sourcePair(source);
    const told = this.#told.get(object.metadata.uid ?? '');
    if (pair === undefined || told === undefined || formatSource(told) === formatSource(pair)) return undefined;
    return { ...source, ...told };
  }

  note(object: KubeObject, source: EventSource): void {
    const { uid } = object.metadata;
    if (uid !== undefined) this.#told.set(uid, sourcePair(source));
  }

  forget(object: KubeObject): void {
    this.#told.delete(object.metadata.uid ?? '');
  }
}

function sourcePair({ epoch, generation }: EventSource): SourcePair | undefined {
  return epoch === undefined || generation === undefined ? undefined : { epoch, generation };
}
