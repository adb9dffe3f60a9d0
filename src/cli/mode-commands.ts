import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { systemClock } from '../runtime/clock.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { followSwitch } from './follow-switch.ts';
import { printable } from './git-views.ts';
import { readKubeconfigFile } from './kubeconfig-file.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { startProgress } from './progress.ts';
import { planText, SWITCH_COLUMNS, switchText, type PlannedSwitch, type ShownSwitch } from './mode-text.ts';

const MODES = ['pull', 'push', 'gitops'] as const;
/** Probes ask an API server or a Git host, each with a limit of its own. */
const PROBE_TIMEOUT_MS = 120_000;
const DEFAULT_WAIT_SECONDS = 3600;

interface ModeOptions extends ConnectionOptions, Confirmation, OutputOptions {
  readonly dryRun?: boolean;
  readonly kubeconfig?: string;
  readonly repository?: string;
  readonly review?: 'direct' | 'proposal';
  readonly closeProposals?: boolean;
  readonly wait?: boolean;
  readonly watch?: boolean;
  readonly timeout: number;
}

interface CancelOptions extends ConnectionOptions {
  readonly wait?: boolean;
  readonly timeout: number;
}

interface Answer<T> {
  readonly switch: T;
  readonly warnings?: readonly string[];
}

type Output = ConnectionOptions & OutputOptions;

/** `servicectl clusters mode|mode-switches|cancel-mode-switch` */
export function addModeCommands(clusters: Command, deps: CliDeps): void {
  addOutput(withConfirmation(withConnection(clusters.command('mode'))))
    .argument('<cluster>', 'slug or id')
    .addArgument(new Argument('<mode>', 'that it is to be in').choices(MODES))
    .description('moves a cluster to another mode, with the same objects and a way back; see docs/modes.md')
    .option('--dry-run', 'probes the new way and prints what would be done, and does none of it')
    .option('--kubeconfig <file>', 'to push: what the control plane is to write with; - reads it from standard input')
    .option('--repository <name>', 'to gitops: the repository that it reads from (default: fleet)')
    .addOption(new Option('--review <kind>', 'to gitops: how intents get into Git').choices(['direct', 'proposal']))
    .option('--close-proposals', 'ends the proposals that are open: their intents are not carried out')
    .option('--watch', 'the same as --wait')
    .option('--wait', 'follows the switch to its end: exits with 0 when it is active, with 1 when it was rolled back')
    .addOption(timeoutOption())
    .action(async (cluster: string, mode: string, options: ModeOptions) => {
      await switchMode(cluster, mode, options, deps);
    });

  addOutput(withConnection(clusters.command('mode-switches')))
    .argument('<cluster>', 'slug or id')
    .argument('[switch]', 'id of one of them: prints all of it')
    .description('prints the switches of mode of a cluster, the newest first')
    .action(async (cluster: string, id: string | undefined, options: Output) => {
      if (id !== undefined) {
        const path = `${at(cluster)}/mode-switches/${encodeURIComponent(id)}`;
        const one = await callControlPlane<ShownSwitch>(options, deps, 'GET', path).catch((error: unknown) => {
          throw isUnknownSwitch(error)
            ? new CliError(
                EXIT.failed,
                error.message,
                `See which there are: servicectl clusters mode-switches ${cluster}`,
              )
            : error;
        });
        print(deps, options, { item: one, text: switchText, nameOf: () => one.id });
        return;
      }
      const items = await listAll<ShownSwitch>(options, deps, `${at(cluster)}/mode-switches`);
      print(deps, options, { items, columns: SWITCH_COLUMNS, nameOf: (one) => one.id });
    });

  withConnection(clusters.command('cancel-mode-switch'))
    .argument('<cluster>', 'slug or id')
    .description('ends the switch of mode that is under way: the cluster stays in, or goes back to, the mode it had')
    .option('--wait', 'follows it until the cluster is in its old mode')
    .addOption(timeoutOption())
    .action(async (cluster: string, options: CancelOptions) => {
      const { modeSwitch } = await callControlPlane<{ readonly modeSwitch?: { readonly id: string } }>(
        options,
        deps,
        'GET',
        at(cluster),
      );
      if (modeSwitch === undefined) {
        const next = `See what became of the last: servicectl clusters mode-switches ${cluster}`;
        throw new CliError(EXIT.failed, `no switch of mode of ${cluster} is under way`, next);
      }
      const path = `${at(cluster)}/mode-switches/${encodeURIComponent(modeSwitch.id)}/cancel`;
      const one = await callControlPlane<ShownSwitch>(options, deps, 'POST', path);
      const what = one.epoch === undefined ? 'stays' : 'comes back';
      deps.out(printable(`${one.clusterSlug}: ${one.id} is cancelled; ${one.from} mode ${what}\n`));
      if (options.wait !== true) {
        deps.out(`To follow it: ${whereOf(one)}\n`);
        return;
      }
      const ended = await follow(one, options, deps);
      if (ended.state === 'rolled-back') return;
      if (ended.state === 'active') throw new CliError(EXIT.failed, `${ended.id} was active before it was cancelled`);
      throw stillGoing(ended, options.timeout);
    });
}

async function switchMode(cluster: string, mode: string, options: ModeOptions, deps: CliDeps): Promise<void> {
  const body = await bodyOf(mode, options);
  const call = { ...options, timeoutMs: PROBE_TIMEOUT_MS };
  const path = `${at(cluster)}/mode`;
  if (options.dryRun === true || options.yes !== true) {
    const answer = await callControlPlane<Answer<PlannedSwitch>>(call, deps, 'POST', path, { ...body, dryRun: true });
    const { switch: planned } = answer;
    print(deps, options, { item: planned, text: planText, nameOf: ({ clusterSlug }) => clusterSlug });
    warn(answer, deps);
    const isAsked = options.dryRun !== true;
    // Nobody is asked for what would not be done.
    if (!planned.plan.wouldStart && !(isAsked && deps.terminal === undefined)) {
      throw new CliError(EXIT.failed, `${planned.clusterSlug} would not be moved to ${planned.to} as it is now`);
    }
    if (!isAsked) return;
    await confirm(deps, options, `moves ${planned.clusterSlug} from ${planned.from} to ${planned.to}`);
  }
  const answer = await callControlPlane<Answer<ShownSwitch>>(call, deps, 'POST', path, body);
  const { switch: started } = answer;
  warn(answer, deps);
  if (options.wait !== true && options.watch !== true) {
    const text = `${started.id}: ${started.state}\nTo follow it: ${whereOf(started)}\n`;
    print(deps, options, { item: started, text: () => text, nameOf: ({ id }) => id });
    return;
  }
  const ended = await follow(started, options, deps);
  print(deps, options, { item: ended, text: ({ id, state }) => `${id}: ${state}\n`, nameOf: ({ id }) => id });
  if (ended.state === 'active') return;
  if (ended.state === 'rolled-back') {
    // The last step says why; in a terminal its line has gone.
    const why = ended.steps.at(-1)?.message;
    const next = `To see all of it: ${whereOf(ended)}`;
    throw new CliError(
      EXIT.failed,
      printable(
        `${ended.id} was rolled back, and ${ended.clusterSlug} is in ${ended.from} mode${why === undefined ? '' : `: ${why}`}`,
      ),
      next,
    );
  }
  throw stillGoing(ended, options.timeout);
}

async function follow(
  one: ShownSwitch,
  options: ConnectionOptions & Pick<ModeOptions, 'timeout'>,
  deps: CliDeps,
): Promise<ShownSwitch> {
  const path = `${at(one.clusterId)}/mode-switches/${encodeURIComponent(one.id)}`;
  const progress = startProgress(deps, `${one.id} goes on. To see where it is: ${whereOf(one)}`);
  try {
    return await followSwitch({
      read: async () => await callControlPlane<ShownSwitch>(options, deps, 'GET', path),
      say: progress.say,
      clock: deps.clock ?? systemClock,
      timeoutMs: options.timeout * 1000,
    });
  } finally {
    progress.end();
  }
}

function stillGoing(one: ShownSwitch, waitedSeconds: number): CliError {
  const waits = one.waitingFor === undefined ? '' : `, waiting for ${one.waitingFor}`;
  const message = `${one.id} is still ${one.state} after ${waitedSeconds} s${waits}`;
  return new CliError(EXIT.failed, message, `It goes on. To see where it is: ${whereOf(one)}`);
}

function whereOf({ clusterSlug, id }: Pick<ShownSwitch, 'clusterSlug' | 'id'>): string {
  return `servicectl clusters mode-switches ${clusterSlug} ${id}`;
}

function isUnknownSwitch(error: unknown): error is CliError {
  return error instanceof CliError && error.message.includes('has no switch of mode');
}

/** On standard error, where JSON has no place for them either. */
function warn({ warnings = [] }: Answer<unknown>, deps: CliDeps): void {
  for (const warning of warnings) deps.err(printable(`WARNING: ${warning}\n`));
}

async function bodyOf(mode: string, options: ModeOptions): Promise<Record<string, unknown>> {
  const { kubeconfig, repository, review, closeProposals } = options;
  const git = { ...(repository === undefined ? {} : { repository }), ...(review === undefined ? {} : { review }) };
  return {
    mode,
    ...(kubeconfig === undefined ? {} : { push: { kubeconfig: await readKubeconfigFile(kubeconfig) } }),
    ...(Object.keys(git).length === 0 ? {} : { git }),
    ...(closeProposals === true ? { closeProposals } : {}),
  };
}

function seconds(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1.');
  return Number(text);
}

function at(cluster: string): string {
  return `/clusters/${encodeURIComponent(cluster)}`;
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'with --wait: how long; the switch itself goes on')
    .argParser(seconds)
    .default(DEFAULT_WAIT_SECONDS);
}
