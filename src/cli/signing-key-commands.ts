import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { toneOf } from './colours.ts';
import { printable } from './git-views.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';

interface ListedKey {
  readonly kid: string;
  readonly state: string;
  readonly createdAt: string;
  readonly retiredAt?: string;
  readonly revokedAt?: string;
}

const COLUMNS: readonly Column<ListedKey>[] = [
  { header: 'KID', value: ({ kid }) => kid },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'CREATED', value: ({ createdAt }) => createdAt },
  { header: 'ENDED', value: ({ retiredAt, revokedAt }) => revokedAt ?? retiredAt },
];

/** `servicectl signing-keys list|rotate|revoke` */
export function addSigningKeyCommands(program: Command, deps: CliDeps): void {
  const keys = program.command('signing-keys').description('the keys that the control plane signs for a cluster with');

  addOutput(withConnection(keys.command('list')))
    .argument('<cluster>', 'slug or id')
    .description('prints the keys of a cluster: the one that signs, those that still verify, the revoked ones')
    .action(async (cluster: string, options: ConnectionOptions & OutputOptions) => {
      const { items } = await callControlPlane<{ readonly items: readonly ListedKey[] }>(
        options,
        deps,
        'GET',
        at(cluster),
      );
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ kid }) => kid });
    });

  withConnection(keys.command('rotate'))
    .argument('<cluster>', 'slug or id')
    .description('makes a new key, endorsed by the one before it, which signs no more and still verifies')
    .action(async (cluster: string, options: ConnectionOptions) => {
      const { kid } = await callControlPlane<ListedKey>(options, deps, 'POST', at(cluster));
      deps.out(printable(`${cluster}: signs with ${kid} from now on\n`));
    });

  withConfirmation(withConnection(keys.command('revoke')))
    .argument('<cluster>', 'slug or id')
    .argument('<kid>', 'of a retired key; see servicectl signing-keys list')
    .description('lets nothing count any more that a retired key signed')
    .action(async (cluster: string, kid: string, options: ConnectionOptions & Confirmation) => {
      await confirm(
        deps,
        options,
        `makes worthless what key ${kid} signed: a file in Git that was not delivered anew since the rotation is not applied until it is, and where signatures are required its object stands still; an update that names nothing delivers anew`,
      );
      await callControlPlane(options, deps, 'DELETE', `${at(cluster)}/${encodeURIComponent(kid)}`);
      deps.out(`${cluster}: signing key ${kid} is revoked\n`);
    });
}

function at(cluster: string): string {
  return `/clusters/${encodeURIComponent(cluster)}/signing-keys`;
}
