import type { JSX } from 'preact';
import { serverClock } from '../api/server-clock.ts';
import { useStore } from '../use-store.ts';

const TICK_MS = 10_000;

/** The present moment, to within ten seconds, shared by every time on the screen. */
const ticks = {
  now: serverClock.now(),
  timer: undefined as ReturnType<typeof setInterval> | undefined,
  listeners: new Set<() => void>(),
};

const clock = {
  state: (): number => ticks.now,
  subscribe: (listener: () => void): (() => void) => {
    ticks.listeners.add(listener);
    ticks.timer ??= setInterval(tick, TICK_MS);
    return () => {
      ticks.listeners.delete(listener);
      if (ticks.listeners.size > 0) return;
      clearInterval(ticks.timer);
      ticks.timer = undefined;
    };
  },
};

function tick(): void {
  ticks.now = serverClock.now();
  for (const listener of ticks.listeners) listener();
}

/** The present moment in milliseconds, again every ten seconds. */
const useNow = (): number => Math.max(useStore(clock), ticks.timer === undefined ? serverClock.now() : 0);

const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;
const WORDS = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** How far a browser's clock may be behind, or the last tick: nothing is shown as yet to come for that. */
const BEHIND_SECONDS = 20;

/** "3 minutes ago", "in 2 days"; within five seconds "just now". */
export function relative(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  if (seconds > -5 && seconds < BEHIND_SECONDS) return 'just now';
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return WORDS.format(Math.trunc(seconds / size), unit);
  }
  return WORDS.format(seconds, 'second');
}

const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

interface WhenProps {
  /** RFC 3339; nothing is shown without it. */
  readonly at: string | undefined;
  /** Can be reached by the keyboard, to read the exact time. Not in rows of which there are thousands. */
  readonly isFocusable?: boolean;
}

/** A time relative to now; the exact one while the pointer or the focus is on it. */
export function When({ at, isFocusable = true }: WhenProps): JSX.Element | null {
  const now = useNow();
  if (at === undefined) return null;
  const moment = Date.parse(at);
  if (Number.isNaN(moment)) return <span>{at}</span>;
  // Between two ticks it has come to be, and is not to come.
  const hasBeen = moment > now && moment <= serverClock.now();
  return (
    <time class="when" dateTime={at} data-exact={EXACT.format(moment)} {...(isFocusable ? { tabIndex: 0 } : {})}>
      {relative(moment, hasBeen ? moment : now)}
    </time>
  );
}
