import type { LeaseObject } from './lease-record.ts';

/** No holder of ours promises more; a number that somebody wrote by hand must not lock the Lease for ever. */
const LONGEST_MS = 60_000;

/** What was seen of the Lease, and since when it looks as it does. */
export class Sighting {
  readonly #deps: { readonly identity: string; readonly leaseMs: number; readonly elapsedMs: () => number };
  #text: string | undefined;
  #since = 0;
  #spec: NonNullable<LeaseObject['spec']> | undefined;

  constructor(deps: { readonly identity: string; readonly leaseMs: number; readonly elapsedMs: () => number }) {
    this.#deps = deps;
  }

  /** Of the Lease as it was seen last; undefined before the first. */
  get transitions(): number | undefined {
    return this.#spec === undefined ? undefined : (this.#spec.leaseTransitions ?? 0);
  }

  /** Milliseconds that another may count on it for; undefined when it is nobody's or our own. */
  get leftMs(): number | undefined {
    const holder = this.#holder();
    if (holder === undefined || this.#spec === undefined) return undefined;
    const said = Math.min((this.#spec.leaseDurationSeconds ?? 0) * 1000, LONGEST_MS);
    const lasts = Math.max(this.#deps.leaseMs, said);
    return Math.max(0, this.#since + lasts - this.#deps.elapsedMs());
  }

  /**
   * Takes note of a Lease, or that there is none. One that vanished counts as it was seen last: its holder makes it anew
   * when it renews it. Answers the holder where it is another than before.
   */
  see(lease: LeaseObject | undefined): string | undefined {
    if (lease === undefined) return undefined;
    // What others write beside the record (labels, annotations) does not keep a dead holder alive.
    const text = JSON.stringify([lease.metadata.uid, lease.spec]);
    if (text === this.#text) return undefined;
    const before = this.#holder();
    this.#text = text;
    this.#since = this.#deps.elapsedMs();
    this.#spec = lease.spec ?? {};
    const holder = this.#holder();
    return holder === before ? undefined : holder;
  }

  #holder(): string | undefined {
    const holder = this.#spec?.holderIdentity;
    return holder === undefined || holder === null || holder === '' || holder === this.#deps.identity
      ? undefined
      : holder;
  }
}
