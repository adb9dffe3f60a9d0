import { Option, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import { readApp } from './app-list-commands.ts';
import { knownAppName, type AppName } from './app-name.ts';
import { APP_COLUMNS, appName, appText, type ListedApp, type ShownApp } from './app-text.ts';
import { ChangeFeed } from './change-feed.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { paintOf } from './colours.ts';
import { withConnection, type ConnectionOptions } from './connection.ts';
import { jsonText } from './escaped-document.ts';
import { isPassing, SILENT_MS } from './follow-intent.ts';
import { listAll } from './list-all.ts';
import { durationIn } from './operation-parameters.ts';
import { addOutput, isDocument, print, tableText, type OutputOptions } from './output.ts';
import { Screen } from './screen.ts';
import { oneLine, waitingText } from './timeline-text.ts';

const DEFAULT_WAIT_SECONDS = 900;

interface StatusOptions extends ConnectionOptions, OutputOptions {
  readonly namespace?: string;
  readonly watch?: boolean;
  readonly until?: 'ready';
  readonly timeout: number;
}

interface Looked {
  readonly apps: readonly ListedApp[];
  /** Where one was asked for. */
  readonly one?: ShownApp;
}

/** `servicectl apps status` */
export function addAppStatusCommand(apps: Command, deps: CliDeps): void {
  addOutput(withConnection(apps.command('status')))
    .argument('<cluster>', 'slug or id')
    .argument('[name]', 'of one application, or namespace/name (default: all of the cluster)')
    .option('-n, --namespace <namespace>', 'in one namespace')
    .description('prints how applications stand, and what is waited for')
    .option('--watch', 'goes on: over what was shown in a terminal, a line for each change in a pipe; Ctrl-C ends it')
    .addOption(
      new Option('--until <state>', 'follows it until all are so: 1 when one failed, 3 when the time is up').choices([
        'ready',
      ]),
    )
    .addOption(
      new Option('--timeout <time>', 'with --until: how long')
        .argParser(durationIn)
        .default(DEFAULT_WAIT_SECONDS, '15m'),
    )
    .action(async (cluster: string, text: string | undefined, options: StatusOptions) => {
      const { namespace } = options;
      const app = text === undefined ? undefined : await knownAppName(cluster, { text, namespace }, options, deps);
      const look = async (): Promise<Looked> => await lookAt(cluster, app, options, deps);
      if (options.watch === true || options.until !== undefined) {
        await watch(cluster, look, options, deps);
        return;
      }
      show(await look(), options, deps);
    });
}

async function lookAt(
  cluster: string,
  app: AppName | undefined,
  options: StatusOptions,
  deps: CliDeps,
): Promise<Looked> {
  if (app !== undefined) {
    const one = await readApp(cluster, app, options, deps);
    return { apps: [one], one };
  }
  const namespace = options.namespace === undefined ? '' : `&namespace=${encodeURIComponent(options.namespace)}`;
  const path = `/clusters/${encodeURIComponent(cluster)}/applications?limit=500${namespace}`;
  return { apps: await listAll<ListedApp>(options, deps, path) };
}

function show({ apps, one }: Looked, options: OutputOptions, deps: CliDeps): void {
  if (one !== undefined) print(deps, options, { item: one, text: appText, nameOf: appName });
  else print(deps, options, { items: apps, columns: APP_COLUMNS, nameOf: appName, empty: 'There is none.' });
}

async function watch(
  cluster: string,
  look: () => Promise<Looked>,
  options: StatusOptions,
  deps: CliDeps,
): Promise<void> {
  const clock = deps.clock ?? systemClock;
  const endAt = options.until === undefined ? Number.POSITIVE_INFINITY : clock.now().getTime() + options.timeout * 1000;
  const tell = teller(options, deps);
  let silentSince: number | undefined;
  await using feed = new ChangeFeed(options, deps, { resource: 'intents,approvals,proposals,jobs,events', cluster });
  for (;;) {
    let looked: Looked | undefined;
    try {
      looked = await look();
      silentSince = undefined;
    } catch (error) {
      const now = clock.now().getTime();
      if (silentSince === undefined && isPassing(error) && deps.isQuiet !== true) {
        deps.err(`servicectl: the control plane does not answer; looking again for ${SILENT_MS / 1000} s\n`);
      }
      silentSince ??= now;
      if (!isPassing(error) || now - silentSince >= SILENT_MS || now >= endAt) throw error;
    }
    if (looked !== undefined) {
      tell(looked);
      if (options.until !== undefined && isOver(looked, cluster)) {
        // Lines and screens have said it.
        if (isDocument(options.output)) show(looked, options, deps);
        return;
      }
      if (clock.now().getTime() >= endAt) throw notReady(looked, options.timeout);
    }
    await feed.changed(Math.max(0, endAt - clock.now().getTime()));
  }
}

/** In a terminal all of it, over what was there; in a pipe what is another than before. */
function teller(options: StatusOptions, deps: CliDeps): (looked: Looked) => void {
  // A document is printed once, at the end.
  if (options.until !== undefined && isDocument(options.output)) return () => undefined;
  if (deps.isTerminal === true && !isDocument(options.output) && options.output !== 'name') {
    const screen = new Screen(deps);
    const how = { isWide: options.output === 'wide', paint: paintOf(deps) };
    return ({ apps, one }) => screen.show(one === undefined ? tableText(apps, APP_COLUMNS, how) : appText(one, how));
  }
  const clock = deps.clock ?? systemClock;
  const before = new Map<string, string>();
  return ({ apps, one }) => {
    for (const app of apps) {
      const name = appName(app);
      const line = changeLine(app, one);
      if (before.get(name) === line) continue;
      before.set(name, line);
      // One document on a line, as other programs take a stream of them.
      if (isDocument(options.output)) deps.out(`${jsonText(app)}\n`);
      else deps.out(options.output === 'name' ? `${name}\n` : `${clock.now().toISOString()}  ${name}  ${line}\n`);
    }
    const there = new Set(apps.map(appName));
    for (const name of before.keys()) {
      if (there.has(name)) continue;
      before.delete(name);
      if (!isDocument(options.output)) deps.out(`${clock.now().toISOString()}  ${name}  gone\n`);
    }
  };
}

function changeLine({ state, health, version, reason, generation }: ListedApp, one: ShownApp | undefined): string {
  const waits = one?.timeline === undefined ? undefined : waitingText({ items: one.timeline });
  const why = waits ?? reason;
  const head = `${state}, ${health}, ${version ?? '-'}, generation ${generation}`;
  return oneLine(why === undefined ? head : `${head}; ${why}`);
}

/** @throws CliError where one has failed: nothing more comes of waiting */
function isOver({ apps }: Looked, cluster: string): boolean {
  const failed = apps.find(({ state }) => state === 'failed');
  if (failed !== undefined) {
    const { namespace, name, reason = 'it does not say why' } = failed;
    const next = `See all of it: servicectl apps show ${cluster} ${namespace}/${name}`;
    throw new CliError(EXIT.failed, oneLine(`${namespace}/${name} failed: ${reason}`), next);
  }
  return apps.length > 0 && apps.every(isReady);
}

function isReady({ state, health }: ListedApp): boolean {
  return state === 'ready' && health === 'healthy';
}

function notReady({ apps, one }: Looked, seconds: number): CliError {
  const late = apps
    .filter((app) => !isReady(app))
    .map(({ namespace, name, state }) => `${namespace}/${name} (${state})`);
  const what =
    late.length === 0 ? 'no application is there' : `${late.join(', ')} ${late.length === 1 ? 'is' : 'are'} not ready`;
  const waits = one?.timeline === undefined ? undefined : waitingText({ items: one.timeline });
  return new CliError(EXIT.notReady, `${what} after ${seconds} s${waits === undefined ? '' : `; ${waits}`}`);
}
