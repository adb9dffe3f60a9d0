import { backoffMs, type BackoffPolicy } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';

/** Between two tries of one target. */
const RETRY: BackoffPolicy = { minMs: 500, maxMs: 60_000 };

/** At least, before a target that another replica writes to is tried. */
const ELSEWHERE_MS = 300;

interface TargetState {
  attempts: number;
  notBefore: number;
}

/**
 * Targets that failed, and when each may be tried again. Those that work take no place. A cluster that alone cannot be
 * delivered to, in a queue where others can, waits alone.
 */
export class TargetStates {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #failing = new Map<string, TargetState>();

  constructor(deps: { readonly clock: Clock; readonly random: () => number }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** Milliseconds until the target may be tried; 0 for now. */
  waitOf(key: string): number {
    const state = this.#failing.get(key);
    return state === undefined ? 0 : Math.max(0, state.notBefore - this.#clock.now().getTime());
  }

  succeeded(key: string): void {
    this.#failing.delete(key);
  }

  /** @returns milliseconds until the next try */
  failed(key: string): number {
    const attempts = (this.#failing.get(key)?.attempts ?? 0) + 1;
    const wait = backoffMs(RETRY, attempts, this.#random);
    this.#failing.set(key, { attempts, notBefore: this.#clock.now().getTime() + wait });
    return wait;
  }

  /** A cluster of a queue failed, and others of it did not. */
  clusterFailed(key: string, clusterId: string): void {
    this.failed(memberKey(key, clusterId));
  }

  clusterSucceeded(key: string, clusterId: string): void {
    this.succeeded(memberKey(key, clusterId));
  }

  /** Clusters of the queue that wait alone, and milliseconds until the first of them may be tried. */
  waitingClusters(key: string): { readonly clusterIds: readonly string[]; readonly waitMs: number } {
    const waiting = [...this.#failing.keys()]
      .filter((member) => member.startsWith(memberKey(key, '')))
      .map((member) => ({ clusterId: member.slice(memberKey(key, '').length), waitMs: this.waitOf(member) }))
      .filter(({ waitMs }) => waitMs > 0);
    return {
      clusterIds: waiting.map(({ clusterId }) => clusterId),
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
    for (const key of this.#failing.keys()) {
      const [queue = key] = key.split(SEPARATOR);
      if (!keys.has(queue)) this.#failing.delete(key);
    }
  }
}

/** In no queue's key. */
const SEPARATOR = ' ';

function memberKey(key: string, clusterId: string): string {
  return `${key}${SEPARATOR}${clusterId}`;
}
