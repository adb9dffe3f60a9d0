import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { systemClock } from '../runtime/clock.ts';
import { createLogger } from '../runtime/logger.ts';
import { answerArguments } from '../runtime/program-arguments.ts';
import { readConfig } from './config.ts';
import { CONTROL_PLANE_PROGRAM } from './program.ts';
import { startControlPlane } from './start-control-plane.ts';

/** Nothing was started: the message says what to change. */
const EXIT_NOT_STARTED = 2;
/** It ran and met a fault that it should have survived. */
const EXIT_FAILED = 1;
/** A second signal: the operator of the machine does not want to wait. */
const EXIT_KILLED = 130;

async function main(): Promise<number> {
  const answer = answerArguments(CONTROL_PLANE_PROGRAM, process.argv.slice(2));
  if (answer !== undefined) {
    process[answer.stream].write(answer.text);
    return answer.exitCode;
  }
  const stopping = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  let logger;
  let controlPlane;
  try {
    const config = readConfig(process.env);
    logger = createLogger('service-control-plane', config.logLevel);
    controlPlane = await startControlPlane(config, { clock: systemClock, randomBytes, random: Math.random, logger });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`service-control-plane: ${message}\n`);
    return EXIT_NOT_STARTED;
  }
  await using running = controlPlane;
  process.stdout.write(`service-control-plane is ready at ${running.url}\n`);
  if (running.adminToken !== undefined) {
    process.stdout.write(`admin token, shown this once: ${running.adminToken.expose()}\n`);
  }
  try {
    await Promise.race([stopping, running.failed]);
  } catch (error) {
    logger.fatal({ err: error }, 'the control plane failed');
    return EXIT_FAILED;
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(EXIT_KILLED));
  logger.info('stopping');
  return 0;
}

process.exitCode = await main();
