import { JobsResponse } from '../../protocol/job.ts';
import { compileParser } from '../../protocol/parse.ts';
import { askedWaitMs, backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { Wake } from '../../runtime/wake.ts';
import type { AgentAnswer } from '../agent-answer.ts';
import { AGENT_PATHS } from '../agent-paths.ts';
import type { AgentSession } from '../agent-session.ts';
import type { Contact } from '../contact.ts';
import { HoldTime } from '../hold-time.ts';

export interface JobPollDeps {
  readonly session: Pick<AgentSession, 'call' | 'opened' | 'clusterId'>;
  readonly contact: Pick<Contact, 'failed' | 'holdSeconds' | 'moves'>;
  /** The cluster is in pull mode. */
  readonly isPull: () => boolean;
  /** Jobs that may be taken now; with none the poll waits for `resume`. */
  readonly room: () => number;
  /** Takes what a poll brought into the journal. Answers how many of them were new. @throws where it cannot now */
  readonly take: (jobs: readonly unknown[], signal: AbortSignal) => Promise<number>;
  /** Resolves once the jobs that were taken are acknowledged, or after a moment. */
  readonly acknowledged: (signal: AbortSignal) => Promise<void>;
  /** What keeps jobs from being asked for: an answer that another try does not change. Undefined: they are. */
  readonly onFault: (message: string | undefined) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** In seconds (default 50: below the 60 s of silence after which `Connected` turns False). */
  readonly longestWaitSeconds?: number;
}

/** Never faster than once a second (specification, "Errors"). */
const RETRY = { minMs: 1000, maxMs: 60_000 };
/** After an answer that is no retry case. */
const REFUSED_MS = 300_000;
const LONGEST_WAIT_SECONDS = 50;
const MAX_EARLY = 2;

/** How long a poll was to be held, and how long it was. */
interface Poll {
  readonly holdSeconds: number;
  readonly elapsedMs: number;
}

const parseJobs = compileParser(JobsResponse);

/**
 * Holds one `GET /jobs` at a time while the cluster is in pull mode. An answer that is empty, or a connection that some
 * proxy cut while it was held, leads to the next poll; anything else that goes wrong to a growing pause.
 */
export class JobPoll {
  readonly #deps: JobPollDeps;
  readonly #wake = new Wake();
  readonly #hold: HoldTime;
  #failures = 0;
  /** Answers in a row that came before their time and brought nothing. */
  #early = 0;
  /** In milliseconds; no poll before, whatever rings. */
  #notBefore = 0;
  /** The part of it that the control plane asked for, or that follows from its silence. */
  #patientUntil = 0;
  /** Of the contact, when this loop last began anew. */
  #moves = 0;
  #wasCut = false;
  #isFaulty = false;
  #held: AbortController | undefined;
  /** Of the configuration, as the last answer named it. */
  #revision: string | undefined;

  constructor(deps: JobPollDeps) {
    this.#deps = deps;
    this.#hold = new HoldTime(deps.longestWaitSeconds ?? LONGEST_WAIT_SECONDS, deps.random);
  }

  /** There is room again, or the mode may be another one. */
  resume(): void {
    if (!this.#deps.isPull()) this.#held?.abort();
    this.#wake.ring();
  }

  /** Another credential or address: ask with it at once. */
  restart(): void {
    const { moves } = this.#deps.contact;
    if (moves !== this.#moves) {
      // Nothing of what is known is of the one that is asked from now on.
      this.#failures = 0;
      this.#patientUntil = 0;
      this.#revision = undefined;
      if (this.#isFaulty) this.#tellFault(undefined);
    }
    this.#moves = moves;
    this.#notBefore = this.#patientUntil;
    this.#held?.abort();
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!this.#deps.isPull() || this.#deps.room() === 0) {
          await this.#wake.wait(signal);
          continue;
        }
        const left = this.#notBefore - this.#deps.clock.now().getTime();
        if (left > 0) await this.#wake.waitAtMost(left, this.#deps.clock, signal);
        else this.#pause(await this.#poll(signal));
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.warn({ err: error }, 'jobs cannot be taken now; they stay with the control plane');
        this.#pause(this.#retry());
      }
    }
  }

  /** One poll. Answers how long to pause after it, in milliseconds. */
  async #poll(signal: AbortSignal): Promise<number> {
    const { session, clock, contact } = this.#deps;
    await session.opened(signal);
    const holdSeconds = contact.holdSeconds(this.#hold.next(), this.#wasCut);
    this.#wasCut = false;
    const query = new URLSearchParams({ cluster: session.clusterId ?? '', wait: String(holdSeconds) });
    const held = new AbortController();
    this.#held = held;
    const started = clock.now().getTime();
    const either = AbortSignal.any([signal, held.signal]);
    const path = `${AGENT_PATHS.jobs}?${query.toString()}`;
    let answer: AgentAnswer;
    try {
      // Without it a change between two polls would be told only when the second ends.
      const known = this.#revision === undefined ? {} : { configRevision: this.#revision };
      answer = await session.call({ method: 'GET', path, holdSeconds, ...known }, either);
    } catch (error) {
      signal.throwIfAborted();
      if (held.signal.aborted) return 0;
      throw error;
    } finally {
      this.#held = undefined;
    }
    return await this.#take(answer, { holdSeconds, elapsedMs: clock.now().getTime() - started }, signal);
  }

  async #take(answer: AgentAnswer, poll: Poll, signal: AbortSignal): Promise<number> {
    switch (answer.state) {
      case 'ok': {
        const { jobs } = parseJobs(answer.body);
        this.#tellFault(undefined);
        const isSameConfig = answer.revision === this.#revision;
        this.#revision = answer.revision;
        if (jobs.length === 0) return this.#emptied(poll, isSameConfig);
        this.#hold.answered();
        const taken = await this.#deps.take(jobs, signal);
        // Until they are acknowledged each poll is answered with them, at once.
        await this.#deps.acknowledged(signal);
        if (taken === 0) return this.#answeredEarly();
        this.#failures = 0;
        this.#early = 0;
        return 0;
      }
      case 'refused': {
        // A refused credential stops the session, and the next call waits for it to open.
        if (answer.status === 401 || answer.status === 403) return this.#retry();
        this.#deps.logger.error({ code: answer.code, message: answer.message }, 'asking for jobs is refused');
        this.#tellFault(`asking for jobs (${AGENT_PATHS.jobs}) is refused: ${answer.code}: ${answer.message}`);
        return REFUSED_MS * (1 + this.#deps.random() / 5);
      }
      case 'unavailable':
        return this.#unavailable(answer, poll);
    }
  }

  #emptied({ elapsedMs, holdSeconds }: Poll, isSameConfig: boolean): number {
    if (holdSeconds === 0) {
      // It only asked whether anybody is there.
      this.#hold.answered();
      return this.#answeredEarly();
    }
    if (!this.#hold.wasHeld(elapsedMs)) return this.#answeredEarly();
    this.#early = 0;
    this.#failures = 0;
    const pause = this.#hold.emptied(elapsedMs, holdSeconds);
    // A new configuration ends the poll of one cluster; what else ends one early, a stop, ends those of all.
    return isSameConfig ? pause : this.#hold.jitter();
  }

  /** A control plane with a new configuration answers early; one that never holds must not be asked in a busy loop. */
  #answeredEarly(): number {
    this.#early += 1;
    return this.#early <= MAX_EARLY ? this.#hold.jitter() : this.#retry();
  }

  #unavailable(
    answer: Extract<AgentAnswer, { readonly state: 'unavailable' }>,
    { elapsedMs, holdSeconds }: Poll,
  ): number {
    const cut = answer.cut && holdSeconds > 0 && this.#hold.wasHeld(elapsedMs);
    if (cut && answer.retryAfterMs === undefined) {
      this.#wasCut = true;
      this.#deps.logger.debug({ elapsedMs }, 'the held poll was cut and counts as an empty one; the next is shorter');
      return this.#hold.cut(elapsedMs);
    }
    if (!answer.answered) this.#deps.contact.failed(answer.message);
    this.#hold.failed();
    const wait = askedWaitMs(answer.retryAfterMs, this.#retry(), this.#deps.random);
    this.#patientUntil = this.#deps.clock.now().getTime() + wait;
    return wait;
  }

  #tellFault(message: string | undefined): void {
    this.#isFaulty = message !== undefined;
    this.#deps.onFault(message);
  }

  #pause(ms: number): void {
    this.#notBefore = this.#deps.clock.now().getTime() + ms;
  }

  #retry(): number {
    this.#failures += 1;
    // Wide from the first on: of those who meet a control plane that is away, most met it in the same second.
    return backoffMs(RETRY, this.#failures + 2, this.#deps.random);
  }
}
