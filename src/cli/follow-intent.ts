import { systemClock } from '../runtime/clock.ts';
import { ChangeFeed } from './change-feed.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, type ConnectionOptions } from './connection.ts';
import { startProgress } from './progress.ts';
import { endingOf, oneLine, waitingText, type Ending, type Timeline } from './timeline-text.ts';

/** A control plane that is restarted meanwhile is waited for. */
export const SILENT_MS = 120_000;

export interface FollowedIntent {
  readonly id: string;
  readonly cluster: string;
  /** As people name what it is about. */
  readonly what: string;
  readonly good: Ending;
}

/**
 * Follows an intent along its time line and says what it waits for, until it has come to its end.
 *
 * @throws CliError with exit status 1 where it came to another end than meant, 3 where the time is up before that
 */
export async function followIntent(
  { id, cluster, what, good }: FollowedIntent,
  options: ConnectionOptions & { readonly timeout: number },
  deps: CliDeps,
): Promise<void> {
  const clock = deps.clock ?? systemClock;
  const endAt = clock.now().getTime() + options.timeout * 1000;
  const next = `To see where it is: servicectl intents show ${id}`;
  const progress = startProgress(deps, `${id} goes on. ${next}`);
  await using feed = new ChangeFeed(options, deps, { resource: 'intents,approvals,proposals,jobs', cluster });
  const said = new Set<string>();
  let silentSince: number | undefined;
  try {
    for (;;) {
      let timeline: Timeline | undefined;
      try {
        timeline = await callControlPlane<Timeline>(
          options,
          deps,
          'GET',
          `/intents/${encodeURIComponent(id)}/timeline`,
        );
        silentSince = undefined;
      } catch (error) {
        const now = clock.now().getTime();
        silentSince ??= now;
        if (!isPassing(error) || now - silentSince >= SILENT_MS || now >= endAt) throw error;
      }
      if (timeline !== undefined) {
        tell(timeline, said, progress.say);
        const ending = endingOf(timeline);
        if (ending?.as === good) return;
        if (ending !== undefined) throw new CliError(EXIT.failed, `${what} ${ending.as}: ${ending.text}`, next);
        if (clock.now().getTime() >= endAt) throw notYet(what, options.timeout, timeline, next);
      }
      await feed.changed(Math.max(0, endAt - clock.now().getTime()));
    }
  } finally {
    progress.end();
  }
}

function notYet(what: string, seconds: number, timeline: Timeline, next: string): CliError {
  const waits = waitingText(timeline);
  const message = `${what} is not there after ${seconds} s, and goes on${waits === undefined ? '' : `; ${waits}`}`;
  return new CliError(EXIT.notReady, message, next);
}

/** Each step once, and what it waits for whenever that is another. */
function tell({ items }: Timeline, said: Set<string>, say: (text: string) => void): void {
  for (const { at, step, state, text } of items) {
    if (state === 'pending') continue;
    const key = state === 'current' ? `${step} ${text}` : step;
    if (said.has(key)) continue;
    said.add(key);
    const now = state === 'current' ? (waitingText({ items }) ?? '') : oneLine(text);
    say(`${at ?? ''}${at === undefined ? '' : '  '}${now}\n`);
  }
}

/** No answer, or one of a server that is in trouble. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof CliError) || error.exitCode === EXIT.usage) return false;
  const { cause } = error;
  return !(cause instanceof Error && 'status' in cause && typeof cause.status === 'number' && cause.status < 500);
}
