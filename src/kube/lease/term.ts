import { KubeError } from '../cluster-api.ts';
import type { LeaseObject } from './lease-record.ts';

/** A write was not sent, because this process may not be the leader any more. */
export const LEADERSHIP_LOST = 'LeadershipLost';

/** The time in which one process leads. */
export interface Term {
  /** Which Lease, and which of its holders: another pair is another term. */
  readonly lease: { readonly uid: string; readonly transitions: number };
  /** Aborted at the end: when the Lease could not be renewed in time, was lost, or the process stops. */
  readonly signal: AbortSignal;
  /**
   * Called right before a write leaves. A process that was suspended learns here that its time is over, before any timer
   * of its own has run.
   *
   * @throws KubeError `LeadershipLost`; the signal is aborted then
   */
  check(): void;
}

/** When something happened, by both clocks. */
export interface Moment {
  /** Milliseconds of a clock that nobody sets. It may stand still while the machine sleeps. */
  readonly elapsedMs: number;
  /** Milliseconds of the wall clock. It may jump. */
  readonly wallMs: number;
}

/** A term as its holder keeps it. The time counts from before the last renewal that succeeded was sent. */
export class HeldTerm implements Term {
  readonly lease: { readonly uid: string; readonly transitions: number };
  readonly #stop = new AbortController();
  readonly #deadlineMs: number;
  readonly #moment: () => Moment;
  #object: LeaseObject;
  #renewed: Moment;
  #lost = false;

  constructor(deps: {
    readonly object: LeaseObject;
    readonly sentAt: Moment;
    readonly deadlineMs: number;
    readonly moment: () => Moment;
  }) {
    this.#object = deps.object;
    this.#renewed = deps.sentAt;
    this.#deadlineMs = deps.deadlineMs;
    this.#moment = deps.moment;
    const { metadata, spec } = deps.object;
    this.lease = { uid: metadata.uid ?? '', transitions: spec?.leaseTransitions ?? 0 };
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** The Lease as this holder wrote or read it last. */
  get object(): LeaseObject {
    return this.#object;
  }

  /** Milliseconds until the term ends unless it is renewed, by the clock that has gone further. */
  get leftMs(): number {
    const { elapsedMs, wallMs } = this.#moment();
    return this.#deadlineMs - Math.max(elapsedMs - this.#renewed.elapsedMs, wallMs - this.#renewed.wallMs);
  }

  get holds(): boolean {
    return !this.#stop.signal.aborted && this.leftMs > 0;
  }

  seen(object: LeaseObject): void {
    this.#object = object;
  }

  renewed(object: LeaseObject, sentAt: Moment): void {
    this.#object = object;
    this.#renewed = sentAt;
  }

  check(): void {
    if (this.leftMs <= 0) this.lose('it was not renewed in time');
    if (!this.#lost) return;
    throw new KubeError('this operator is not the leader any more, nothing is written', {
      status: 0,
      reason: LEADERSHIP_LOST,
    });
  }

  lose(why: string): void {
    // Also while a stop is under way: what is left of the work must not write any more.
    this.#lost = true;
    this.#stop.abort(new Error(`the Lease is lost: ${why}`));
  }

  /** The process stops: what runs ends in its own time, while the Lease is still held. */
  end(reason: unknown): void {
    this.#stop.abort(reason);
  }
}
