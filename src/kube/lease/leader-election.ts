import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { KubeError, type ClusterApi } from '../cluster-api.ts';
import { createLease, readLease, replaceLease, type LeaseName, type LeaseWrite } from './lease-record.ts';
import { Sighting } from './sighting.ts';
import { HeldTerm, type Moment, type Term } from './term.ts';

export interface LeaderElectionDeps {
  readonly api: ClusterApi;
  readonly lease: LeaseName;
  /** Of this process and no other, ever. */
  readonly identity: string;
  /** Labels of the Lease, as they are known now. */
  readonly labels: () => Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Milliseconds of a clock that nobody sets. */
  readonly elapsedMs: () => number;
  readonly random: () => number;
  readonly logger: Logger;
}

/** How long a Lease holds after it was last seen to change. */
export const LEASE_MS = 12_000;
const RENEW_EVERY_MS = 2000;
/** A holder that could not renew for so long stops: well before the others may take the Lease. */
export const RENEW_DEADLINE_MS = 8000;
const LOOK_EVERY_MS = 1000;
const ATTEMPT_MS = 4000;
const RETRY_MS = 300;
const RELEASE_MS = 2000;
/** After a loss: what has not ended by then never will, and a restart is the remedy. */
const END_WITHIN_MS = 30_000;

/**
 * Leader election on one Lease, in the way of client-go (k8s.io/client-go/tools/leaderelection):
 *
 *     looking ──free, given back, or unchanged for 12 s──► leading ──8 s not renewed, or another's──► looking
 *        ▲                                                    │
 *        └───────────────(process goes on)                    └── stop: work ends, Lease given back
 *
 * The clock of another is never looked at: a Lease has expired when its record was not seen to change for its duration.
 * Each write names the version that it was decided on, so of several that take it one does.
 */
export class LeaderElection {
  readonly #deps: LeaderElectionDeps;
  readonly #sighting: Sighting;
  #term: HeldTerm | undefined;
  #fault: string | undefined;

  constructor(deps: LeaderElectionDeps) {
    this.#deps = deps;
    this.#sighting = new Sighting({ identity: deps.identity, leaseMs: LEASE_MS, elapsedMs: deps.elapsedMs });
  }

  get leads(): boolean {
    return this.#term?.holds === true;
  }

  /** Why the Lease could not be read or written at the last try. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Leads whenever it can, until aborted. Rejects when `lead` does, or does not end after the Lease was lost. */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    try {
      while (!signal.aborted) await this.#hold(await this.#acquire(signal), signal, lead);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #acquire(signal: AbortSignal): Promise<HeldTerm> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const term = await this.#take(signal);
        this.#fault = undefined;
        if (term !== undefined) return term;
      } catch (error) {
        signal.throwIfAborted();
        this.#failed(error);
      }
      const look = LOOK_EVERY_MS * (1 - this.#deps.random() / 5);
      const left = this.#sighting.leftMs ?? 0;
      await this.#deps.clock.sleep(left > 0 ? Math.min(look, left) : look, signal);
    }
  }

  /** Undefined when it is not free, or another was faster. */
  async #take(signal: AbortSignal): Promise<HeldTerm | undefined> {
    const { api, lease } = this.#deps;
    const live = await this.#within(ATTEMPT_MS, signal, async (limit) => await readLease(api, lease, limit));
    const newHolder = this.#sighting.see(live);
    if (newHolder !== undefined) {
      this.#deps.logger.info({ holder: newHolder }, 'another operator leads; this one stands by');
    }
    if ((this.#sighting.leftMs ?? 0) > 0) return undefined;
    const sentAt = this.#moment();
    const mine = live?.spec?.holderIdentity === this.#deps.identity;
    const transitions = (this.#sighting.transitions ?? -1) + (mine ? 0 : 1);
    const write = { ...this.#write(transitions), acquiredAt: this.#deps.clock.now() };
    try {
      // Not cut by a stop: whether it came through must be known, for it to be given back.
      const object = await this.#within(ATTEMPT_MS, undefined, async (limit) =>
        live === undefined ? await createLease(api, lease, write, limit) : await replaceLease(api, live, write, limit),
      );
      return new HeldTerm({ object, sentAt, deadlineMs: RENEW_DEADLINE_MS, moment: () => this.#moment() });
    } catch (error) {
      if (isStatus(error, 409) || isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async #hold(term: HeldTerm, signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    const { logger, identity } = this.#deps;
    const done = new AbortController();
    const onStop = (): void => term.end(signal.reason);
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) onStop();
    this.#term = term;
    logger.info({ identity, transitions: term.lease.transitions }, 'leading');
    const keeping = [this.#renew(term, done.signal), this.#watchDeadline(term, done.signal)];
    try {
      await this.#untilEnded(term, lead(term), done.signal);
    } finally {
      done.abort();
      signal.removeEventListener('abort', onStop);
      await Promise.allSettled(keeping);
      this.#term = undefined;
      this.#sighting.see(term.object);
      if (term.lost) logger.warn({ reason: String(term.signal.reason) }, 'not the leader any more; standing by');
      else await this.#release(term);
    }
  }

  async #untilEnded(term: HeldTerm, leading: Promise<void>, done: AbortSignal): Promise<void> {
    const ended = leading.catch((error: unknown) => {
      if (!term.signal.aborted) throw error;
      this.#deps.logger.debug({ err: error }, 'ended with the term');
    });
    await Promise.race([ended, aborted(term.signal)]);
    if (!term.lost) return await ended;
    const overdue = this.#deps.clock.sleep(END_WITHIN_MS, done).then(() => {
      throw new Error(`the work of a lost term has not ended after ${END_WITHIN_MS} ms`);
    });
    await Promise.race([ended, overdue]);
  }

  async #renew(term: HeldTerm, done: AbortSignal): Promise<void> {
    let pause = this.#renewPause();
    while (!done.aborted && !term.lost) {
      try {
        await this.#deps.clock.sleep(pause, done);
        await this.#renewOnce(term, done);
        this.#fault = undefined;
        pause = this.#renewPause();
      } catch (error) {
        if (done.aborted || term.lost) return;
        this.#failed(error);
        pause = RETRY_MS * (1 + this.#deps.random());
      }
    }
  }

  async #renewOnce(term: HeldTerm, signal: AbortSignal): Promise<void> {
    const { api, lease, identity } = this.#deps;
    const sentAt = this.#moment();
    const write = this.#write(term.lease.transitions);
    await this.#within(Math.min(ATTEMPT_MS, Math.max(1, term.leftMs)), signal, async (limit) => {
      try {
        term.renewed(await replaceLease(api, term.object, write, limit), sentAt);
        return;
      } catch (error) {
        if (!isStatus(error, 409) && !isStatus(error, 404)) throw error;
      }
      const live = await readLease(api, lease, limit);
      if (live === undefined) {
        // Deleted by hand. Whoever stands by waits for as long as if it were there.
        term.renewed(await createLease(api, lease, { ...write, acquiredAt: this.#deps.clock.now() }, limit), sentAt);
      } else if (live.spec?.holderIdentity === identity) {
        // Our own write whose answer was lost, or somebody's label.
        term.seen(live);
        term.renewed(await replaceLease(api, live, write, limit), sentAt);
      } else {
        term.lose(`${live.spec?.holderIdentity ?? 'nobody'} holds it`);
      }
    });
  }

  async #watchDeadline(term: HeldTerm, done: AbortSignal): Promise<void> {
    while (!done.aborted && !term.lost) {
      const left = term.leftMs;
      if (left <= 0) term.lose(`it was not renewed for ${RENEW_DEADLINE_MS} ms`);
      else await this.#deps.clock.sleep(left, done).catch(() => undefined);
    }
  }

  async #release(term: HeldTerm): Promise<void> {
    const write = { ...this.#write(term.lease.transitions), holder: undefined, durationSeconds: 1 };
    try {
      await this.#within(RELEASE_MS, undefined, async (limit) => {
        this.#sighting.see(await replaceLease(this.#deps.api, term.object, write, limit));
      });
    } catch (error) {
      this.#deps.logger.debug({ err: error }, 'the Lease could not be given back; it expires by itself');
    }
  }

  #write(transitions: number): LeaseWrite {
    return {
      holder: this.#deps.identity,
      durationSeconds: LEASE_MS / 1000,
      transitions,
      renewedAt: this.#deps.clock.now(),
      labels: this.#deps.labels(),
    };
  }

  #moment(): Moment {
    return { elapsedMs: this.#deps.elapsedMs(), wallMs: this.#deps.clock.now().getTime() };
  }

  #renewPause(): number {
    return RENEW_EVERY_MS * (1 - this.#deps.random() / 10);
  }

  /** Said once for each kind of failure, not for each try. */
  #failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message !== this.#fault) this.#deps.logger.warn({ problem: message }, 'the Lease cannot be read or written');
    this.#fault = message;
  }

  async #within<T>(ms: number, signal: AbortSignal | undefined, work: (limit: AbortSignal) => Promise<T>): Promise<T> {
    const done = new AbortController();
    const late = new AbortController();
    const timer = this.#deps.clock.sleep(ms, done.signal).then(
      () => late.abort(new Error(`no answer within ${ms} ms`)),
      () => undefined,
    );
    try {
      return await work(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
    } finally {
      done.abort();
      await timer;
    }
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof KubeError && error.status === status;
}

async function aborted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
