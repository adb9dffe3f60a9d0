#!/usr/bin/env node
import type { Interruption } from './cli-deps.ts';
import { servicectl } from './servicectl.ts';
import { terminalOf } from './terminal.ts';

/** What a shell shows of a program that was ended by SIGPIPE (128 + 13), which Node ignores. */
const READER_GONE = 141;
/** What a shell shows of a program that was ended by SIGINT (128 + 2). */
const INTERRUPTED = 130;

// `servicectl … | head` has read enough: nothing more is to be said, and nothing went wrong.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(READER_GONE);
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// What a command waits for goes on without it: the person is told how to look at it.
const interruption: Interruption = { say: undefined };
process.on('SIGINT', () => {
  if (interruption.say !== undefined) process.stderr.write(`\n${interruption.say}\n`);
  process.exit(INTERRUPTED);
});

process.exitCode = await servicectl(process.argv.slice(2), {
  // oxlint-disable-next-line node/no-process-env
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
  terminalSize: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  ...(process.stderr.isTTY ? { errorColumns: process.stderr.columns } : {}),
  interruption,
  ...(process.stdin.isTTY && process.stderr.isTTY ? { terminal: terminalOf(process.stdin, process.stderr) } : {}),
});
