/** A request that ends sooner did not end because some proxy limits how long it may be held. */
const HELD_MS = 2000;
const SHORTEST_SECONDS = 5;
/** The specification's default. */
const FIRST_SECONDS = 30;
/** Empty answers in a row until a longer hold is tried again after a cut: a proxy's limit seldom changes. */
const CALM_ANSWERS = 10;
/** An answer that comes so much before its time was sent for another reason than that. */
const EARLY_MS = 1000;
/**
 * When a control plane or a proxy stops, the held requests of a whole fleet end in one instant; they come back over this
 * time. A cut of one's own is rare enough (see `CALM_ANSWERS`) that waiting so long after it costs nothing.
 */
const COME_BACK_MS = 5000;
/** Between two requests in calm weather. */
const JITTER_MS = 250;
/** After an interruption a part of the time is asked for, down to what this leaves of it. */
const SCATTER = 0.8;

/**
 * How long to ask that a request be held. A proxy that cuts it makes it shorter at once (to below what it lasted); it grows
 * again slowly, so that a limit that is still there costs one cut in many. A cut after which nobody is there was no proxy's
 * limit and is forgotten. After any interruption a random part of the time is asked for once, so that those who were
 * interrupted together do not stay together.
 */
export class HoldTime {
  readonly #longestSeconds: number;
  readonly #random: () => number;
  #seconds: number;
  #calm = CALM_ANSWERS;
  /** What was asked for before a cut of which it is not known yet what it was. */
  #beforeCut: number | undefined;
  #isInterrupted = false;

  constructor(longestSeconds: number, random: () => number) {
    this.#longestSeconds = longestSeconds;
    this.#random = random;
    this.#seconds = Math.min(FIRST_SECONDS, longestSeconds);
  }

  /** What to ask for next. */
  next(): number {
    if (!this.#isInterrupted) return this.#seconds;
    const part = Math.round(this.#seconds * (1 - SCATTER * this.#random()));
    return Math.max(Math.min(SHORTEST_SECONDS, this.#seconds), part);
  }

  /** Whether a connection that ended after so long was a held one that something cut. */
  wasHeld(elapsedMs: number): boolean {
    return elapsedMs >= HELD_MS;
  }

  /** It was cut after so long. Answers how long to pause, in milliseconds. */
  cut(elapsedMs: number): number {
    this.#calm = 0;
    this.#beforeCut = this.#seconds;
    this.#seconds = Math.min(this.#seconds, Math.max(SHORTEST_SECONDS, Math.floor((elapsedMs / 1000) * 0.8)));
    return this.#interrupted();
  }

  /** Nobody answers, or nobody who holds a request. */
  failed(): void {
    if (this.#beforeCut !== undefined) this.#seconds = this.#beforeCut;
    this.#beforeCut = undefined;
    this.#isInterrupted = true;
  }

  /**
   * It was answered with nothing new. Answers how long to pause, in milliseconds.
   *
   * @param askedSeconds for how long it was to be held
   */
  emptied(elapsedMs: number, askedSeconds: number): number {
    this.#beforeCut = undefined;
    if (elapsedMs < askedSeconds * 1000 - EARLY_MS) return this.#interrupted();
    this.#calm += 1;
    this.#isInterrupted = false;
    if (this.#calm >= CALM_ANSWERS) {
      this.#seconds = Math.min(this.#longestSeconds, this.#seconds + Math.max(1, Math.floor(this.#seconds / 10)));
    }
    return this.jitter();
  }

  /** It was answered with something, or about something. */
  answered(): void {
    this.#beforeCut = undefined;
  }

  jitter(): number {
    return Math.round(this.#random() * JITTER_MS);
  }

  /** A server that never holds for so long as it is asked interrupts each time: only the first counts. */
  #interrupted(): number {
    if (this.#isInterrupted) return this.jitter();
    this.#isInterrupted = true;
    return Math.round(this.#random() * COME_BACK_MS);
  }
}
