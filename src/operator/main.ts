import { systemClock } from '../runtime/clock.ts';
import { createLogger } from '../runtime/logger.ts';
import { answerArguments } from '../runtime/program-arguments.ts';
import { ConfigError, readConfig, VARIABLE_NAMES, type OperatorConfig } from './config.ts';
import { startOperator } from './start-operator.ts';

const PROGRAM = {
  name: 'service-operator',
  summary: 'Brings about in its cluster what the control plane delivers, and reports what became of it.',
  variables: VARIABLE_NAMES,
};
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Runs until told to stop; the exit status: 0 after a signal, 1 after a fault, 2 for a configuration that cannot be used. */
async function main(): Promise<number> {
  const answer = answerArguments(PROGRAM, process.argv.slice(2));
  if (answer !== undefined) {
    process[answer.stream].write(answer.text);
    return answer.exitCode;
  }
  let config: OperatorConfig;
  try {
    // oxlint-disable-next-line node/no-process-env
    config = readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`service-operator: ${error.message}\n`);
    return 2;
  }
  const logger = createLogger('service-operator', config.logLevel);
  const stopped = Promise.withResolvers<void>();
  for (const name of STOP_SIGNALS) process.once(name, () => stopped.resolve());
  try {
    await using operator = await startOperator(config, {
      clock: systemClock,
      elapsedMs: () => performance.now(),
      random: Math.random,
      logger,
    });
    logger.info({ namespace: config.namespace, probes: operator.probesUrl }, 'started');
    await Promise.race([stopped.promise, operator.failed]);
    logger.info('stopping');
    return 0;
  } catch (error) {
    logger.fatal({ err: error }, 'the operator cannot go on');
    return 1;
  }
}

process.exitCode = await main();
