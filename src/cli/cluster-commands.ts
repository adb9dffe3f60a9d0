import { Option, type Command } from 'commander';
import { installSteps } from '../install/install-commands.ts';
import type { CliDeps } from './cli-deps.ts';
import { clusterTable, clusterText, type ListedCluster, type ShownCluster } from './cluster-table.ts';
import { addClusterIdentityCommands } from './cluster-identity-commands.ts';
import { NEEDS_SERVICECTL, tokenPipe } from './command-script.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { addModeCommands } from './mode-commands.ts';
import { addPushCommands } from './push-commands.ts';

interface InstallLink {
  readonly slug: string;
  readonly crdsUrl: string;
  readonly operatorUrl: string;
  readonly expiresAt: string;
}

const LISTS = {
  table: clusterTable,
  json: (items: readonly ListedCluster[]) => `${JSON.stringify({ items }, null, 2)}\n`,
  name: (items: readonly ListedCluster[]) => items.map(({ slug }) => `${slug}\n`).join(''),
};

/** `servicectl clusters …` */
export function addClusterCommands(program: Command, deps: CliDeps): void {
  const clusters = program.command('clusters').description('the clusters of your organization');

  withConnection(clusters.command('list'))
    .description('prints slug, id, status and mode of each cluster, and whether its operator is connected')
    .addOption(
      new Option('-o, --output <format>', 'how it is printed').choices(['table', 'json', 'name']).default('table'),
    )
    .action(async (options: ConnectionOptions & { readonly output: keyof typeof LISTS }) => {
      const items = await Array.fromAsync(allClusters(options, deps));
      deps.out(LISTS[options.output](items));
    });

  withConnection(clusters.command('get'))
    .argument('<cluster>', 'slug or id')
    .description('prints id, status, mode, directory in Git and conditions of a cluster')
    .addOption(new Option('-o, --output <format>', 'how it is printed').choices(['text', 'json']).default('text'))
    .action(async (cluster: string, options: ConnectionOptions & { readonly output: 'text' | 'json' }) => {
      const found = await callControlPlane<ShownCluster>(
        options,
        deps,
        'GET',
        `/clusters/${encodeURIComponent(cluster)}`,
      );
      deps.out(options.output === 'json' ? `${JSON.stringify(found, null, 2)}\n` : clusterText(found));
    });

  withConnection(clusters.command('install-command'))
    .argument('<cluster>', 'slug or id')
    .description("prints what the cluster's admin runs to install the operator")
    .addOption(new Option('-o, --output <format>', 'how it is printed').choices(['text', 'json']).default('text'))
    .action(async (cluster: string, options: ConnectionOptions & { readonly output: 'text' | 'json' }) => {
      const path = `/clusters/${encodeURIComponent(cluster)}/install-link`;
      const link = await callControlPlane<InstallLink>(options, deps, 'POST', path);
      deps.out(options.output === 'json' ? `${JSON.stringify(link, null, 2)}\n` : script(link));
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

async function* allClusters(options: ConnectionOptions, deps: CliDeps): AsyncIterable<ListedCluster> {
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const page = await callControlPlane<{ readonly items: readonly ListedCluster[]; readonly nextCursor?: string }>(
      options,
      deps,
      'GET',
      `/clusters${query}`,
    );
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** A script that a shell runs as it is. The token goes from one program to the other and is seen by nobody. */
function script(link: InstallLink): string {
  const lines = installSteps(link).map(
    ({ title, command }) => `# ${title}\n${tokenPipe(link.slug, command)}${command}\n`,
  );
  const title = `# Installs the operator of cluster ${link.slug}. The links work until ${link.expiresAt}.\n`;
  return `${title}${NEEDS_SERVICECTL}\n${lines.join('')}`;
}
