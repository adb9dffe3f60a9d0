import type { Command } from 'commander';
import { addAppDiffCommand } from './app-diff-command.ts';
import { addAppListCommands } from './app-list-commands.ts';
import { appHint } from './app-hints.ts';
import { appNameIn, knownAppName } from './app-name.ts';
import { readAppOptions, withAppOptions, withResets, type AppOptions } from './app-options.ts';
import { addAppStatusCommand } from './app-status-command.ts';
import { addAppUninstallCommand } from './app-uninstall-command.ts';
import { ask, withAsking, type AskOptions } from './ask-for-app.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { withConnection } from './connection.ts';

/** `servicectl apps install|upgrade|diff|uninstall|list|show|status` */
export function addAppCommands(program: Command, deps: CliDeps): void {
  const apps = program.command('apps').description('applications on clusters: install, upgrade, follow and end them');

  withAsking(withAppOptions(withConnection(apps.command('install'))))
    .argument('<cluster>', 'slug or id')
    .argument('<name>', 'of the application, or namespace/name')
    .option('-n, --namespace <namespace>', 'that it is in')
    .description('installs an application of the catalog on a cluster')
    .action(async (cluster: string, text: string, options: AskOptions & AppOptions) => {
      const app = appNameIn(text, options.namespace);
      if (options.entry === undefined) {
        const next = 'See which there are: servicectl catalog list';
        throw new CliError(EXIT.usage, `say which entry of the catalog ${text} is of: --entry ENTRY`, next);
      }
      const { members, placeOf } = await readAppOptions(options);
      const body = { action: 'install', ...app, ...members };
      const hint = appHint(cluster, { ...app, entry: options.entry, action: 'install' });
      await ask({ cluster, app, body, good: 'ready', placeOf, hint }, options, deps);
    });

  withAsking(withResets(withAppOptions(withConnection(apps.command('upgrade')))))
    .argument('<cluster>', 'slug or id')
    .argument('<name>', 'of the application, or namespace/name')
    .option('-n, --namespace <namespace>', 'that it is in, where the name is in several')
    .description(
      'changes an application: what is not named stays; values that are given replace the earlier ones whole',
    )
    .action(async (cluster: string, text: string, options: AskOptions & AppOptions) => {
      const { members, placeOf } = await readAppOptions(options);
      if (Object.keys(members).every((name) => name === 'reason' || name === 'expectedGeneration')) {
        const next = 'Such as --version 6.7.0, -f values.yaml or --suspend; see servicectl apps upgrade --help';
        throw new CliError(EXIT.usage, 'say what is to change', next);
      }
      const app = await knownAppName(cluster, { text, namespace: options.namespace }, options, deps);
      const body = { action: 'update', ...app, ...members };
      const hint = appHint(cluster, { ...app, entry: options.entry, action: 'update' });
      await ask({ cluster, app, body, good: 'ready', placeOf, hint }, options, deps);
    });

  addAppDiffCommand(apps, deps);
  addAppUninstallCommand(apps, deps);
  addAppListCommands(apps, deps);
  addAppStatusCommand(apps, deps);
}
