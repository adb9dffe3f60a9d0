import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { systemClock } from '../../src/runtime/clock.ts';
import { parseOptions, type DemoOptions } from './options.ts';
import { plainProgress, silentProgress, terminalProgress, type Progress } from './progress.ts';
import { printKept, printSummary } from './report.ts';
import { runIntents } from './run-intents.ts';
import { setStage, type ClusterSpec } from './stage.ts';

const HERE = import.meta.dirname;

async function main(options: DemoOptions): Promise<boolean> {
  const write = (text: string): void => void process.stdout.write(text);
  const live = !options.json && process.stdout.isTTY ? terminalProgress(write, () => performance.now()) : undefined;
  const progress: Progress = options.json ? silentProgress : (live ?? plainProgress(write));
  using _ = live;
  const cluster = parse(await readFile(join(HERE, 'cluster.yaml'), 'utf8')) as ClusterSpec & Record<string, unknown>;
  const files = (await readdir(join(HERE, 'intents'))).toSorted();
  const requests = await Promise.all(
    files.map(async (file) => parse(await readFile(join(HERE, 'intents', file), 'utf8')) as IntentFile),
  );

  await using stage = await setStage({ progress, kubeconfig: options.kubeconfig, keepFolder: options.keep, cluster });
  const result = await runIntents({ stage, progress, clock: systemClock, requests });
  if (options.json) write(`${JSON.stringify(result.json, null, 2)}\n`);
  else printSummary(write, result);
  if (options.keep) {
    await printKept(options.json ? (text) => void process.stderr.write(text) : write, stage);
    await new Promise<void>((resolve) => {
      process.once('SIGINT', resolve);
      process.once('SIGTERM', resolve);
    });
  }
  return result.json.ok;
}

type IntentFile = Parameters<typeof runIntents>[0]['requests'][number];

try {
  process.exitCode = (await main(parseOptions(process.argv.slice(2)))) ? 0 : 1;
} catch (fault) {
  process.stderr.write(`demo: ${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exitCode = 1;
}
