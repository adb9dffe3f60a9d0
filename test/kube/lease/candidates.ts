import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { KubeError, type ClusterApi } from '../../../src/kube/cluster-api.ts';
import { LeaderElection } from '../../../src/kube/lease/leader-election.ts';
import { readLease, type LeaseName, type LeaseObject } from '../../../src/kube/lease/lease-record.ts';
import type { Term } from '../../../src/kube/lease/term.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const NEVER = new AbortController().signal;
/** Turns of the event loop without a request under way, after which nothing is under way at all. */
const QUIET_TURNS = 5;
/** What has not ended by then hangs, and the test says why. */
const MOST_TURNS = 10_000;

/** Candidates for one Lease, each with a clock of its own: one whose clock stands still is dead or suspended. */
export class Candidates implements AsyncDisposable {
  readonly api: ClusterApi;
  readonly lease: LeaseName;
  readonly #all: Candidate[] = [];

  constructor(api: ClusterApi, name: string) {
    this.api = api;
    this.lease = { namespace: 'default', name };
  }

  /** @param time what its wall clock says */
  async add(identity: string, options: CandidateOptions = {}): Promise<Candidate> {
    const candidate = new Candidate(this.api, this.lease, identity, options);
    this.#all.push(candidate);
    await this.settled();
    return candidate;
  }

  /** Time goes by for these, all the same, in steps short enough for every pause there is. */
  async pass(ms: number, ...candidates: readonly Candidate[]): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      for (const { clock } of candidates) clock.advance(100);
      await this.settled();
    }
  }

  /** Until no candidate waits for the API server. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      await turn();
      if (this.#all.some(({ asking }) => asking > 0)) quiet = 0;
    }
  }

  async read(): Promise<LeaseObject | undefined> {
    return await readLease(this.api, this.lease, NEVER);
  }

  async holder(): Promise<string | null | undefined> {
    return (await this.read())?.spec?.holderIdentity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const candidate of this.#all) await candidate.stop().catch(() => undefined);
  }
}

export interface CandidateOptions {
  readonly time?: string;
  readonly lead?: (term: Term) => Promise<void>;
  readonly labels?: () => Readonly<Record<string, string>>;
}

export class Candidate {
  readonly clock: ManualClock;
  readonly election: LeaderElection;
  readonly log: { readonly level: number; readonly msg: string; readonly holder?: string }[] = [];
  /** Requests under way. */
  asking = 0;
  /** `gone`: nobody answers. A number: every request is refused with it. */
  server: 'there' | 'gone' | number = 'there';
  term: Term | undefined;
  terms = 0;
  readonly ended: Promise<unknown>;
  readonly #stop = new AbortController();

  constructor(api: ClusterApi, lease: LeaseName, identity: string, options: CandidateOptions) {
    this.clock = new ManualClock(options.time);
    const sink = new Writable({
      write: (line: Buffer, _encoding, done) => {
        this.log.push(JSON.parse(String(line)) as (typeof this.log)[number]);
        done();
      },
    });
    const start = this.clock.now().getTime();
    this.election = new LeaderElection({
      api: this.#through(api),
      lease,
      identity,
      labels: options.labels ?? (() => ({})),
      clock: this.clock,
      elapsedMs: () => this.clock.now().getTime() - start,
      random: () => 0,
      logger: pino({ level: 'trace' }, sink),
    });
    const lead = options.lead ?? untilAborted;
    this.ended = this.election
      .run(this.#stop.signal, async (term) => {
        this.term = term;
        this.terms += 1;
        await lead(term);
      })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
  }

  /** Ends as a process does that is told to. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopping'));
    const over = new AbortController();
    void this.ended.then(() => over.abort());
    for (let turns = 0; turns < MOST_TURNS && !over.signal.aborted; turns += 1) await turn();
  }

  #through(api: ClusterApi): ClusterApi {
    const send = async <T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
      if (this.server === 'gone') return await never(signal);
      if (this.server !== 'there') throw new KubeError('no', { status: this.server, reason: 'Refused' });
      this.asking += 1;
      try {
        return await work();
      } finally {
        this.asking -= 1;
      }
    };
    return {
      ...api,
      get: async (ref, signal) => await send(signal, async () => await api.get(ref, signal)),
      create: async (object, manager, signal) =>
        await send(signal, async () => await api.create(object, manager, signal)),
      mergePatch: async (ref, patch, options, signal) =>
        await send(signal, async () => await api.mergePatch(ref, patch, options, signal)),
    };
  }
}

export async function untilAborted(term: Term): Promise<void> {
  await never(term.signal).catch(() => undefined);
}

async function never(signal: AbortSignal | undefined): Promise<never> {
  return await new Promise((_resolve, reject) => {
    const end = (): void => reject(new Error('aborted'));
    if (signal?.aborted === true) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}
