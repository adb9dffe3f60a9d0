import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import {
  blameText,
  commitText,
  logLines,
  patchText,
  type Blame,
  type FilePatches,
  type ListedCommit,
  type ShownCommit,
} from './git-views.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { cursorAfter } from './unexpected-answer.ts';

interface GitOptions extends ConnectionOptions, OutputOptions {
  readonly repository?: string;
}

interface LogOptions extends GitOptions {
  readonly cluster?: string;
  readonly object?: string;
  readonly maxCount: number;
}

interface CommitsPage {
  readonly items: readonly ListedCommit[];
  readonly nextCursor?: string;
}

const DEFAULT_REPOSITORY = 'fleet';
const MAX_PAGE = 100;
const FORMS =
  'A commit is named by its id or the first 7 characters or more of it, by HEAD, by the branch, or by its intent: int-…';
const INTENT = /^int-[0-9a-z]+$/;

/** `servicectl git log|show|diff|blame-intent` */
export function addGitCommands(program: Command, deps: CliDeps): void {
  const git = program.command('git').description('what happened in the Git repositories, and for which intents');

  withOutput(git.command('log'))
    .description('prints commits, newest first, with the intent, its person and its state')
    .option('--cluster <cluster>', 'only of this cluster (slug or id)')
    .option('--object <namespace/name>', 'only of this object; needs --cluster')
    .addOption(new Option('-n, --max-count <count>', 'how many').argParser(count).default(30))
    .action(async (options: LogOptions) => {
      const items = await commits(options, deps);
      print(deps, options, { items, columns: logLines, nameOf: ({ id }) => id });
    });

  withOutput(git.command('show'))
    .argument('<commit>', 'id of a commit or its beginning, HEAD, the branch, or an intent')
    .description('prints a commit with its intent, person, reason, jobs, status and diff')
    .action(async (name: string, options: GitOptions) => {
      const commit = await shown(name, options, deps);
      print(deps, options, { item: commit, text: commitText, nameOf: ({ id }) => id });
    });

  withOutput(git.command('diff'))
    .argument('<what>', 'a commit, an intent, or <from>..<to>, each an id, HEAD or the branch')
    .option('--cluster <cluster>', 'only of this cluster (slug or id), between two commits')
    .description('prints what a commit or an intent changed, or what differs between two commits')
    .action(async (what: string, options: GitOptions & { readonly cluster?: string }) => {
      const [from, to, ...more] = what.split('..');
      const isRange = from !== undefined && to !== undefined && more.length === 0;
      const diff = isRange ? await compared({ from, to }, options, deps) : await shown(what, options, deps);
      print<FilePatches>(deps, options, { item: diff, text: patchText, nameOf: () => what });
    });

  withOutput(git.command('blame-intent'))
    .argument('<cluster>', 'slug or id')
    .argument('<namespace/name>', 'of the object')
    .addOption(
      new Option('--kind <kind>', 'of the object')
        .choices(['ApplicationInstance', 'Operation'])
        .default('ApplicationInstance'),
    )
    .description('prints the manifest of an object, before each line the intent and the person that brought it')
    .action(async (cluster: string, object: string, options: GitOptions & { readonly kind: string }) => {
      const { namespace, name } = objectIn(object);
      const repository = options.repository ?? (await repositoryOf(cluster, options, deps));
      const query = new URLSearchParams({ cluster, namespace, name, kind: options.kind });
      const path = `/repositories/${encodeURIComponent(repository)}/blame?${query.toString()}`;
      const blame = await callControlPlane<Blame>(options, deps, 'GET', path);
      print(deps, options, { item: blame, text: blameText, nameOf: () => object });
    });
}

function withOutput(command: Command): Command {
  return addOutput(
    withConnection(command).option(
      '-r, --repository <name>',
      `the repository; default: the cluster's or the intent's, else ${DEFAULT_REPOSITORY}`,
    ),
  );
}

async function commits(options: LogOptions, deps: CliDeps): Promise<readonly ListedCommit[]> {
  const { cluster, object, maxCount } = options;
  if (object !== undefined && cluster === undefined) {
    throw new CliError(
      EXIT.usage,
      '--object needs --cluster beside it',
      'For example: --cluster prod-eu --object shop/podinfo',
    );
  }
  const asked = new URLSearchParams();
  if (cluster !== undefined) asked.set('cluster', cluster);
  if (object !== undefined) {
    const { namespace, name } = objectIn(object);
    asked.set('namespace', namespace);
    asked.set('objectName', name);
  }
  const repository =
    options.repository ?? (cluster === undefined ? DEFAULT_REPOSITORY : await repositoryOf(cluster, options, deps));
  const items: ListedCommit[] = [];
  const seen = new Set<string>();
  while (items.length < maxCount) {
    asked.set('limit', String(Math.min(MAX_PAGE, maxCount - items.length)));
    const path = `/repositories/${encodeURIComponent(repository)}/commits?${asked.toString()}`;
    const page = await callControlPlane<CommitsPage>(options, deps, 'GET', path);
    const next = cursorAfter(page, seen);
    items.push(...page.items);
    if (next === undefined) break;
    asked.set('cursor', next);
  }
  return items;
}

/** A commit, by its id or by the intent that it is the receipt of. */
async function shown(name: string, options: GitOptions, deps: CliDeps): Promise<ShownCommit> {
  if (!INTENT.test(name)) {
    const repository = options.repository ?? DEFAULT_REPOSITORY;
    if (name === '') throw new CliError(EXIT.usage, 'the name of the commit is empty', FORMS);
    const path = `/repositories/${encodeURIComponent(repository)}/commits/${encodeURIComponent(name)}`;
    return await orForms(callControlPlane<ShownCommit>(options, deps, 'GET', path));
  }
  const intent = await callControlPlane<{ readonly state: string; readonly receipt?: { readonly link?: string } }>(
    options,
    deps,
    'GET',
    `/intents/${name}`,
  );
  const link = intent.receipt?.link;
  if (link === undefined) {
    const next = 'See where it stands: its state, and the mode of its cluster';
    throw new CliError(EXIT.failed, `intent ${name} has no commit; it is ${intent.state}`, next);
  }
  return await callControlPlane<ShownCommit>(options, deps, 'GET', link.replace(/^\/api\/v1/, ''));
}

async function compared(
  range: { readonly from: string; readonly to: string },
  options: GitOptions & { readonly cluster?: string },
  deps: CliDeps,
): Promise<FilePatches> {
  const { cluster } = options;
  const query = new URLSearchParams({ ...range, ...(cluster === undefined ? {} : { cluster }) });
  const repository =
    options.repository ?? (cluster === undefined ? DEFAULT_REPOSITORY : await repositoryOf(cluster, options, deps));
  const path = `/repositories/${encodeURIComponent(repository)}/diff?${query.toString()}`;
  return await orForms(callControlPlane<FilePatches>(options, deps, 'GET', path));
}

/** A name that is of no form is answered with the forms that there are. */
async function orForms<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof CliError) || error.next !== undefined) throw error;
    throw new CliError(error.exitCode, error.message, FORMS, { cause: error });
  }
}

async function repositoryOf(cluster: string, options: ConnectionOptions, deps: CliDeps): Promise<string> {
  const found = await callControlPlane<{ readonly git?: { readonly repository: string } }>(
    options,
    deps,
    'GET',
    `/clusters/${encodeURIComponent(cluster)}`,
  );
  if (found.git !== undefined) return found.git.repository;
  throw new CliError(EXIT.failed, `cluster ${cluster} has no repository; it is not delivered to by Git`);
}

function objectIn(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace, name, ...more] = text.split('/');
  if (namespace !== undefined && name !== undefined && name !== '' && more.length === 0) return { namespace, name };
  throw new CliError(EXIT.usage, `${text} is not <namespace>/<name>`, 'For example: shop/podinfo');
}

function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 on is expected.');
  return Number(text);
}
