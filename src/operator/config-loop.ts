import { AgentConfig } from '../protocol/agent-config.ts';
import { compileParser } from '../protocol/parse.ts';
import { askedWaitMs, backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { untilAborted } from '../runtime/until-aborted.ts';
import { Wake } from '../runtime/wake.ts';
import type { AgentAnswer } from './agent-answer.ts';
import { AGENT_PATHS } from './agent-paths.ts';
import type { AgentSession } from './agent-session.ts';
import type { Contact } from './contact.ts';
import { HoldTime } from './hold-time.ts';

export interface ConfigLoopDeps {
  readonly session: AgentSession;
  readonly contact: Contact;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** This control plane's answers carried a revision before this process began. One that never sent any is not asked. */
  readonly isServed: boolean;
  /** Whether there is a configuration to be had, each time that this becomes known or changes. */
  readonly onServed?: (isServed: boolean) => void;
  /** Takes a configuration. What waits for it (`caughtUp`) goes on once it is taken whole. */
  readonly onConfig: (config: AgentConfig, revision: string | undefined) => Promise<void> | void;
}

/** An operator that has stopped asks so often (decisions, "Register, rotate, config"), and up to a fifth later. */
export const PROBE_MS = 15 * 60_000;

const RETRY = { minMs: 1000, maxMs: 30_000 };
/** Below the 60 s of silence after which `Connected` turns False. */
const LONGEST_WAIT_SECONDS = 50;
/** A newer revision was seen elsewhere: so long the held request may take to bring it by itself. */
const REVISION_GRACE_MS = 1000;
const NOT_SERVED_MS = 300_000;
/** In pull mode, between two requests, however fast the revisions change. */
const SPACING_MS = 500;

const parseConfig = compileParser(AgentConfig);

/**
 * Asks `GET /config`, the way by which every setting arrives. In gitops and push mode it holds one request at a time, which
 * is the wake-up of gitops. In pull mode the job poll is the request that is held, and this one is made when an answer has
 * named a revision that is not known yet.
 */
export class ConfigLoop {
  readonly #deps: ConfigLoopDeps;
  readonly #wake = new Wake();
  readonly #first = Promise.withResolvers<void>();
  /** Settles at the next answer. */
  #taken = Promise.withResolvers<void>();
  #etag: string | undefined;
  readonly #hold: HoldTime;
  #failures = 0;
  #revision: string | undefined;
  #newest: string | undefined;
  #held: AbortController | undefined;
  #isServed: boolean;
  /** Its answers carry revisions, and it has no such endpoint. */
  #isMissing = false;
  #told: boolean | undefined;
  /** The job poll is held instead. */
  #isPull = false;
  /** In milliseconds; no request before, whatever rings. */
  #notBefore = 0;
  /** The part of it that the control plane asked for, or that follows from its silence. */
  #patientUntil = 0;
  /** Of the contact, when this loop last began anew. */
  #moves = 0;
  #restarts = 0;
  #wasCut = false;
  /** When a session that has stopped asks next. */
  #probeAt: number | undefined;

  constructor(deps: ConfigLoopDeps) {
    this.#deps = deps;
    this.#isServed = deps.isServed;
    this.#hold = new HoldTime(LONGEST_WAIT_SECONDS, deps.random);
    deps.session.onStopped(() => this.#wake.ring());
  }

  /** `Service-Config-Revision` of any answer. */
  revisionSeen(revision: string): void {
    this.#isServed = true;
    this.#tellServed();
    if (revision === this.#newest) return;
    this.#newest = revision;
    this.#wake.ring();
  }

  /** The control plane answered a call; a revision that the answer named was told before. */
  answered(): void {
    this.#tellServed();
  }

  /** Resolves once a configuration was taken in this process. Rejects with the signal's reason. */
  async first(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#first.promise, signal);
  }

  /** Resolves once what is known is what the newest answer named, or is all there is. Rejects with the signal's reason. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    while (this.#isServed && !this.#isMissing && (this.#revision === undefined || this.#revision !== this.#newest))
      await untilAborted(this.#taken.promise, signal);
  }

  /** Another credential or address: ask at once, from the beginning. */
  restart(): void {
    const { moves } = this.#deps.contact;
    if (moves !== this.#moves) {
      this.#failures = 0;
      this.#patientUntil = 0;
      this.#isMissing = false;
    }
    this.#moves = moves;
    this.#restarts += 1;
    this.#etag = undefined;
    this.#revision = undefined;
    this.#notBefore = this.#patientUntil;
    this.#held?.abort();
    this.#wake.ring();
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = this.#watchRevision(signal);
    while (!signal.aborted) {
      try {
        await this.#due(signal);
        this.#pause(await this.#step(signal));
      } catch (error) {
        if (signal.aborted) break;
        this.#deps.logger.error({ err: error }, 'asking for the configuration failed');
        this.#pause(this.#retry());
      }
    }
    await watching;
  }

  /** Until there is something to ask for, and the time for it has come. */
  async #due(signal: AbortSignal): Promise<void> {
    const { session, clock, random } = this.#deps;
    if (session.state === 'unregistered') await session.opened(signal);
    for (;;) {
      const now = clock.now().getTime();
      if (session.state !== 'stopped') this.#probeAt = undefined;
      else if (this.#isServed) this.#probeAt ??= Math.max(this.#patientUntil, now + PROBE_MS * (1 + random() / 5));
      const at = session.state === 'stopped' ? this.#probeAt : this.#isNeeded ? this.#notBefore : undefined;
      if (at === undefined) {
        await this.#wake.wait(signal);
        continue;
      }
      if (at <= now) break;
      await this.#wake.waitAtMost(at - now, clock, signal);
    }
    this.#probeAt = undefined;
  }

  get #isNeeded(): boolean {
    if (!this.#isServed) return false;
    return !this.#isPull || this.#revision === undefined || this.#revision !== this.#newest;
  }

  /** One request. Answers how long to pause after it, in milliseconds. */
  async #step(signal: AbortSignal): Promise<number> {
    const isHeld = this.#deps.session.state === 'open' && this.#etag !== undefined && !this.#isPull;
    const holdSeconds = isHeld ? this.#deps.contact.holdSeconds(this.#hold.next(), this.#wasCut) : 0;
    this.#wasCut = false;
    const started = this.#deps.clock.now().getTime();
    const held = new AbortController();
    this.#held = held;
    const answer = await this.#ask(holdSeconds, AbortSignal.any([signal, held.signal]), signal);
    this.#held = undefined;
    if (answer === undefined) return 0;
    return await this.#take(answer, { holdSeconds, elapsedMs: this.#deps.clock.now().getTime() - started });
  }

  /** Undefined when the held request was given up for a newer one. */
  async #ask(holdSeconds: number, either: AbortSignal, signal: AbortSignal): Promise<AgentAnswer | undefined> {
    try {
      const path = `${AGENT_PATHS.config}?wait=${holdSeconds}`;
      const ifNoneMatch = this.#etag === undefined ? {} : { ifNoneMatch: this.#etag };
      return await this.#deps.session.probe({ method: 'GET', path, holdSeconds, ...ifNoneMatch }, either);
    } catch (error) {
      signal.throwIfAborted();
      if (either.aborted) return undefined;
      throw error;
    }
  }

  async #take(
    answer: AgentAnswer,
    poll: { readonly holdSeconds: number; readonly elapsedMs: number },
  ): Promise<number> {
    switch (answer.state) {
      case 'ok':
        this.#failures = 0;
        this.#isMissing = false;
        this.#tellServed();
        if (answer.body !== undefined) return await this.#accept(answer);
        this.#revision = answer.revision ?? this.#newest;
        this.#tellTaken();
        if (this.#isPull) return SPACING_MS;
        // An empty answer to a request that should have been held must not turn into a busy loop.
        return poll.holdSeconds > 0 && this.#hold.wasHeld(poll.elapsedMs)
          ? this.#hold.emptied(poll.elapsedMs, poll.holdSeconds)
          : 1000 + this.#hold.jitter();
      case 'refused':
        if (this.#deps.session.state === 'stopped') return 0;
        if (answer.status === 404) {
          this.#isMissing = true;
          this.#tellServed();
          return NOT_SERVED_MS;
        }
        this.#deps.logger.warn({ code: answer.code, message: answer.message }, 'the configuration is refused');
        this.#etag = undefined;
        return this.#retry();
      case 'unavailable': {
        const cut = answer.cut && poll.holdSeconds > 0 && this.#hold.wasHeld(poll.elapsedMs);
        if (cut && answer.retryAfterMs === undefined) {
          this.#wasCut = true;
          this.#deps.logger.debug(poll, 'the held request was cut, the next one is shorter');
          return this.#hold.cut(poll.elapsedMs);
        }
        if (!answer.answered) this.#deps.contact.failed(answer.message);
        this.#hold.failed();
        const wait = askedWaitMs(answer.retryAfterMs, this.#retry(), this.#deps.random);
        this.#patientUntil = this.#deps.clock.now().getTime() + wait;
        return wait;
      }
    }
  }

  async #accept({
    body,
    etag,
    revision = this.#newest,
  }: Extract<AgentAnswer, { readonly state: 'ok' }>): Promise<number> {
    let config: AgentConfig;
    try {
      config = parseConfig(body);
    } catch (error) {
      this.#deps.logger.error(
        { message: (error as Error).message },
        "the control plane's configuration cannot be read",
      );
      return this.#retry();
    }
    const first = this.#etag === undefined;
    this.#hold.answered();
    const restarts = this.#restarts;
    await this.#deps.onConfig(config, revision);
    if (restarts === this.#restarts) {
      this.#etag = etag;
      this.#revision = revision;
    }
    this.#isPull = config.connectivity_mode === 'pull';
    this.#first.resolve();
    this.#tellTaken();
    if (this.#isPull) return SPACING_MS;
    // Without an ETag the server cannot hold a request, so this is a plain poll.
    return etag === undefined ? this.#hold.next() * 1000 : first ? 0 : 1;
  }

  /** Gives up a held request that has not brought a revision which another answer named. */
  async #watchRevision(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const missing = this.#newest;
      await this.#deps.clock.sleep(REVISION_GRACE_MS, signal).catch(() => undefined);
      if (missing === undefined || missing === this.#revision || missing !== this.#newest) continue;
      if (this.#etag === undefined || this.#held === undefined) continue;
      this.#etag = undefined;
      this.#held.abort();
    }
  }

  #tellServed(): void {
    const isServed = this.#isServed && !this.#isMissing;
    if (isServed === this.#told) return;
    this.#told = isServed;
    if (!isServed) this.#tellTaken();
    this.#deps.onServed?.(isServed);
  }

  #tellTaken(): void {
    this.#taken.resolve();
    this.#taken = Promise.withResolvers();
  }

  #pause(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, this.#deps.clock.now().getTime() + ms);
  }

  #retry(): number {
    this.#failures += 1;
    // Wide from the first on: of those who meet a control plane that is away, most met it in the same second.
    return backoffMs(RETRY, this.#failures + 2, this.#deps.random);
  }
}
