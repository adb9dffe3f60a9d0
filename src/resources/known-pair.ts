import type { KubeObject } from './kube-object.ts';
import { SOURCE_ANNOTATION, TOMBSTONE_SOURCE_ANNOTATION } from './labels.ts';
import { compareSource, parseSource, type SourcePair } from './source-annotation.ts';

/** The pair of the deletion that push mode asked for, or undefined where there is none. */
export function markPairOf({ metadata }: KubeObject): SourcePair | undefined {
  return parseSource(metadata.annotations?.[TOMBSTONE_SOURCE_ANNOTATION]);
}

/**
 * The newest delivery that an object in the cluster knows of: the one that brought its payload, or the one that asked for
 * its end. For what is compared with deliveries only: no signature is over the latter, so it says nothing of a manifest.
 */
export function knownPairOf(live: KubeObject): SourcePair | undefined {
  const brought = parseSource(live.metadata.annotations?.[SOURCE_ANNOTATION]);
  const mark = markPairOf(live);
  if (brought === undefined || mark === undefined) return brought ?? mark;
  return compareSource(brought, mark) >= 0 ? brought : mark;
}
