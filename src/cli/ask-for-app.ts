import { Option, type Command } from 'commander';
import { tellDryRun, tellWarnings, type DryRun } from './app-dry-run.ts';
import type { Hint } from './app-hints.ts';
import type { AppName } from './app-name.ts';
import { withPlaces, type GivenValues } from './app-values.ts';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, type ConnectionOptions } from './connection.ts';
import { followIntent } from './follow-intent.ts';
import { printable } from './git-views.ts';
import { durationIn } from './operation-parameters.ts';
import { addOutput, documentText, isDocument, type OutputOptions } from './output.ts';
import type { Ending } from './timeline-text.ts';

const DEFAULT_WAIT_SECONDS = 900;

export interface AskOptions extends ConnectionOptions, OutputOptions {
  readonly namespace?: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
}

/** What is asked for. */
export interface AskedIntent {
  readonly cluster: string;
  readonly app: AppName;
  readonly body: Readonly<Record<string, unknown>>;
  readonly good: Ending;
  readonly placeOf: GivenValues['placeOf'];
  readonly hint: Hint;
}

/** Adds what all take that ask for something. */
export function withAsking(command: Command): Command {
  return addOutput(command)
    .option('--dry-run', 'prints what would be delivered, or all that it would be refused for, and does nothing')
    .option('--wait', 'follows it to its end: 1 when that is not what was asked for, 3 when the time is up')
    .addOption(
      new Option('--timeout <time>', 'with --wait: how long; the work itself goes on')
        .argParser(durationIn)
        .default(DEFAULT_WAIT_SECONDS, '15m'),
    );
}

/** Asks for it, or what would become of it, and follows it where that is wanted. @throws CliError */
export async function ask(asked: AskedIntent, options: AskOptions, deps: CliDeps): Promise<void> {
  const { cluster, app, body, good, placeOf, hint } = asked;
  const path = `/clusters/${encodeURIComponent(cluster)}/intents`;
  if (options.dryRun === true) {
    const dry = await send<DryRun>({ ...body, dryRun: true });
    tellDryRun(dry, { placeOf, hint }, options, deps);
    return;
  }
  const accepted = await send<{ readonly id: string; readonly warnings?: DryRun['warnings'] }>(body);
  const { id } = accepted;
  const what = `${app.namespace}/${app.name}`;
  tellWarnings(accepted.warnings, deps);
  const { output } = options;
  const isAlone = isDocument(output) || output === 'name';
  const say = isAlone ? deps.err : deps.out;
  if (output === 'name') deps.out(printable(`${id}\n`));
  else say(`${id}: ${String(body['action'])} of ${what} is asked for\n`);
  if (options.wait === true) await followIntent({ id, cluster, what, good }, options, deps);
  if (isDocument(output)) {
    const intent = await callControlPlane(options, deps, 'GET', `/intents/${encodeURIComponent(id)}`);
    deps.out(documentText(intent, output));
  } else if (options.wait === true) say(`${what} is ${good}\n`);
  else if (output !== 'name')
    say(`To follow it: servicectl intents show ${id}, or servicectl apps status ${cluster} ${what} --watch\n`);

  async function send<T>(what: unknown): Promise<T> {
    try {
      return await callControlPlane<T>(options, deps, 'POST', path, what);
    } catch (error) {
      throw withPlaces(error, { placeOf }, hint);
    }
  }
}
