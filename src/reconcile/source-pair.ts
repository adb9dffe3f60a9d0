import type { KubeObject } from '../resources/kube-object.ts';
import { SOURCE_ANNOTATION } from '../resources/labels.ts';
import { compareSource, parseSource, type SourcePair } from '../resources/source-annotation.ts';

/** The pair in an object's annotation, or undefined when there is none that can be read. */
export function pairOf(object: KubeObject): SourcePair | undefined {
  return parseSource(object.metadata.annotations?.[SOURCE_ANNOTATION]);
}

export function greaterPair(a: SourcePair | undefined, b: SourcePair | undefined): SourcePair | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareSource(a, b) >= 0 ? a : b;
}
