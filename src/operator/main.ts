import { systemClock } from '../runtime/clock.ts';
import { createLogger } from '../runtime/logger.ts';
import { answerArguments } from '../runtime/program-arguments.ts';
import { readConfig } from './config.ts';
import { OPERATOR_PROGRAM } from './program.ts';
import { registerCommand } from './register-command.ts';
import { startOperator } from './start-operator.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Runs until told to stop; the exit status: 0 after a signal, 1 after a fault, 2 where it could not start. */
async function main(): Promise<number> {
  const [command, ...rest] = process.argv.slice(2);
  if (command === 'register') return await register(rest);
  const answer = answerArguments(OPERATOR_PROGRAM, process.argv.slice(2));
  if (answer !== undefined) {
    process[answer.stream].write(answer.text);
    return answer.exitCode;
  }
  const stopped = Promise.withResolvers<void>();
  for (const name of STOP_SIGNALS) process.once(name, () => stopped.resolve());
  let logger;
  let operator;
  try {
    // oxlint-disable-next-line node/no-process-env
    const config = readConfig(process.env);
    logger = createLogger('service-operator', config.logLevel);
    const elapsedMs = (): number => performance.now();
    operator = await startOperator(config, { clock: systemClock, elapsedMs, random: Math.random, logger });
    logger.info({ namespace: config.namespace, probes: operator.probesUrl }, 'started');
  } catch (error) {
    // A variable, the kubeconfig or the address: the message says what to change.
    process.stderr.write(`service-operator: ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  try {
    await using running = operator;
    await Promise.race([stopped.promise, running.failed]);
    logger.info('stopping');
    return 0;
  } catch (error) {
    logger.fatal({ err: error }, 'the operator cannot go on');
    return 1;
  }
}

/** Environment and streams for `register`; 2 where the environment cannot be read. */
async function register(args: readonly string[]): Promise<number> {
  try {
    // oxlint-disable-next-line node/no-process-env
    const config = readConfig(process.env);
    return await registerCommand(args, {
      config,
      clock: systemClock,
      random: Math.random,
      out: (text) => void process.stdout.write(text),
      err: (text) => void process.stderr.write(text),
      stdin: process.stdin,
    });
  } catch (error) {
    process.stderr.write(`service-operator: ${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

process.exitCode = await main();
