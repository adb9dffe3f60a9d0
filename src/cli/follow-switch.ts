import type { Clock } from '../runtime/clock.ts';
import { CliError } from './cli-error.ts';
import { printable } from './git-views.ts';
import type { ShownSwitch } from './mode-text.ts';

const EVERY_MS = 1000;
/** A control plane that is restarted meanwhile is waited for. */
const SILENT_MS = 60_000;

export interface FollowDeps {
  readonly read: () => Promise<ShownSwitch>;
  readonly say: (text: string) => void;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Says each step of a switch of mode once, and what it waits for whenever that changes, until it is over or the time is up.
 *
 * @returns the switch as it was seen last
 * @throws CliError when the control plane refuses, or does not answer for a minute
 */
export async function followSwitch({ read, say, clock, timeoutMs }: FollowDeps): Promise<ShownSwitch> {
  const endAt = clock.now().getTime() + timeoutMs;
  let silentSince: number | undefined;
  let said = 0;
  let waitedFor: string | undefined;
  for (;;) {
    try {
      const now = await read();
      silentSince = undefined;
      for (const { at, state, message } of now.steps.slice(said)) say(printable(`${at}  ${state}: ${message}\n`));
      said = Math.max(said, now.steps.length);
      if (now.waitingFor !== waitedFor && now.waitingFor !== undefined) {
        say(printable(`${' '.repeat(clock.now().toISOString().length)}  waiting for ${now.waitingFor}\n`));
      }
      waitedFor = now.waitingFor;
      if (now.finishedAt !== undefined || clock.now().getTime() >= endAt) return now;
    } catch (error) {
      const at = clock.now().getTime();
      silentSince ??= at;
      // What was answered and is no fault of the server's stays so.
      if (!isPassing(error) || at - silentSince >= SILENT_MS || at >= endAt) throw error;
    }
    await clock.sleep(EVERY_MS);
  }
}

/** No answer, or one of a server that is in trouble. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof CliError)) return false;
  const { cause } = error;
  return !(cause instanceof Error && 'status' in cause && typeof cause.status === 'number' && cause.status < 500);
}
