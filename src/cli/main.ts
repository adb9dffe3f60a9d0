#!/usr/bin/env node
import { servicectl } from './servicectl.ts';

/** What a shell shows of a program that was ended by SIGPIPE (128 + 13), which Node ignores. */
const READER_GONE = 141;

// `servicectl … | head` has read enough: nothing more is to be said, and nothing went wrong.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(READER_GONE);
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await servicectl(process.argv.slice(2), {
  // oxlint-disable-next-line node/no-process-env
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
});
