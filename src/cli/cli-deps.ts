import type { Clock } from '../runtime/clock.ts';

/** What a command works with besides its arguments. */
export interface CliDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether `out` is a terminal, which shows colours. */
  readonly isTerminal?: boolean;
  /** Whether what is printed is coloured: set from `isTerminal`, `--color` and `NO_COLOR` before a command runs. */
  readonly isColoured?: boolean;
  /** Of what waits. Default: the system's. */
  readonly clock?: Clock;
  /** For names that are made up. Default: the system's. */
  readonly randomBytes?: (n: number) => Uint8Array;
}
