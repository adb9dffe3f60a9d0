import type { CliDeps } from './cli-deps.ts';
import { printable } from './git-views.ts';

export interface Progress {
  /** Where it stands now. */
  readonly say: (text: string) => void;
  /** What is waited for is over: in a terminal its line goes. */
  readonly end: () => void;
}

/**
 * What is told on standard error while a command waits: one line that is written over in a terminal, a line for each step
 * in a pipe, nothing with `--quiet`.
 *
 * @param onInterrupt how to look at the work, which goes on when the person has waited enough (Ctrl-C)
 */
export function startProgress(
  deps: Pick<CliDeps, 'err' | 'errorColumns' | 'isQuiet' | 'interruption'>,
  onInterrupt: string,
): Progress {
  if (deps.interruption !== undefined) deps.interruption.say = onInterrupt;
  const columns = deps.errorColumns;
  let isShown = false;
  return {
    say: (text) => {
      if (deps.isQuiet === true) return;
      const line = printable(text).replaceAll('\n', ' ').trimEnd();
      // A line that is wrapped is not written over as a whole.
      deps.err(columns === undefined ? `${line}\n` : `\r\u001b[K${line.slice(0, Math.max(1, (columns || 80) - 1))}`);
      isShown = columns !== undefined;
    },
    end: () => {
      if (isShown) deps.err('\r\u001b[K');
      isShown = false;
      if (deps.interruption !== undefined) deps.interruption.say = undefined;
    },
  };
}
