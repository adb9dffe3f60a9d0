import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';

/** A person at the keyboard. */
export interface Terminal {
  /** Undefined where the person ends the input (Ctrl-D). */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** As `ask`; what is typed is not shown. */
  readonly askHidden: (question: string) => Promise<string | undefined>;
}

/** Questions go to standard error, so that standard output holds what was asked for alone. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal {
  return {
    ask: async (question) => await askLine(input, output, question),
    askHidden: async (question) => {
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      try {
        // Asked once the terminal no longer shows by itself what is typed.
        return await askLine(input, nowhere, '', () => output.write(question));
      } finally {
        output.write('\n');
      }
    },
  };
}

async function askLine(
  input: ReadStream,
  output: NodeJS.WritableStream,
  question: string,
  ready?: () => void,
): Promise<string | undefined> {
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  try {
    return await new Promise((resolve) => {
      // In a terminal's raw mode Ctrl-C is a key: it ends the program as it does elsewhere.
      lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
      lines.once('close', () => resolve(undefined));
      lines.question(question, resolve);
      ready?.();
    });
  } finally {
    lines.close();
  }
}
