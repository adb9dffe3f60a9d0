import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { AdminApiError } from './admin-client.ts';
import { CliError, EXIT } from './cli-error.ts';
import { bodyOfFields, labelIn, withClusterFields, type ClusterFields } from './cluster-fields.ts';
import { clusterText, type ShownCluster } from './cluster-table.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { readDocumentFile, refusedAt } from './document-file.ts';
import { printable } from './git-views.ts';
import { installScript, type InstallLink } from './install-script.ts';
import { readKubeconfigFile } from './kubeconfig-file.ts';
import { addOutput, documentText, isDocument, print, type OutputFormat } from './output.ts';
import { asGiven } from './shown-cluster-file.ts';

interface CreateOptions extends ConnectionOptions, ClusterFields {
  readonly mode?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly repository?: string;
  readonly kubeconfig?: string;
  readonly fromFile?: string;
  readonly printToken?: boolean;
  readonly output: OutputFormat;
}

interface Created {
  readonly cluster: ShownCluster;
  readonly registrationToken: string;
  readonly registrationTokenExpiresAt: string;
  readonly warnings?: readonly string[];
}

/** `servicectl clusters create` */
export function addClusterCreateCommand(clusters: Command, deps: CliDeps): void {
  const command = withConnection(clusters.command('create'))
    .argument('[slug]', "what it is called from now on, where the file has none: lower-case letters, digits and '-'")
    .description("makes the record of a cluster, and prints what the cluster's admin runs to install the operator")
    .addOption(new Option('--mode <mode>', 'how it is delivered to').choices(['pull', 'push', 'gitops']))
    .addOption(new Option('--label <name=value>', 'by which it is found; again for more').argParser(labelIn))
    .option('--repository <name>', 'gitops: the repository that it reads from (default: fleet)')
    .option('--kubeconfig <file>', 'push: what the control plane is to write with; - reads it from standard input')
    .option(
      '--from-file <file>',
      'YAML or JSON, as clusters show -o yaml prints it; options count before it; - reads standard input',
    )
    .option('--print-token', 'prints the registration token, alone and this once: meant for a pipe');
  addOutput(withClusterFields(command)).action(
    async (slug: string | undefined, options: CreateOptions, self: Command) => {
      const file = options.fromFile === undefined ? undefined : await readDocumentFile(options.fromFile);
      const given = asGiven(file?.value ?? {});
      const body = await bodyOf(slug, options, given.value);
      if (given.leftOut.length > 0 && deps.isQuiet !== true) {
        deps.err(printable(`left out, as it is not given when a cluster is made: ${given.leftOut.join(', ')}\n`));
      }
      const created = await callControlPlane<Created>(options, deps, 'POST', '/clusters', body).catch(
        (error: unknown) => {
          throw withNext(file === undefined ? error : refusedAt(error, file));
        },
      );
      for (const warning of created.warnings ?? []) deps.err(printable(`WARNING: ${warning}\n`));
      await tell(created, { ...options, isAsked: self.getOptionValueSource('output') === 'cli' }, deps);
    },
  );
}

/** Of a slug that is not to be had. */
function withNext(error: unknown): unknown {
  if (!(error instanceof CliError) || !(error.cause instanceof AdminApiError)) return error;
  const { faults, code } = error.cause;
  if (!faults.some(({ path }) => path === '/slug')) return error;
  const next =
    code === 'conflict'
      ? 'See which there are: servicectl clusters list; to install its operator: servicectl clusters install-command SLUG'
      : 'Choose another: servicectl clusters create SLUG --display-name TEXT';
  return new CliError(error.exitCode, error.message, next, { cause: error.cause });
}

async function tell(
  { cluster, registrationToken, registrationTokenExpiresAt }: Created,
  options: CreateOptions & { readonly isAsked: boolean },
  deps: CliDeps,
): Promise<void> {
  const { slug } = cluster;
  if (options.printToken === true) {
    const item = { cluster, registrationToken, registrationTokenExpiresAt };
    deps.out(isDocument(options.output) ? documentText(item, options.output) : `${registrationToken}\n`);
    return;
  }
  if (options.isAsked) {
    print(deps, options, { item: cluster, text: clusterText, nameOf: () => slug });
    return;
  }
  deps.err(`cluster ${slug} is created; its admin runs this:\n\n`);
  const path = `/clusters/${encodeURIComponent(slug)}/install-link`;
  deps.out(installScript(await callControlPlane<InstallLink>(options, deps, 'POST', path)));
}

async function bodyOf(
  slug: string | undefined,
  options: CreateOptions,
  base: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const name = slug ?? base['slug'];
  if (typeof name !== 'string') {
    throw new CliError(EXIT.usage, 'the cluster has no slug', 'servicectl clusters create SLUG, or slug: in the file');
  }
  const { git: inFile, ...rest } = base;
  const { git, ...fields } = bodyOfFields(options);
  const { mode, label, repository, kubeconfig } = options;
  const gitParts = [inFile, git, repository === undefined ? undefined : { repository }].filter(
    (part) => part !== undefined,
  );
  return {
    displayName: name,
    allowedNamespaces: [],
    allowedCatalogEntries: [],
    allowedOperationTemplates: [],
    ...rest,
    slug: name,
    ...fields,
    ...(mode === undefined ? {} : { connectivityMode: mode }),
    ...(label === undefined ? {} : { labels: { ...objectIn(base['labels']), ...label } }),
    ...(gitParts.length === 0 ? {} : { git: Object.assign({}, ...gitParts) as unknown }),
    ...(kubeconfig === undefined ? {} : { push: { kubeconfig: await readKubeconfigFile(kubeconfig) } }),
  };
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
