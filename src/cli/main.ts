#!/usr/bin/env node
import { servicectl } from './servicectl.ts';

process.exitCode = await servicectl(process.argv.slice(2), {
  // oxlint-disable-next-line node/no-process-env
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
});
