import type { Clock } from '../runtime/clock.ts';
import { CliError } from './cli-error.ts';
import { ENDED, progressLine, type ShownOperation } from './operation-text.ts';

const EVERY_MS = 1000;
/** A control plane that is restarted meanwhile is waited for. */
const SILENT_MS = 60_000;

/**
 * Says where an operation stands whenever that changes, until it has ended or the time is up.
 *
 * @returns the operation as it was seen last
 * @throws CliError when the control plane refuses, or does not answer for a minute
 */
export async function followOperation({
  read,
  say,
  clock,
  timeoutMs,
}: {
  readonly read: () => Promise<ShownOperation>;
  readonly say: (text: string) => void;
  readonly clock: Clock;
  readonly timeoutMs: number;
}): Promise<ShownOperation> {
  const endAt = clock.now().getTime() + timeoutMs;
  let silentSince: number | undefined;
  let said: string | undefined;
  for (;;) {
    try {
      const now = await read();
      silentSince = undefined;
      const line = progressLine(now);
      if (line !== said) say(`${clock.now().toISOString()}  ${line}\n`);
      said = line;
      if (ENDED.includes(now.phase) || clock.now().getTime() >= endAt) return now;
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
