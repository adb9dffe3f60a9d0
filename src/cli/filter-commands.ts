import { Argument, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';

const LISTS = [
  'clusters',
  'applications',
  'intents',
  'operations',
  'jobs',
  'proposals',
  'approvals',
  'audit',
  'catalog',
];

interface Filter {
  readonly name: string;
  readonly list: string;
  readonly query: string;
  readonly shared: boolean;
  readonly owner: string;
  readonly updatedAt: string;
}

const COLUMNS: readonly Column<Filter>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'LIST', value: ({ list }) => list },
  { header: 'OWNER', value: ({ owner }) => owner },
  { header: 'SHARED', value: ({ shared }) => (shared ? 'yes' : 'no') },
  { header: 'UPDATED', value: ({ updatedAt }) => updatedAt, isWide: true },
  { header: 'QUERY', value: ({ query }) => query },
];

/** `servicectl filters list|save|delete` */
export function addFilterCommands(program: Command, deps: CliDeps): void {
  const filters = program.command('filters').description('saved filters of lists, as the page has them too');

  addOutput(withConnection(filters.command('list')))
    .description('prints your own saved filters and those that others share')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const items = await listAll<Filter>(options, deps, '/saved-filters?limit=500');
      const empty = 'There is none. To save one: servicectl filters save NAME clusters health=degraded';
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name, empty });
    });

  withConnection(filters.command('save'))
    .argument('<name>', "lower-case letters, digits and '-'")
    .addArgument(new Argument('<list>', 'that it filters').choices(LISTS))
    .argument('<name=value...>', 'as the API calls them, such as health=degraded label=env=prod')
    .description('saves a filter under a name, in place of your own one of that name')
    .option('--shared', 'the whole organization sees it')
    .action(
      async (
        name: string,
        list: string,
        pairs: readonly string[],
        options: ConnectionOptions & { readonly shared?: boolean },
      ) => {
        const query = new URLSearchParams();
        for (const pair of pairs) query.append(pair.split('=', 1)[0] ?? '', pair.replace(/^[^=]*=?/, ''));
        const body = { list, query: query.toString(), shared: options.shared === true };
        const saved = await callControlPlane<Filter>(options, deps, 'PUT', at(name), body);
        deps.out(printable(`${saved.name}: ${saved.list}?${saved.query}\n`));
      },
    );

  withConfirmation(withConnection(filters.command('delete')))
    .argument('<name>', 'see servicectl filters list')
    .description('deletes a saved filter')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      await confirm(deps, options, `deletes the saved filter ${name}`);
      await callControlPlane(options, deps, 'DELETE', at(name));
      deps.out(`saved filter ${name} is deleted\n`);
    });
}

function at(name: string): string {
  return `/saved-filters/${encodeURIComponent(name)}`;
}
