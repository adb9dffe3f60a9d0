import { Option, type Command } from 'commander';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { readInput } from './read-input.ts';
import { textTable } from './text-table.ts';

interface Credential {
  readonly kind: string;
  readonly setAt: string;
  readonly expiresAt?: string;
}

interface Repository {
  readonly name: string;
  readonly host: string;
  readonly url: string;
  readonly branch: string;
  readonly webhookUrl?: string;
  readonly credentials?: Readonly<Record<string, Credential>>;
  readonly probe?: { readonly state: string; readonly message: string; readonly at: string };
}

interface Changed {
  readonly repository: Repository;
  readonly webhookSecret?: string;
}

type Output = { readonly output: 'text' | 'json' };
interface FileOptions extends ConnectionOptions, Output {
  readonly file: string;
}

/** `servicectl repositories …`: the repositories of an organization, the embedded host's and those of other Git hosts. */
export function addRepositoryCommands(program: Command, deps: CliDeps): void {
  const repositories = program.command('repositories').description('where clusters in gitops mode are written to');

  withConnection(repositories.command('list'))
    .description('prints the repositories: host, whether they can be written, and when their credentials end')
    .addOption(outputOption())
    .action(async (options: ConnectionOptions & Output) => {
      const items = await listAll<Repository>(options, deps, '/repositories?limit=500');
      deps.out(options.output === 'json' ? json({ items }) : table(items));
    });

  withConnection(repositories.command('get'))
    .argument('<name>', 'of the repository')
    .description('prints one repository, without any secret of it')
    .addOption(outputOption())
    .action(async (name: string, options: ConnectionOptions & Output) => {
      show(await callControlPlane<Repository>(options, deps, 'GET', at(name)), options, deps);
    });

  withConnection(repositories.command('set'))
    .argument('<name>', "lower-case letters, digits and '-'")
    .description('registers a repository of another Git host, or changes all of one; it is tried at once')
    .addOption(fileOption('JSON with url, host, write and what else belongs to it (docs/git-hosts.md)'))
    .addOption(outputOption())
    .action(async (name: string, options: FileOptions) => {
      changed(
        await callControlPlane<Changed>(options, deps, 'PUT', at(name), await readJson(options.file)),
        options,
        deps,
      );
    });

  withConnection(repositories.command('credentials'))
    .argument('<name>', 'of the repository')
    .description('replaces credentials; a write credential that the host refuses is not taken, and the old one stays')
    .addOption(fileOption('JSON with write, read or api; null takes read or api away'))
    .addOption(outputOption())
    .action(async (name: string, options: FileOptions) => {
      const path = `${at(name)}/credentials`;
      changed(await callControlPlane<Changed>(options, deps, 'PUT', path, await readJson(options.file)), options, deps);
    });

  withConfirmation(withConnection(repositories.command('webhook-secret')))
    .argument('<name>', 'of the repository')
    .description("makes a new secret for the host's webhook and prints it this once; the one before counts no more")
    .addOption(outputOption())
    .action(async (name: string, options: ConnectionOptions & Output & Confirmation) => {
      confirm(options, `ends the secret that the webhook of ${name} signs with; the host needs the new one at once`);
      const body = { webhookSecret: 'new' };
      const answer = await callControlPlane<Changed>(options, deps, 'PUT', `${at(name)}/credentials`, body);
      changed(answer, options, deps);
    });

  withConnection(repositories.command('probe'))
    .argument('<name>', 'of the repository')
    .description('looks whether the repository can be written and read, without a commit; exits with 1 where it cannot')
    .addOption(outputOption())
    .action(async (name: string, options: ConnectionOptions & Output) => {
      const repository = await callControlPlane<Repository>(options, deps, 'POST', `${at(name)}/probe`);
      if (options.output === 'json') deps.out(json(repository));
      const { state = 'unknown', message = '' } = repository.probe ?? {};
      if (state !== 'ready') throw new CliError(EXIT.failed, `${name} is ${state}: ${message}`);
      if (options.output === 'text') deps.out(`${state}: ${message}\n`);
    });

  withConfirmation(withConnection(repositories.command('delete')))
    .argument('<name>', 'of the repository')
    .description('forgets a repository of another host that no cluster uses; at its host nothing changes')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      confirm(options, `forgets the repository ${name} with its credentials; at its host nothing changes`);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`repository ${name} is forgotten\n`);
    });
}

function changed(answer: Changed, options: Output, deps: CliDeps): void {
  if (options.output === 'json') {
    deps.out(json(answer));
    return;
  }
  show(answer.repository, options, deps);
  if (answer.webhookSecret === undefined) return;
  deps.out(`\nWebhook ${answer.repository.webhookUrl ?? ''} with this secret, which is shown this once:\n`);
  deps.out(`${answer.webhookSecret}\n`);
}

function show(repository: Repository, options: Output, deps: CliDeps): void {
  if (options.output === 'json') {
    deps.out(json(repository));
    return;
  }
  const { name, host, url, branch, webhookUrl, credentials = {}, probe } = repository;
  const lines = [
    ['name', name],
    ['host', host],
    ['url', url],
    ['branch', branch],
    ...(webhookUrl === undefined ? [] : [['webhook', webhookUrl]]),
    ...Object.entries(credentials).map(([use, { kind, setAt, expiresAt }]) => [
      `${use} credential`,
      `${kind}, set ${setAt}${expiresAt === undefined ? '' : `, expires ${expiresAt}`}`,
    ]),
    ...(probe === undefined ? [] : [['probe', `${probe.state} at ${probe.at}: ${probe.message}`]]),
  ];
  deps.out(lines.map(([label = '', value = '']) => `${label.padEnd(18)} ${value}\n`).join(''));
}

function table(items: readonly Repository[]): string {
  const rows = items.map(({ name, host, url, branch, credentials = {}, probe }) => {
    const ends = Object.values(credentials).flatMap(({ expiresAt }) => expiresAt ?? []);
    return [name, host, probe?.state ?? '-', ends.sort().at(0) ?? '-', branch, url];
  });
  return textTable([['NAME', 'HOST', 'PROBE', 'EXPIRES', 'BRANCH', 'URL'], ...rows]);
}

function fileOption(description: string): Option {
  return new Option('--file <file>', `${description}; - reads it from standard input`).makeOptionMandatory();
}

async function readJson(file: string): Promise<unknown> {
  const text = await readInput(file, `the file ${file}`);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words quote the text, which holds a secret.
    throw new CliError(EXIT.usage, `${file} does not hold JSON`);
  }
}

function at(name: string): string {
  return `/repositories/${encodeURIComponent(name)}`;
}

function outputOption(): Option {
  return new Option('-o, --output <format>', 'how it is printed').choices(['text', 'json']).default('text');
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
