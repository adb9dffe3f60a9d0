import { backoffMs, type BackoffPolicy } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';

/** Between two tries of one target. */
const RETRY: BackoffPolicy = { minMs: 500, maxMs: 60_000 };

/** At least, before a target that another replica writes to is tried. */
const ELSEWHERE_MS = 300;

/** Of those that wait alone, as many are left out of a batch; further ones are tried again with it. */
const MAX_MEMBERS = 5000;

interface TargetState {
  attempts: number;
  notBefore: number;
}

/**
 * Targets that failed, and when each may be tried again. Those that work take no place. What alone cannot be delivered to,
 * in a queue where all else can, waits alone: a cluster of a repository, an object of a cluster in push mode.
 */
export class TargetStates {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #failing = new Map<string, TargetState>();
  readonly #members = new Map<string, Map<string, TargetState>>();

  constructor(deps: { readonly clock: Clock; readonly random: () => number }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** Milliseconds until the target may be tried; 0 for now. */
  waitOf(key: string): number {
    return this.#waitOf(this.#failing.get(key));
  }

  /** Whether the last try of the target failed. */
  isFailing(key: string): boolean {
    return (this.#failing.get(key)?.attempts ?? 0) > 0;
  }

  succeeded(key: string): void {
    this.#failing.delete(key);
  }

  /** @returns milliseconds until the next try */
  failed(key: string): number {
    return this.#fail(this.#failing, key);
  }

  /** A member of a queue failed, and others of it did not. */
  memberFailed(key: string, member: string): void {
    const members = this.#members.get(key) ?? new Map<string, TargetState>();
    this.#members.set(key, members);
    this.#fail(members, member);
  }

  memberSucceeded(key: string, member: string): void {
    this.#members.get(key)?.delete(member);
  }

  /** Members of the queue that wait alone, and milliseconds until the first of them may be tried. */
  waitingMembers(key: string): { readonly members: readonly string[]; readonly waitMs: number } {
    const waiting = [...(this.#members.get(key) ?? [])]
      .map(([member, state]) => ({ member, waitMs: this.#waitOf(state) }))
      .filter(({ waitMs }) => waitMs > 0)
      .slice(0, MAX_MEMBERS);
    return {
      members: waiting.map(({ member }) => member),
      waitMs: Math.min(...waiting.map(({ waitMs }) => waitMs)),
    };
  }

  /** Another replica writes to it: looked at again soon, in case that one dies. */
  elsewhere(key: string): void {
    const attempts = this.#failing.get(key)?.attempts ?? 0;
    const wait = ELSEWHERE_MS * (1 + this.#random());
    this.#failing.set(key, { attempts, notBefore: this.#clock.now().getTime() + wait });
  }

  /** Forgets the targets that have no work any more. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const states of [this.#failing, this.#members]) {
      for (const key of states.keys()) if (!keys.has(key)) states.delete(key);
    }
  }

  #fail(states: Map<string, TargetState>, key: string): number {
    const attempts = (states.get(key)?.attempts ?? 0) + 1;
    const wait = backoffMs(RETRY, attempts, this.#random);
    states.set(key, { attempts, notBefore: this.#clock.now().getTime() + wait });
    return wait;
  }

  #waitOf(state: TargetState | undefined): number {
    return state === undefined ? 0 : Math.max(0, state.notBefore - this.#clock.now().getTime());
  }
}
