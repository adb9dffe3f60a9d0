import type { Command } from 'commander';
import { AdminApiError } from './admin-client.ts';
import { paintedDiff, tellBesides, throwIfRefused, type DryRun } from './app-dry-run.ts';
import { appHint } from './app-hints.ts';
import { appNameIn, appPath, knownAppName, type AppName } from './app-name.ts';
import { readAppOptions, withAppOptions, withResets, type AppOptions } from './app-options.ts';
import type { ListedApp } from './app-text.ts';
import { withPlaces } from './app-values.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { addOutput, print, type OutputOptions } from './output.ts';

type DiffOptions = ConnectionOptions & OutputOptions & AppOptions & { readonly namespace?: string };

/** `servicectl apps diff` */
export function addAppDiffCommand(apps: Command, deps: CliDeps): void {
  addOutput(withResets(withAppOptions(withConnection(apps.command('diff')))))
    .argument('<cluster>', 'slug or id')
    .argument('<name>', 'of the application, or namespace/name')
    .option('-n, --namespace <namespace>', 'that it is in')
    .description('prints what an install or upgrade with the same options would change of what is delivered')
    .addHelpText(
      'after',
      '\nExit status: 0 nothing would change, 1 something would, 2 it could not be said or would be refused.',
    )
    .action(async (cluster: string, text: string, options: DiffOptions) => {
      let isDifferent: boolean;
      try {
        isDifferent = await diff(cluster, text, options, deps);
      } catch (error) {
        // 1 says that there are differences, as of diff and kubectl diff.
        if (error instanceof CliError)
          throw new CliError(EXIT.usage, error.message, error.next, { cause: error.cause });
        throw error;
      }
      if (isDifferent) throw new CliError(EXIT.failed, '');
    });
}

async function diff(cluster: string, text: string, options: DiffOptions, deps: CliDeps): Promise<boolean> {
  const { members, placeOf } = await readAppOptions(options);
  const app =
    options.entry === undefined
      ? await knownAppName(cluster, { text, namespace: options.namespace }, options, deps)
      : appNameIn(text, options.namespace);
  const action = (await isThere(cluster, app, options, deps)) ? 'update' : 'install';
  const hint = appHint(cluster, { ...app, entry: options.entry });
  const body = { action, ...app, ...members, dryRun: true };
  const path = `/clusters/${encodeURIComponent(cluster)}/intents`;
  const dry = await callControlPlane<DryRun>(options, deps, 'POST', path, body).catch((error: unknown) => {
    throw withPlaces(error, { placeOf }, hint);
  });
  throwIfRefused(dry, placeOf, hint);
  tellBesides(dry, deps);
  if (dry.diff === undefined) {
    const next = 'See what would be delivered: the same with servicectl apps upgrade --dry-run';
    throw new CliError(
      EXIT.failed,
      'too much of it differs to be shown, or what stands cannot be rendered any more',
      next,
    );
  }
  const { diff: found } = dry;
  print(deps, options, {
    item: { action, ...app, diff: found },
    text: (_, { paint }) => paintedDiff(found, paint),
    nameOf: () => (found === '' ? '' : `${app.namespace}/${app.name}`),
  });
  return found !== '';
}

async function isThere(cluster: string, app: AppName, options: ConnectionOptions, deps: CliDeps): Promise<boolean> {
  try {
    const { state } = await callControlPlane<ListedApp>(options, deps, 'GET', appPath(cluster, app));
    return state !== 'removed';
  } catch (error) {
    const isMissing = error instanceof CliError && error.cause instanceof AdminApiError && error.cause.status === 404;
    if (isMissing && error.message.includes('no application')) return false;
    throw error;
  }
}
