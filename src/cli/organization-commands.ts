import type { Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type Column, type OutputOptions } from './output.ts';

interface Organization {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
}

const COLUMNS: readonly Column<Organization>[] = [
  { header: 'NAME', value: ({ name }) => name },
  { header: 'CREATED', value: ({ createdAt }) => createdAt },
  { header: 'ID', value: ({ id }) => id, isWide: true },
];

/** `servicectl organizations list|create|admin-token|delete` */
export function addOrganizationCommands(program: Command, deps: CliDeps): void {
  const organizations = program
    .command('organizations')
    .description('tenants of the control plane, which share nothing; made by admins of the organization default');

  addOutput(withConnection(organizations.command('list')))
    .description('prints the organizations that you belong to; all of them for an admin of default')
    .action(async (options: ConnectionOptions & OutputOptions) => {
      const items = await listAll<Organization>(options, deps, '/organizations?limit=500');
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ name }) => name });
    });

  withConnection(organizations.command('create'))
    .argument('<name>', "lower-case letters, digits and '-'")
    .requiredOption('--admin <name>', 'of its first admin, as it stands in the audit log')
    .description("makes an organization and prints its first admin's token alone, this once: for a file or a pipe")
    .action(async (name: string, { admin: adminName, ...options }: ConnectionOptions & { readonly admin: string }) => {
      const made = await callControlPlane<{ readonly adminToken: string }>(options, deps, 'POST', '/organizations', {
        name,
        adminName,
      });
      deps.out(`${made.adminToken}\n`);
    });

  withConnection(organizations.command('admin-token'))
    .argument('<name>', 'see servicectl organizations list')
    .description(
      'for an organization that lost its admins: prints a new admin token of it alone, this once; the one made so before ends',
    )
    .action(async (name: string, options: ConnectionOptions) => {
      const path = `/organizations/${encodeURIComponent(name)}/admin-token`;
      const made = await callControlPlane<{ readonly adminToken: string }>(options, deps, 'POST', path);
      deps.out(`${made.adminToken}\n`);
    });

  withConfirmation(withConnection(organizations.command('delete')))
    .argument('<name>', 'see servicectl organizations list')
    .description('deletes an organization that has no clusters, repositories or intents any more')
    .action(async (name: string, options: ConnectionOptions & Confirmation) => {
      const what = `deletes the organization ${name} with its members, tokens, catalog, templates and channel, for good`;
      await confirm(deps, options, what, name);
      await callControlPlane(options, deps, 'DELETE', `/organizations/${encodeURIComponent(name)}`);
      deps.out(`organization ${name} is deleted\n`);
    });
}
