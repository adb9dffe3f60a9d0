import type { Command } from 'commander';
import { parse } from 'yaml';
import { ask, withAsking, type AskOptions } from './ask-for-app.ts';
import { tellBesides, throwIfRefused, type DryRun } from './app-dry-run.ts';
import { appHint } from './app-hints.ts';
import { knownAppName, type AppName } from './app-name.ts';
import { expectGeneration } from './app-options.ts';
import type { CliDeps } from './cli-deps.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { isDocument } from './output.ts';

interface UninstallOptions extends AskOptions, Confirmation {
  readonly expectGeneration?: number;
  readonly reason?: string;
}

const NOWHERE = { placeOf: () => undefined } as const;

/** `servicectl apps uninstall` */
export function addAppUninstallCommand(apps: Command, deps: CliDeps): void {
  withAsking(withConfirmation(withConnection(apps.command('uninstall'))))
    .argument('<cluster>', 'slug or id')
    .argument('<name>', 'of the application, or namespace/name')
    .option('-n, --namespace <namespace>', 'that it is in, where the name is in several')
    .addOption(expectGeneration())
    .option('--reason <text>', 'why, for commits and the audit log')
    .description('ends an application; its release goes, or stays where its deletion policy is Orphan')
    .action(async (cluster: string, text: string, options: UninstallOptions) => {
      const app = await knownAppName(cluster, { text, namespace: options.namespace }, options, deps);
      const { expectGeneration: expectedGeneration, reason } = options;
      const body = {
        action: 'uninstall',
        ...app,
        ...(expectedGeneration === undefined ? {} : { expectedGeneration }),
        ...(reason === undefined ? {} : { reason }),
      };
      const hint = appHint(cluster, { ...app, action: 'uninstall' });
      const isPrinted = options.dryRun === true && !isDocument(options.output);
      if (isPrinted || (options.dryRun !== true && options.yes !== true)) {
        const dry = await callControlPlane<DryRun>(options, deps, 'POST', intents(cluster), { ...body, dryRun: true });
        // Nobody is asked for what would not be done.
        throwIfRefused(dry, NOWHERE.placeOf, hint);
        const happens = await whatHappens(cluster, app, options, deps);
        if (isPrinted) deps.out(`It ${happens}\n`);
        tellBesides(dry, deps);
        if (isPrinted) return;
        await confirm(deps, options, happens);
      }
      await ask({ cluster, app, body, good: 'removed', ...NOWHERE, hint }, options, deps);
    });
}

/** By what the manifest that stands says. */
async function whatHappens(
  cluster: string,
  { namespace, name }: AppName,
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<string> {
  const nothing = { action: 'update', namespace, name, dryRun: true };
  const { manifest } = await callControlPlane<DryRun>(options, deps, 'POST', intents(cluster), nothing);
  const what = `uninstalls ${namespace}/${name} from ${cluster}`;
  const keep = `servicectl apps upgrade ${cluster} ${namespace}/${name} --deletion-policy Orphan`;
  if (manifest === undefined) {
    return printable(`${what}: its Helm release goes with all that it installed, unless its deletion policy is Orphan`);
  }
  const isKept = policyIn(manifest) === 'Orphan';
  const end = isKept
    ? 'its deletion policy is Orphan: the Helm release and all that runs stay in the cluster, and nobody looks after them any more'
    : `its Helm release goes, with everything that it installed (what the chart keeps, such as volumes that are claimed, stays). To keep all of it running: ${keep}, and then this`;
  return printable(`${what}; ${end}`);
}

function policyIn(manifest: string): unknown {
  const { spec } = parse(manifest) as { readonly spec?: { readonly deletionPolicy?: unknown } };
  return spec?.deletionPolicy;
}

function intents(cluster: string): string {
  return `/clusters/${encodeURIComponent(cluster)}/intents`;
}
