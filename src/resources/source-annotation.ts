/** Order on the wire: a higher delivery epoch wins, then a higher intent generation (decisions, "Jobs"). */
export interface SourcePair {
  readonly epoch: number;
  readonly generation: number;
}

/** `<delivery epoch>.<generation>`, the value of the annotation `app.service.io/source`. */
export function formatSource({ epoch, generation }: SourcePair): string {
  return `${epoch}.${generation}`;
}

/** The pair in an annotation, or undefined when it is absent or is not one. */
export function parseSource(text: string | undefined): SourcePair | undefined {
  const match = /^(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,14})$/.exec(text ?? '');
  return match === null ? undefined : { epoch: Number(match[1]), generation: Number(match[2]) };
}

/**
 * Whether `a` says less than what an object has, or had: it is older, or of a lower generation under whichever epoch. A
 * switch delivers once more what is there, under an epoch of its own; so no generation ever goes back.
 */
export function goesBack(a: SourcePair, known: SourcePair): boolean {
  return a.generation < known.generation || compareSource(a, known) < 0;
}

/** Negative when `a` is older than `b`, positive when newer, 0 when equal. */
export function compareSource(a: SourcePair, b: SourcePair): number {
  return a.epoch - b.epoch || a.generation - b.generation;
}
