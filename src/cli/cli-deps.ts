import type { Clock } from '../runtime/clock.ts';
import type { Terminal } from './terminal.ts';

/** What a command works with besides its arguments. */
export interface CliDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether `out` is a terminal, which shows colours. */
  readonly isTerminal?: boolean;
  /** Of the terminal that `out` is, as it is now. */
  readonly terminalSize?: () => { readonly columns: number; readonly rows: number };
  /** Of the terminal that `err` is, where a line can be written over; absent where it is none. */
  readonly errorColumns?: number;
  /** Whether what is printed is coloured: set from `isTerminal`, `--color` and `NO_COLOR` before a command runs. */
  readonly isColoured?: boolean;
  /** Whether nothing is said about what is waited for: `--quiet`. */
  readonly isQuiet?: boolean;
  /** Whom a command may ask. Absent where standard input is no terminal. */
  readonly terminal?: Terminal;
  /** What is said where a person ends a command that waits. */
  readonly interruption?: Interruption;
  /** Of what waits. Default: the system's. */
  readonly clock?: Clock;
  /** For names that are made up, and jitter. Default: the system's. */
  readonly randomBytes?: (n: number) => Uint8Array;
}

/** Set while a command waits for work that goes on without it. */
export interface Interruption {
  say: string | undefined;
}
