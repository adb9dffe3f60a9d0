import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';

const KINDS = [
  'cluster',
  'application',
  'intent',
  'proposal',
  'operation',
  'catalog',
  'template',
  'repository',
  'member',
  'commit',
];

interface Found {
  readonly kind: string;
  readonly id: string;
  readonly title: string;
  readonly subtitle?: string;
  readonly clusterSlug?: string;
  readonly href: string;
}

const COLUMNS: readonly Column<Found>[] = [
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'TITLE', value: ({ title }) => title },
  { header: 'CLUSTER', value: ({ clusterSlug }) => clusterSlug },
  { header: 'ID', value: ({ id }) => id },
  { header: 'SAYS', value: ({ subtitle }) => subtitle, isWide: true },
  { header: 'PAGE', value: ({ href }) => href, isWide: true },
];

/** `servicectl search` */
export function addSearchCommand(program: Command, deps: CliDeps): void {
  addOutput(withConnection(program.command('search')))
    .argument('<words...>', 'how a name, an id or a commit begins; namespace/name of an application')
    .description('finds whatever the organization has, the best first')
    .addOption(new Option('--kind <kind>', 'of one kind').choices(KINDS))
    .action(
      async (words: readonly string[], options: ConnectionOptions & OutputOptions & { readonly kind?: string }) => {
        const query = queryOf({ q: words.join(' '), kind: options.kind });
        const { items } = await callControlPlane<{ readonly items: readonly Found[] }>(
          options,
          deps,
          'GET',
          `/search?${query}`,
        );
        const empty = 'Nothing begins like that.';
        print(deps, options, { items, columns: COLUMNS, nameOf: ({ kind, id }) => `${kind}/${id}`, empty });
      },
    );
}
