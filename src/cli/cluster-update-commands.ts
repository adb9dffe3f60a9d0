import { InvalidArgumentError, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { bodyOfFields, list, withClusterFields, type ClusterFields } from './cluster-fields.ts';
import { clusterText, labelsText, type ShownCluster } from './cluster-table.ts';
import { callControlPlane, sendToControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { addOutput, print, type OutputOptions } from './output.ts';

interface UpdateOptions extends ConnectionOptions, ClusterFields, OutputOptions {
  readonly addNamespace?: readonly string[];
  readonly removeNamespace?: readonly string[];
  readonly approvalNamespace?: readonly string[];
  readonly requireClientCertificate?: boolean;
  readonly deliverIntents?: boolean;
  readonly operatorVersion?: string;
}

type Changed = ShownCluster & { readonly warnings?: readonly string[] };

/** `servicectl clusters update|label` */
export function addClusterUpdateCommands(clusters: Command, deps: CliDeps): void {
  const command = withConnection(clusters.command('update'))
    .argument('<cluster>', 'slug or id')
    .description(
      'changes what is named of a cluster; lists are replaced, but for --add-namespace and --remove-namespace',
    )
    .addOption(list('--add-namespace <names>', 'also these'))
    .addOption(list('--remove-namespace <names>', 'no longer these; what is there stays'))
    .addOption(list('--approval-namespace <names>', 'where everything needs an approval'))
    .option('--require-client-certificate', 'takes writes of its operator with its client certificate alone')
    .option('--no-require-client-certificate', 'also without')
    .option('--deliver-intents', 'pull: jobs of kind intent, which the operator renders itself')
    .option('--no-deliver-intents', 'pull: jobs with rendered manifests')
    .option('--operator-version <version>', 'that its operator is to run; none asks for none');
  addOutput(withClusterFields(command)).action(async (cluster: string, options: UpdateOptions) => {
    const changed = await update(cluster, options, deps);
    for (const warning of changed.warnings ?? []) deps.err(printable(`WARNING: ${warning}\n`));
    print(deps, options, { item: changed, text: clusterText, nameOf: ({ slug }) => slug });
  });

  addOutput(withConnection(clusters.command('label')))
    .argument('<cluster>', 'slug or id')
    .argument('<labels...>', 'name=value sets one, name- takes it away')
    .description('changes the labels of a cluster, by which it is found and grouped')
    .action(async (cluster: string, changes: readonly string[], options: ConnectionOptions & OutputOptions) => {
      const labels = Object.fromEntries(changes.map(labelChange));
      const changed = await callControlPlane<Changed>(options, deps, 'PATCH', at(cluster), { labels });
      print(deps, options, {
        item: changed,
        text: ({ slug, labels: now = {} }) => printable(`${slug}: ${labelsText(now) ?? 'no labels'}\n`),
        nameOf: ({ slug }) => slug,
      });
    });
}

async function update(cluster: string, options: UpdateOptions, deps: CliDeps): Promise<Changed> {
  const { addNamespace: add = [], removeNamespace: remove = [], operatorVersion, ...more } = options;
  const body: Record<string, unknown> = {
    ...bodyOfFields(options),
    ...(more.approvalNamespace === undefined ? {} : { approvalNamespaces: more.approvalNamespace }),
    ...(more.requireClientCertificate === undefined ? {} : { requireClientCertificate: more.requireClientCertificate }),
    ...(more.deliverIntents === undefined ? {} : { deliverIntents: more.deliverIntents }),
    ...(operatorVersion === undefined ? {} : { operatorVersion: operatorVersion === 'none' ? null : operatorVersion }),
  };
  if (add.length === 0 && remove.length === 0) {
    if (Object.keys(body).length > 0) return await callControlPlane<Changed>(options, deps, 'PATCH', at(cluster), body);
    throw new CliError(EXIT.usage, 'nothing is to be changed', 'See: servicectl clusters update --help');
  }
  if (options.namespace !== undefined) {
    throw new CliError(
      EXIT.usage,
      '--namespace replaces the list: it does not go with --add-namespace or --remove-namespace',
    );
  }
  // Only over the list that was read: what somebody else added meanwhile is not lost.
  const { body: now, headers } = await sendToControlPlane<ShownCluster>(options, deps, {
    method: 'GET',
    path: at(cluster),
  });
  const tag = headers.get('etag');
  const kept = now.allowedNamespaces.filter((name) => !remove.includes(name));
  const answer = await sendToControlPlane<Changed>(options, deps, {
    method: 'PATCH',
    path: at(cluster),
    body: { ...body, allowedNamespaces: [...new Set([...kept, ...add])] },
    headers: tag === null ? {} : { 'if-match': tag },
  });
  return answer.body;
}

function labelChange(text: string): [string, string | null] {
  const [, removed] = /^([^=]+)-$/.exec(text) ?? [];
  if (removed !== undefined) return [removed, null];
  const [name = '', ...value] = text.split('=');
  if (name !== '' && value.length > 0) return [name, value.join('=')];
  throw new InvalidArgumentError(`${text} is neither name=value nor name-.`);
}

function at(cluster: string): string {
  return `/clusters/${encodeURIComponent(cluster)}`;
}
