import { parseArgs } from 'node:util';
import { plainProgress, silentProgress, type Progress } from './first-app/progress.ts';

/** Ctrl-C, a TERM signal or a closed pipe: everything is taken down, nothing is an error. */
class Stopped extends Error {}

/** What an example is, to be run from a command line. `Told` is what `--json` prints. */
export interface Example<Stage extends AsyncDisposable, Told extends { readonly ok: boolean }> {
  readonly name: string;
  readonly usage: string;
  readonly setStage: (progress: Progress) => Promise<Stage>;
  readonly play: (stage: Stage, progress: Progress) => Promise<Told>;
  /** The last lines for a person, before the one that says whether it went well. */
  readonly summary?: (told: Told) => string;
}

/** Runs an example to its end and sets the exit status: 0, 1 when something was not as expected, 130 when it was stopped. */
export async function runExample<Stage extends AsyncDisposable, Told extends { readonly ok: boolean }>(
  example: Example<Stage, Told>,
  args: readonly string[] = process.argv.slice(2),
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  process.stdout.on('error', () => stop.abort());
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    });
    if (values.help) process.stdout.write(`${example.usage}\n`);
    else process.exitCode = (await playOnce(example, values.json, stop.signal)) ? 0 : 1;
  } catch (fault) {
    if (fault instanceof Stopped) process.exitCode = 130;
    else {
      process.stderr.write(`${example.name}: ${fault instanceof Error ? fault.message : String(fault)}\n`);
      process.exitCode = 1;
    }
  }
}

async function playOnce<Stage extends AsyncDisposable, Told extends { readonly ok: boolean }>(
  { setStage, play, summary }: Example<Stage, Told>,
  json: boolean,
  stop: AbortSignal,
): Promise<boolean> {
  const write = (text: string): void => void process.stdout.write(text);
  const progress = json ? silentProgress : plainProgress(write);
  const staging = setStage(progress);
  await using taken = new AsyncDisposableStack();
  taken.defer(async () => await (await staging.catch(() => undefined))?.[Symbol.asyncDispose]());
  const stopped = Promise.withResolvers<never>();
  stop.addEventListener('abort', () => stopped.reject(new Stopped()), { once: true });
  const told = await Promise.race([staging.then(async (stage) => await play(stage, progress)), stopped.promise]);
  if (json) write(`${JSON.stringify(told, null, 2)}\n`);
  else {
    write(summary?.(told) ?? '');
    write(told.ok ? '\nEverything went as expected.\n' : '\nNOT everything went as expected: see above.\n');
  }
  return told.ok;
}
