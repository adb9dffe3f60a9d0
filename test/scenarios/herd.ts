import { AGENT_PATHS } from '../../src/operator/agent-paths.ts';
import { AgentSession, type AgentTransport } from '../../src/operator/agent-session.ts';
import type { AgentAnswer } from '../../src/operator/agent-answer.ts';
import type { AgentCall } from '../../src/operator/agent-client.ts';
import { ConfigLoop } from '../../src/operator/config-loop.ts';
import { Contact } from '../../src/operator/contact.ts';
import { JobPoll } from '../../src/operator/jobs/job-poll.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { aConfig } from '../operator/fake-control-plane.ts';
import { ManualClock } from '../support/manual-clock.ts';

const STEP_MS = 100;
const CONFIG = aConfig({ connectivity_mode: 'gitops' });

/** How a control plane goes and what is there until it is back. */
export interface Outage {
  /** What becomes of the polls that it holds. */
  readonly held: 'cut' | 'answered';
  /** What a request meets meanwhile. */
  readonly meanwhile: 'nobody' | 'unavailable';
  readonly seconds: number;
}

/** What an operator holds: the job poll in pull mode, the request for its configuration in the others. */
export type Held = 'jobs' | 'config';

/** One control plane in memory that holds requests, and those loops of a fleet of operators that make them, on one clock. */
export class Herd implements AsyncDisposable {
  readonly clock = new ManualClock();
  /** When each request came that a running control plane saw, in milliseconds. */
  readonly seen: number[] = [];
  /** When each cluster came first since `forgetContacts`. */
  #contacts = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #random: () => number;
  #outage: Outage | undefined;
  #goes = Promise.withResolvers<Outage>();

  constructor(size: number, seed: number, held: Held = 'jobs') {
    this.#random = seededRandom(seed);
    for (let index = 0; index < size; index += 1) this.#join(`c-${index}`, held);
  }

  get now(): number {
    return this.clock.now().getTime();
  }

  /** Answers what fills with the time of each cluster's next request. */
  forgetContacts(): ReadonlyMap<string, number> {
    this.#contacts = new Map();
    return this.#contacts;
  }

  /** Lets time pass, and everybody do what is due. */
  async pass(seconds: number): Promise<void> {
    for (let left = seconds * 1000; left > 0; left -= STEP_MS) {
      this.clock.advance(STEP_MS);
      // Nothing here waits for anything but this clock, so one turn of the event loop is enough.
      await new Promise(setImmediate);
    }
  }

  /** The control plane goes, and comes back. */
  async suffer(outage: Outage): Promise<void> {
    this.#outage = outage;
    this.#goes.resolve(outage);
    this.#goes = Promise.withResolvers();
    await this.pass(outage.seconds);
    this.#outage = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #join(clusterId: string, held: Held): void {
    const { clock } = this;
    const random = this.#random;
    const contact = new Contact({ clock, onChange: () => undefined });
    const session = new AgentSession({
      contact,
      logger: createLogger('test', 'silent'),
      refresh: async () => await Promise.resolve({ state: 'refused' }),
      onAuthenticated: () => undefined,
    });
    const transport: AgentTransport = { call: async (call) => await this.#call(clusterId, call) };
    const config = new ConfigLoop({
      session,
      contact,
      clock,
      random,
      logger: createLogger('test', 'silent'),
      isServed: true,
      onConfig: () => undefined,
    });
    const poll = new JobPoll({
      session,
      contact,
      isPull: () => true,
      room: () => 10,
      take: async () => await Promise.resolve(0),
      acknowledged: async () => await Promise.resolve(),
      onFault: () => undefined,
      clock,
      random,
      logger: createLogger('test', 'silent'),
    });
    const begin = async (): Promise<void> => {
      await clock.sleep(random() * 50_000, this.#stop.signal);
      session.use(transport, { token: new Secret(clusterId), clusterId });
      await (held === 'jobs' ? poll : config).run(this.#stop.signal);
    };
    this.#running.push(begin().catch(() => undefined));
  }

  async #call(clusterId: string, { holdSeconds = 0, path }: AgentCall): Promise<AgentAnswer> {
    if (this.#outage !== undefined) return refusal(this.#outage);
    this.seen.push(this.now);
    if (!this.#contacts.has(clusterId)) this.#contacts.set(clusterId, this.now);
    const over = new AbortController();
    const stop = AbortSignal.any([over.signal, this.#stop.signal]);
    const gone = this.#goes.promise;
    const elapsed = this.clock.sleep(holdSeconds * 1000, stop).then(() => undefined);
    const outage = await Promise.race([gone, elapsed]);
    over.abort();
    await elapsed.catch(() => undefined);
    if (outage?.held === 'cut') return { state: 'unavailable', message: 'reset', cut: true, answered: false };
    if (path.startsWith(AGENT_PATHS.jobs)) return { state: 'ok', status: 200, body: { jobs: [] } };
    const body = holdSeconds === 0 ? CONFIG : undefined;
    return { state: 'ok', status: body === undefined ? 304 : 200, body, etag: '"1"', revision: '1' };
  }
}

function refusal({ meanwhile }: Outage): AgentAnswer {
  if (meanwhile === 'nobody') return { state: 'unavailable', message: 'ECONNREFUSED', cut: false, answered: false };
  return { state: 'unavailable', message: 'answered 503', cut: false, answered: false, retryAfterMs: 5000 };
}

/** Mulberry32: the same numbers at each run. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
