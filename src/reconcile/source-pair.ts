import type { KubeObject } from '../resources/kube-object.ts';
import { SOURCE_ANNOTATION } from '../resources/labels.ts';

/** The order on the wire: a later delivery epoch wins, then a later generation. */
export interface SourcePair {
  readonly epoch: number;
  readonly generation: number;
}

/** The pair in the annotation `app.service.io/source`, or undefined when there is none that can be read. */
export function pairOf(object: KubeObject): SourcePair | undefined {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(object.metadata.annotations?.[SOURCE_ANNOTATION] ?? '');
  return match === null ? undefined : { epoch: Number(match[1]), generation: Number(match[2]) };
}

/** Negative when `a` is older than `b`, 0 when they are the same, positive when it is newer. */
export function comparePairs(a: SourcePair, b: SourcePair): number {
  return a.epoch - b.epoch || a.generation - b.generation;
}

export function greaterPair(a: SourcePair | undefined, b: SourcePair | undefined): SourcePair | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return comparePairs(a, b) >= 0 ? a : b;
}

export function formatPair(pair: SourcePair): string {
  return `${pair.epoch}.${pair.generation}`;
}
