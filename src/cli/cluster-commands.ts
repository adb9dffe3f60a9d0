import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { addClusterCreateCommand } from './cluster-create-command.ts';
import { CLUSTER_COLUMNS, clusterText, type ListedCluster, type ShownCluster } from './cluster-table.ts';
import { addClusterUpdateCommands } from './cluster-update-commands.ts';
import { addClusterIdentityCommands } from './cluster-identity-commands.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { installScript, type InstallLink } from './install-script.ts';
import { listAll } from './list-all.ts';
import { addModeCommands } from './mode-commands.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { addPushCommands } from './push-commands.ts';

/** The most that a page has. */
const PAGE = 200;
const HEALTHS = ['healthy', 'progressing', 'degraded', 'unreachable', 'unknown'];

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly selector?: string;
  readonly mode?: string;
  readonly status?: string;
  readonly health?: string;
  readonly search?: string;
}

/** `servicectl clusters …` */
export function addClusterCommands(program: Command, deps: CliDeps): void {
  const clusters = program.command('clusters').description('the clusters of your organization');

  addOutput(withConnection(clusters.command('list')))
    .description('prints status, mode, health and last contact of each cluster, by slug')
    .option('-l, --selector <labels>', 'by labels, as of kubectl: team=shop,env!=dev')
    .addOption(new Option('--mode <mode>', 'in one mode').choices(['pull', 'push', 'gitops']))
    .addOption(new Option('--status <status>', 'with one status').choices(['Pending', 'Active', 'Disabled']))
    .addOption(new Option('--health <health>', 'in one health').choices(HEALTHS))
    .option('--search <text>', 'a part of the slug or the name')
    .action(async (options: ListOptions) => {
      const items = await listAll<ListedCluster>(options, deps, `/clusters?${queryOf(options).toString()}`);
      const empty = 'There is none. To make one: servicectl clusters create SLUG';
      print(deps, options, { items, columns: CLUSTER_COLUMNS, nameOf: ({ slug }) => slug, empty });
    });

  addOutput(withConnection(clusters.command('show')))
    .alias('get')
    .argument('<cluster>', 'slug or id')
    .description('prints health, mode, credential, directory in Git and conditions of a cluster')
    .action(async (cluster: string, options: ConnectionOptions & OutputOptions) => {
      const path = `/clusters/${encodeURIComponent(cluster)}`;
      const item = await callControlPlane<ShownCluster>(options, deps, 'GET', path);
      print(deps, options, { item, text: clusterText, nameOf: ({ slug }) => slug });
    });

  addClusterCreateCommand(clusters, deps);
  addClusterUpdateCommands(clusters, deps);

  addOutput(withConnection(clusters.command('install-command')))
    .argument('<cluster>', 'slug or id')
    .description("prints what the cluster's admin runs to install the operator")
    .action(async (cluster: string, options: ConnectionOptions & OutputOptions) => {
      const path = `/clusters/${encodeURIComponent(cluster)}/install-link`;
      const item = await callControlPlane<InstallLink>(options, deps, 'POST', path);
      print(deps, options, { item, text: installScript, nameOf: ({ slug }) => slug });
    });

  withConnection(clusters.command('registration-token'))
    .argument('<cluster>', 'slug or id')
    .description('issues a registration token, which replaces one not used yet, and prints it alone: meant for a pipe')
    .action(async (cluster: string, options: ConnectionOptions) => {
      const path = `/clusters/${encodeURIComponent(cluster)}/registration-token`;
      const issued = await callControlPlane<{ readonly registrationToken: string }>(options, deps, 'POST', path);
      deps.out(`${issued.registrationToken}\n`);
    });

  withConnection(clusters.command('accept-removals'))
    .argument('<cluster>', 'slug or id')
    .description('says that the removals which the operator holds were meant: they go on, and no others')
    .requiredOption('--revision <tree@digest>', 'as the condition Synced, reason RemovalsHeld, prints it')
    .action(async (cluster: string, options: ConnectionOptions & { readonly revision: string }) => {
      const path = `/clusters/${encodeURIComponent(cluster)}/accept-removals`;
      const { revision } = options;
      const { slug } = await callControlPlane<{ readonly slug: string }>(options, deps, 'POST', path, { revision });
      deps.out(`${slug}: the removals held as ${revision} go on; any others are judged anew\n`);
    });

  addClusterIdentityCommands(clusters, deps);
  addModeCommands(clusters, deps);
  addPushCommands(clusters, deps);
}

function queryOf({ selector, mode, status, health, search, output }: ListOptions): URLSearchParams {
  const asked = { label: selector, mode, status, health, q: search, fields: output === 'name' ? 'summary' : undefined };
  const given = Object.entries(asked).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams([...given, ['limit', String(PAGE)]]);
}
