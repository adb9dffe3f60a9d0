import { systemClock } from '../runtime/clock.ts';
import { ChangeFeed, type FollowedChanges } from './change-feed.ts';
import type { CliDeps } from './cli-deps.ts';
import type { ConnectionOptions } from './connection.ts';
import { isPassing, SILENT_MS } from './follow-intent.ts';

/** Known ones that are looked through behind the last new one: what was written late stands among them. */
const OVERLAP = 100;
/** Known at once. */
const MAX_KNOWN = 5000;

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

/** A list whose newest items come first. */
export interface FollowedList<T> {
  readonly page: (limit: number, cursor: string | undefined) => Promise<Page<T>>;
  readonly keyOf: (item: T) => string;
  /** Goes up with newer items; equal ones are in no order. */
  readonly orderOf: (item: T) => number;
  readonly changes: FollowedChanges;
}

/**
 * Tells the newest of a list and then what comes to it, each once, in its order, until the person ends it. A control plane
 * that is restarted meanwhile is waited for; nothing that came in between is left out.
 *
 * @param first with how many of those that are there it begins
 * @throws CliError when the control plane refuses, or does not answer for two minutes
 */
export async function followList<T>(
  list: FollowedList<T>,
  first: number,
  {
    tell,
    options,
    deps,
  }: {
    readonly tell: (items: readonly T[]) => void;
    readonly options: ConnectionOptions;
    readonly deps: CliDeps;
  },
): Promise<never> {
  const clock = deps.clock ?? systemClock;
  await using feed = new ChangeFeed(options, deps, list.changes);
  const seen = new Seen(list);
  let silentSince: number | undefined;
  for (;;) {
    try {
      const items = seen.hasBegun ? await seen.next() : await seen.begin(first);
      silentSince = undefined;
      if (items.length > 0) tell(items);
    } catch (error) {
      const now = clock.now().getTime();
      if (silentSince === undefined && isPassing(error) && deps.isQuiet !== true) {
        deps.err(`servicectl: the control plane does not answer; trying again for ${SILENT_MS / 1000} s\n`);
      }
      silentSince ??= now;
      if (!isPassing(error) || now - silentSince >= SILENT_MS) throw error;
    }
    await feed.changed();
  }
}

/** What was told already, and where it began. */
class Seen<T> {
  readonly #list: FollowedList<T>;
  readonly #known = new Map<string, number>();
  /** What is as old or older was there before, or is known no more. */
  #floor = Number.NEGATIVE_INFINITY;
  hasBegun = false;

  constructor(list: FollowedList<T>) {
    this.#list = list;
  }

  async begin(first: number): Promise<readonly T[]> {
    const { items, nextCursor } = await this.#list.page(Math.max(first, OVERLAP), undefined);
    for (const item of items) this.#note(item);
    const oldest = items.at(-1);
    if (nextCursor !== undefined && oldest !== undefined) this.#floor = this.#list.orderOf(oldest);
    this.hasBegun = true;
    return items.slice(0, first).toReversed();
  }

  async next(): Promise<readonly T[]> {
    const fresh: T[] = [];
    let known = 0;
    let cursor: string | undefined;
    do {
      const { items, nextCursor } = await this.#list.page(OVERLAP, cursor);
      let isBelow = false;
      for (const item of items) {
        isBelow ||= this.#list.orderOf(item) <= this.#floor;
        if (isBelow || this.#known.has(this.#list.keyOf(item))) known += 1;
        else fresh.push(item);
      }
      cursor = isBelow || known >= OVERLAP ? undefined : nextCursor;
    } while (cursor !== undefined);
    fresh.reverse();
    for (const item of fresh) this.#note(item);
    return fresh;
  }

  #note(item: T): void {
    this.#known.set(this.#list.keyOf(item), this.#list.orderOf(item));
    for (const [key, order] of this.#known) {
      if (this.#known.size <= MAX_KNOWN) break;
      this.#known.delete(key);
      this.#floor = Math.max(this.#floor, order);
    }
  }
}
