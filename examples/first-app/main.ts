import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { systemClock } from '../../src/runtime/clock.ts';
import { MODE_SWITCH } from '../mode-switch/mode-switch.ts';
import { OPERATIONS } from '../operations/operations.ts';
import { runExample } from '../run-example.ts';
import { parseOptions, USAGE, type DemoOptions } from './options.ts';
import { plainProgress, silentProgress, terminalProgress, type Progress } from './progress.ts';
import { printKept, printSummary } from './report.ts';
import { runIntents } from './run-intents.ts';
import { setStage, type ClusterSpec } from './stage.ts';
import type { IntentRequest } from './take-intent.ts';

const HERE = import.meta.dirname;

/** Ctrl-C, a TERM signal, a terminal that is closed, or a reader that closed the pipe: everything is taken down, nothing is an error. */
class Stopped extends Error {}

async function main(options: DemoOptions, stop: AbortSignal): Promise<boolean> {
  const write = (text: string): void => void process.stdout.write(text);
  const live =
    !options.json && process.stdout.isTTY ? terminalProgress(write, () => performance.now(), options.mode) : undefined;
  const progress: Progress = options.json ? silentProgress : (live ?? plainProgress(write));
  using _ = live;
  const cluster = parse(await readFile(join(HERE, 'cluster.yaml'), 'utf8')) as ClusterSpec & Record<string, unknown>;
  const files = (await readdir(join(HERE, 'intents'))).toSorted();
  const requests = await Promise.all(
    files.map(async (file) => parse(await readFile(join(HERE, 'intents', file), 'utf8')) as IntentRequest),
  );

  // The logs of a run that failed stay; its message names them.
  let keepFolder = true;
  const staging = setStage({
    progress,
    kubeconfig: options.kubeconfig,
    keepFolder: () => keepFolder,
    keepTraces: options.keep,
    cluster: { ...cluster, connectivityMode: options.mode },
  });
  await using taken = new AsyncDisposableStack();
  taken.defer(async () => await (await staging.catch(() => undefined))?.[Symbol.asyncDispose]());
  try {
    const stage = await unlessStopped(staging, stop);
    const result = await unlessStopped(
      runIntents({
        stage,
        progress,
        clock: systemClock,
        requests,
        tidyUp: options.kubeconfig !== undefined && !options.keep,
      }),
      stop,
    );
    if (options.json) write(`${JSON.stringify(result.json, null, 2)}\n`);
    else printSummary(write, result, stage, options.keep);
    keepFolder = !result.json.ok;
    if (options.keep) {
      await printKept(options.json ? (text) => void process.stderr.write(text) : write, stage);
      await unlessStopped(new Promise<never>(() => undefined), stop);
    }
    return result.json.ok;
  } catch (fault) {
    if (fault instanceof Stopped) keepFolder = false;
    throw fault;
  }
}

async function unlessStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const end = (): void => stopped.reject(new Stopped());
  if (stop.aborted) end();
  stop.addEventListener('abort', end, { once: true });
  return await Promise.race([work, stopped.promise]);
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
process.stdout.on('error', () => stop.abort());
try {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(`${USAGE}\n`);
  else if (options.scenario === 'mode-switch') await runExample(MODE_SWITCH, options.json ? ['--json'] : []);
  else if (options.scenario === 'operations') await runExample(OPERATIONS, options.json ? ['--json'] : []);
  else process.exitCode = (await main(options, stop.signal)) ? 0 : 1;
} catch (fault) {
  if (fault instanceof Stopped) process.exitCode = 130;
  else {
    process.stderr.write(`demo: ${fault instanceof Error ? fault.message : String(fault)}\n`);
    process.exitCode = 1;
  }
}
