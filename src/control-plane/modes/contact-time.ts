/** A contact tells of so much time before it at the most: an operator that calls now and then is not there all the time. */
const MAX_GAP_MS = 60_000;

interface Spent {
  readonly phase: string;
  readonly ms: number;
  readonly until: number;
}

/**
 * How long an operator was in contact during a phase of its switch, counted from one contact to the next, so that neither its
 * absence nor this program's makes a limit pass. In memory: after a start of the program it counts anew.
 */
export class ContactTime {
  readonly #spent = new Map<string, Spent>();

  /**
   * @param phase another one begins to count anew
   * @param contact of the operator, the last one
   * @returns milliseconds
   */
  spent(switchId: string, phase: string, contact: string | null, now: Date): number {
    const known = this.#spent.get(switchId);
    const at = contact === null ? 0 : Date.parse(contact);
    if (known?.phase !== phase) {
      this.#spent.set(switchId, { phase, ms: 0, until: Math.max(at, now.getTime()) });
      return 0;
    }
    if (at <= known.until) return known.ms;
    const ms = known.ms + Math.min(at - known.until, MAX_GAP_MS);
    this.#spent.set(switchId, { phase, ms, until: at });
    return ms;
  }

  /** Those of other switches are forgotten. */
  keepOnly(switchIds: ReadonlySet<string>): void {
    for (const id of this.#spent.keys()) if (!switchIds.has(id)) this.#spent.delete(id);
  }
}
