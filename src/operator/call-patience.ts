import { askedWaitMs, backoffMs } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AgentTransport } from './agent-session.ts';

export interface CallPatienceDeps {
  readonly clock: Clock;
  readonly random: () => number;
}

/** Never faster than once a second (specification, "Errors"). */
const RETRY = { minMs: 1000, maxMs: 60_000 };

/**
 * When a call that came to nothing may be made again, whatever wakes its caller before. What a server asked for
 * (`Retry-After`), and the second at least between two calls, end early only for another server: another client is another
 * address or CA. A wait of one's own is also over for another subject, such as another token.
 */
export class CallPatience {
  readonly #deps: CallPatienceDeps;
  #client: AgentTransport | undefined;
  #subject = '';
  #failures = 0;
  /** In milliseconds of the epoch. */
  #asked = 0;
  #own = 0;

  constructor(deps: CallPatienceDeps) {
    this.#deps = deps;
  }

  /** How long not to call yet, in milliseconds. */
  left(client: AgentTransport, subject: string): number {
    if (client !== this.#client) return 0;
    const until = subject === this.#subject ? Math.max(this.#asked, this.#own) : this.#asked;
    return Math.max(0, until - this.#deps.clock.now().getTime());
  }

  /** The call could not be made or was not answered. Answers how long not to make it again, in milliseconds. */
  failed(client: AgentTransport, subject: string, retryAfterMs: number | undefined): number {
    if (client !== this.#client || subject !== this.#subject) this.#failures = 0;
    this.#client = client;
    this.#subject = subject;
    this.#failures += 1;
    const { clock, random } = this.#deps;
    const now = clock.now().getTime();
    this.#asked = now + askedWaitMs(retryAfterMs, RETRY.minMs, random);
    this.#own = now + backoffMs(RETRY, this.#failures, random);
    return this.left(client, subject);
  }

  /** The call was answered. */
  answered(): void {
    this.#failures = 0;
    this.#asked = 0;
    this.#own = 0;
  }
}
