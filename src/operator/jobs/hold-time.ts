/** A request that ends sooner did not end because some proxy limits how long it may be held. */
const HELD_MS = 2000;
const SHORTEST_SECONDS = 5;
/** The specification's default. */
const FIRST_SECONDS = 30;
/** Empty polls in a row until a longer hold is tried again after a cut: a proxy's limit seldom changes. */
const CALM_POLLS = 10;

/**
 * How long to ask that a poll be held. A proxy that cuts it makes it shorter at once (to below what it lasted); it grows
 * again slowly, so that a limit that is still there costs one cut in many polls.
 */
export class HoldTime {
  readonly #longestSeconds: number;
  #seconds: number;
  #calm = CALM_POLLS;

  constructor(longestSeconds: number) {
    this.#longestSeconds = longestSeconds;
    this.#seconds = Math.min(FIRST_SECONDS, longestSeconds);
  }

  get seconds(): number {
    return this.#seconds;
  }

  /** Whether a connection that ended after so long was a held one that something cut. */
  wasHeld(elapsedMs: number): boolean {
    return elapsedMs >= HELD_MS;
  }

  cut(elapsedMs: number): void {
    this.#calm = 0;
    this.#seconds = Math.max(SHORTEST_SECONDS, Math.min(this.#seconds, Math.floor((elapsedMs / 1000) * 0.8)));
  }

  /** A poll lasted its whole wait. */
  lasted(): void {
    this.#calm += 1;
    if (this.#calm < CALM_POLLS) return;
    this.#seconds = Math.min(this.#longestSeconds, this.#seconds + Math.max(1, Math.floor(this.#seconds / 10)));
  }
}
