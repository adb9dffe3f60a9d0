import { Option, type Command } from 'commander';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { toneOf, type Paint } from './colours.ts';
import { addOutput, factsText, isDocument, print, type Column, type Fact, type OutputOptions } from './output.ts';
import { readInput } from './read-input.ts';

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

interface FileOptions extends ConnectionOptions, OutputOptions {
  readonly file: string;
}

/** `servicectl repositories …`: the repositories of an organization, the embedded host's and those of other Git hosts. */
export function addRepositoryCommands(program: Command, deps: CliDeps): void {
  const repositories = program.command('repositories').description('where clusters in gitops mode are written to');

  addOutput(withConnection(repositories.command('list')))
    .description('prints the repositories: host, whether they can be written, and when their credentials end')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const items = await listAll<Repository>(options, deps, '/repositories?limit=500');
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name });
    });

  addOutput(withConnection(repositories.command('show')))
    .alias('get')
    .argument('<name>', 'of the repository')
    .description('prints one repository, without any secret of it')
    .action(async (name: string, options: ConnectionOptions & OutputOptions) => {
      const item = await callControlPlane<Repository>(options, deps, 'GET', at(name));
      print(deps, options, { item, text: repositoryText, nameOf: () => name });
    });

  addOutput(withConnection(repositories.command('set')))
    .argument('<name>', "lower-case letters, digits and '-'")
    .description('registers a repository of another Git host, or changes all of one; it is tried at once')
    .addOption(fileOption('JSON with url, host, write and what else belongs to it (docs/git-hosts.md)'))
    .action(async (name: string, options: FileOptions) => {
      changed(
        await callControlPlane<Changed>(options, deps, 'PUT', at(name), await readJson(options.file)),
        options,
        deps,
      );
    });

  addOutput(withConnection(repositories.command('credentials')))
    .argument('<name>', 'of the repository')
    .description('replaces credentials; a write credential that the host refuses is not taken, and the old one stays')
    .addOption(fileOption('JSON with write, read or api; null takes read or api away'))
    .action(async (name: string, options: FileOptions) => {
      const path = `${at(name)}/credentials`;
      changed(await callControlPlane<Changed>(options, deps, 'PUT', path, await readJson(options.file)), options, deps);
    });

  addOutput(withConfirmation(withConnection(repositories.command('webhook-secret'))))
    .argument('<name>', 'of the repository')
    .description("makes a new secret for the host's webhook and prints it this once; the one before counts no more")
    .action(async (name: string, options: ConnectionOptions & OutputOptions & Confirmation) => {
      await confirm(
        deps,
        options,
        `ends the secret that the webhook of ${name} signs with; the host needs the new one at once`,
      );
      const body = { webhookSecret: 'new' };
      const answer = await callControlPlane<Changed>(options, deps, 'PUT', `${at(name)}/credentials`, body);
      changed(answer, options, deps);
    });

  addOutput(withConnection(repositories.command('probe')))
    .argument('<name>', 'of the repository')
    .description('looks whether the repository can be written and read, without a commit; exits with 1 where it cannot')
    .action(async (name: string, options: ConnectionOptions & OutputOptions) => {
      const repository = await callControlPlane<Repository>(options, deps, 'POST', `${at(name)}/probe`);
      const { state = 'unknown', message = '' } = repository.probe ?? {};
      const isReady = state === 'ready';
      // What is wrong is the error; a document is printed whatever it says.
      if (isReady || isDocument(options.output)) {
        print(deps, options, { item: repository, text: () => `${state}: ${message}\n`, nameOf: () => name });
      }
      if (!isReady) throw new CliError(EXIT.failed, `${name} is ${state}: ${message}`);
    });

  withConfirmation(withConnection(repositories.command('delete')))
    .argument('<name>', 'of the repository')
    .description('forgets a repository of another host that no cluster uses; at its host nothing changes')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      await confirm(deps, options, `forgets the repository ${name} with its credentials; at its host nothing changes`);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`repository ${name} is forgotten\n`);
    });
}

function changed(answer: Changed, options: OutputOptions, deps: CliDeps): void {
  const { repository, webhookSecret } = answer;
  const secret =
    webhookSecret === undefined
      ? ''
      : `\nWebhook ${repository.webhookUrl ?? ''} with this secret, which is shown this once:\n${webhookSecret}\n`;
  print(deps, options, {
    item: answer,
    text: (_, { paint }) => `${repositoryText(repository, { paint })}${secret}`,
    nameOf: () => repository.name,
  });
}

function repositoryText(repository: Repository, { paint }: { readonly paint: Paint }): string {
  const { name, host, url, branch, webhookUrl, credentials = {}, probe } = repository;
  return factsText(
    [
      ['name', name],
      ['host', host],
      ['url', url],
      ['branch', branch],
      ['webhook', webhookUrl],
      ...Object.entries(credentials).map(([use, { kind, setAt, expiresAt }]): Fact => [
        `${use} credential`,
        `${kind}, set ${setAt}${expiresAt === undefined ? '' : `, expires ${expiresAt}`}`,
      ]),
      [
        'probe',
        probe === undefined ? undefined : `${probe.state} at ${probe.at}: ${probe.message}`,
        toneOf(probe?.state ?? ''),
      ],
    ],
    paint,
  );
}

const COLUMNS: readonly Column<Repository>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'HOST', value: ({ host }) => host },
  { header: 'PROBE', value: ({ probe }) => probe?.state, tone: ({ probe }) => toneOf(probe?.state ?? '-') },
  {
    header: 'EXPIRES',
    value: ({ credentials = {} }) =>
      Object.values(credentials)
        .flatMap(({ expiresAt }) => expiresAt ?? [])
        .sort()
        .at(0),
  },
  { header: 'BRANCH', value: ({ branch }) => branch },
  { header: 'PROBED', value: ({ probe }) => probe?.at, isWide: true },
  { header: 'URL', value: ({ url }) => url },
];

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
