import { Option, type Command } from 'commander';
import {
  ENTRY_COLUMNS,
  entryText,
  upgradeColumns,
  VERSION_COLUMNS,
  type ListedEntry,
  type ListedUpgrade,
  type ShownVersions,
} from './catalog-text.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { readDocumentFile, refusedAt } from './document-file.ts';
import { printable } from './git-views.ts';
import { listAll } from './list-all.ts';
import { addOutput, isDocument, print, tableText, type OutputOptions } from './output.ts';
import { readInput } from './read-input.ts';

/** A registry may take its time; the control plane answers within 30 s whatever it does. */
const REFRESH_TIMEOUT_MS = 40_000;
/** What an entry is shown with and is not put: `show -o yaml` can be edited and put again. */
const READ_ONLY = ['name', 'updatedAt', 'credentials'];

type Output = ConnectionOptions & OutputOptions;

/** `servicectl catalog list|show|put|delete|versions|upgrades|login|logout` */
export function addCatalogCommands(program: Command, deps: CliDeps): void {
  const catalog = program.command('catalog').description('which charts may be installed, in which versions');
  addEntryCommands(catalog, deps);
  addVersionCommands(catalog, deps);
  addCredentialCommands(catalog, deps);
}

function addEntryCommands(catalog: Command, deps: CliDeps): void {
  addOutput(withConnection(catalog.command('list')))
    .description('prints the entries of the catalog')
    .action(async (options: Output) => {
      const items = await listAll<ListedEntry>(options, deps, '/catalog?limit=500');
      print(deps, options, { items, columns: ENTRY_COLUMNS, nameOf: ({ name }) => name });
    });

  addOutput(withConnection(catalog.command('show')))
    .argument('<entry>', 'name; see servicectl catalog list')
    .description('prints one entry; what -o yaml prints can be edited and put')
    .action(async (name: string, options: Output) => {
      const entry = await callControlPlane<ListedEntry>(options, deps, 'GET', at(name));
      print(deps, options, { item: entry, text: entryText, nameOf: () => name });
    });

  addOutput(withConnection(catalog.command('put')))
    .argument('[entry]', "name, where the file has none: lower-case letters, digits and '-'")
    .description('makes an entry, or changes all of one; values and schema are checked first')
    .addOption(
      new Option(
        '-f, --file <file>',
        'YAML or JSON with name, chart, versions and what else belongs to it (docs/catalog.md); - reads standard input',
      ).makeOptionMandatory(),
    )
    .action(async (argument: string | undefined, { file, ...options }: Output & { readonly file: string }) => {
      const document = await readDocumentFile(file);
      const name = nameOf(document.value['name'], argument, document.file);
      const members = Object.entries(document.value).filter(([member]) => !READ_ONLY.includes(member));
      const body = Object.fromEntries(members);
      try {
        const entry = await callControlPlane<ListedEntry>(options, deps, 'PUT', at(name), body);
        print(deps, options, { item: entry, text: entryText, nameOf: () => name });
      } catch (error) {
        throw refusedAt(error, document);
      }
    });

  withConfirmation(withConnection(catalog.command('delete')))
    .argument('<entry>', 'name; see servicectl catalog list')
    .description('deletes an entry that no cluster lists and no instance is of')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      await confirm(deps, options, `deletes the catalog entry ${name}`);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`catalog entry ${name} is deleted\n`);
    });
}

function addVersionCommands(catalog: Command, deps: CliDeps): void {
  addOutput(withConnection(catalog.command('versions')))
    .argument('<entry>', 'name; see servicectl catalog list')
    .description('prints the versions of the chart that the entry allows, the newest first')
    .option('--all', 'also those that it does not allow')
    .option('--refresh', 'asks the registry now')
    .action(
      async (name: string, options: Output & { readonly all?: boolean; readonly refresh?: boolean }): Promise<void> => {
        const isAsked = options.refresh === true;
        const path = `${at(name)}/versions${isAsked ? '?refresh=true' : ''}`;
        const timeout = isAsked ? { timeoutMs: REFRESH_TIMEOUT_MS } : {};
        const found = await callControlPlane<ShownVersions>({ ...options, ...timeout }, deps, 'GET', path);
        const { fault, fetchedAt, checkedAt } = found;
        const shown = found.versions.filter(({ isAllowed }) => options.all === true || isAllowed);
        if (fetchedAt !== undefined || isDocument(options.output)) {
          print(deps, options, {
            item: found,
            text: (_, how) => tableText(shown, VERSION_COLUMNS, how),
            nameOf: () => shown.map(({ version }) => version).join('\n'),
          });
        }
        if (fault === undefined && fetchedAt !== undefined) return;
        const next = `Ask now: servicectl catalog versions ${name} --refresh`;
        if (fault === undefined) throw new CliError(EXIT.failed, `the registry of ${name} was not asked yet`, next);
        const since = fetchedAt === undefined ? 'and never did' : `the list is of ${fetchedAt}`;
        const message = printable(`the versions did not come at ${checkedAt ?? '-'}, ${since}: ${fault}`);
        // An old list is a list: only none at all is a failure.
        if (fetchedAt === undefined) throw new CliError(EXIT.failed, message, next);
        deps.err(`servicectl: ${message}\n`);
      },
    );

  addOutput(withConnection(catalog.command('upgrades')))
    .argument('[entry]', 'of one entry alone: its name')
    .description('prints the instances of an entry or of a cluster, and which of them could be upgraded')
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .option('--available', 'those alone that could be')
    .action(
      async (
        entry: string | undefined,
        options: Output & { readonly cluster?: string; readonly available?: boolean },
      ): Promise<void> => {
        const { cluster } = options;
        if (cluster === undefined && entry === undefined) {
          const next = 'servicectl catalog upgrades ENTRY, or servicectl catalog upgrades --cluster CLUSTER';
          throw new CliError(EXIT.usage, 'say of which entry, of which cluster, or both', next);
        }
        const path = cluster === undefined ? at(entry ?? '') : `/clusters/${encodeURIComponent(cluster)}`;
        const found = await listAll<ListedUpgrade>(options, deps, `${path}/upgrades?limit=500`);
        const items = found
          .filter(({ catalogEntry }) => entry === undefined || catalogEntry === entry)
          .filter(({ isUpgradeAvailable }) => options.available !== true || isUpgradeAvailable);
        print(deps, options, {
          items,
          columns: upgradeColumns(items),
          nameOf: ({ cluster: { slug }, namespace, name }) => `${slug}/${namespace}/${name}`,
        });
      },
    );
}

function addCredentialCommands(catalog: Command, deps: CliDeps): void {
  withConnection(catalog.command('login'))
    .argument('<entry>', 'name; see servicectl catalog list')
    .description("sets the credential that the versions of the entry's chart are read with")
    .requiredOption('--username <name>', 'at the registry')
    .requiredOption(
      '--password-file <file>',
      'file that holds the password or token alone; - reads it from standard input',
    )
    .action(
      async (
        name: string,
        options: ConnectionOptions & { readonly username: string; readonly passwordFile: string },
      ): Promise<void> => {
        const body = { username: options.username, password: await readPassword(options.passwordFile) };
        const { chart } = await callControlPlane<ListedEntry>(options, deps, 'PUT', `${at(name)}/credentials`, body);
        deps.out(printable(`the versions of ${name} are read as ${options.username} at ${chart.url}\n`));
      },
    );

  withConnection(catalog.command('logout'))
    .argument('<entry>', 'name; see servicectl catalog list')
    .description('takes the credential of an entry away')
    .action(async (name: string, options: ConnectionOptions) => {
      await callControlPlane(options, deps, 'DELETE', `${at(name)}/credentials`);
      deps.out(`the versions of ${name} are read without a credential\n`);
    });
}

function nameOf(inFile: unknown, argument: string | undefined, file: string): string {
  if (inFile !== undefined && typeof inFile !== 'string')
    throw new CliError(EXIT.usage, `${file}: /name must be a text`);
  const name = argument ?? inFile;
  if (name === undefined) {
    throw new CliError(EXIT.usage, `${file} has no name`, 'Put name: into it, or give the name as an argument');
  }
  if (argument !== undefined && inFile !== undefined && argument !== inFile) {
    throw new CliError(EXIT.usage, `${file} is of the entry ${inFile}, not of ${argument}`);
  }
  return name;
}

/** Never an argument: everybody on a machine reads its arguments. */
async function readPassword(file: string): Promise<string> {
  const text = await readInput(file, `the file ${file}`, 'Put the password alone into it');
  return text.replace(/\r?\n$/, '');
}

function at(name: string): string {
  return `/catalog/${encodeURIComponent(name)}`;
}
