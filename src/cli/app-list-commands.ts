import { Option, type Command } from 'commander';
import { appPath, knownAppName, type AppName } from './app-name.ts';
import { APP_COLUMNS, appName, appText, type ListedApp, type ShownApp } from './app-text.ts';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { INTENT_STATES } from './intent-text.ts';
import { listAll } from './list-all.ts';
import { addOutput, print, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';
import type { Timeline } from './timeline-text.ts';

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly namespace?: string;
  readonly entry?: string;
  readonly state?: string;
  readonly health?: string;
  readonly search?: string;
}

/** `servicectl apps list|show` */
export function addAppListCommands(apps: Command, deps: CliDeps): void {
  addOutput(withConnection(apps.command('list')))
    .argument('[cluster]', 'slug or id (default: all clusters)')
    .description('prints the applications with state, health and the upgrade that there is')
    .option('-n, --namespace <namespace>', 'in one namespace')
    .option('--entry <entry>', 'of one catalog entry')
    .addOption(new Option('--state <state>', 'of the newest intent').choices(INTENT_STATES))
    .addOption(new Option('--health <health>', 'in one health').choices(['healthy', 'progressing', 'degraded']))
    .option('--search <text>', 'how the name begins')
    .action(async (cluster: string | undefined, options: ListOptions) => {
      const { namespace, entry: catalogEntry, state, health, search: q } = options;
      const query = queryOf({ cluster, namespace, catalogEntry, state, health, q, limit: 500 });
      const items = await listAll<ListedApp>(options, deps, `/applications?${query}`);
      const empty = 'There is none. To install one: servicectl apps install CLUSTER NAMESPACE/NAME --entry ENTRY';
      print(deps, options, { items, columns: APP_COLUMNS, nameOf: appName, empty });
    });

  addOutput(withConnection(apps.command('show')))
    .argument('<cluster>', 'slug or id')
    .argument('<name>', 'of the application, or namespace/name')
    .option('-n, --namespace <namespace>', 'that it is in, where the name is in several')
    .description('prints an application with what its operator reported and the way of its newest intent')
    .action(
      async (
        cluster: string,
        text: string,
        options: ConnectionOptions & OutputOptions & { readonly namespace?: string },
      ) => {
        const app = await knownAppName(cluster, { text, namespace: options.namespace }, options, deps);
        const item = await readApp(cluster, app, options, deps);
        print(deps, options, { item, text: appText, nameOf: appName });
      },
    );
}

/** With the way of its newest intent. */
export async function readApp(
  cluster: string,
  app: AppName,
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<ShownApp> {
  const found = await callControlPlane<ShownApp>(options, deps, 'GET', appPath(cluster, app));
  const path = `/intents/${encodeURIComponent(found.intentId)}/timeline`;
  const { items: timeline } = await callControlPlane<Timeline>(options, deps, 'GET', path);
  return { ...found, timeline };
}
