import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readInstallFiles } from '../install/install-files.ts';
import { POD_DISRUPTION_BUDGET_VERSIONS, type PodDisruptionBudgetVersion } from '../install/install-options.ts';
import { renderAll, renderCrds, renderOperator, type Manifest } from '../install/render-install.ts';
import { KubeError } from '../kube/cluster-api.ts';
import { connectCluster } from '../kube/connect-cluster.ts';
import { KIND_NOT_FOUND } from '../kube/kube-fault.ts';
import { OPERATOR_NAMESPACE } from '../resources/labels.ts';
import { systemClock } from '../runtime/clock.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { manifestOutput, outputOption, type ManifestOutput } from './print-manifest.ts';

interface ManifestOptions {
  readonly crdsOnly?: boolean;
  readonly withoutCrds?: boolean;
  readonly cel?: boolean;
  readonly cluster?: string;
  readonly baseUrl?: string;
  readonly image?: string;
  readonly replicas?: number;
  readonly namespaceGrants?: readonly string[];
  /** True: as the cluster of the kubeconfig has it. */
  readonly podDisruptionBudget?: PodDisruptionBudgetVersion | true;
  readonly kubeconfig?: string;
  readonly allowUpgrade?: boolean;
  readonly apiServerPort?: number;
  readonly output: ManifestOutput;
}

const DISCOVERY_TIMEOUT_MS = 10_000;

/** `servicectl operator …` */
export function addOperatorCommands(program: Command, deps: CliDeps): void {
  const operator = program.command('operator').description('the operator in a cluster');
  operator
    .command('manifest')
    .description('prints what `kubectl apply -f -` installs the operator with')
    .addOption(new Option('--crds-only', 'only the namespace and the definitions').conflicts('withoutCrds'))
    .option('--without-crds', 'only the operator')
    .option('--cel', 'definitions with rules that Kubernetes 1.25 and later hold')
    .option('--cluster <slug>', 'adds the Cluster resource of this cluster')
    .option('--base-url <url>', 'address that the operator reaches the control plane by')
    .option('--image <image>', 'image of the operator')
    .addOption(new Option('--replicas <count>', 'how many replicas').argParser(wholeNumber))
    .addOption(new Option('--namespace-grants <names>', 'namespaces to grant, with commas between').argParser(list))
    .addOption(
      new Option(
        '--pod-disruption-budget [version]',
        'adds one; without a version it asks the cluster of the kubeconfig which it has',
      ).choices([...POD_DISRUPTION_BUDGET_VERSIONS]),
    )
    .option('--kubeconfig <file>', 'the cluster that is asked (or KUBECONFIG)')
    .option('--allow-upgrade', 'lets the control plane upgrade the operator')
    .addOption(
      new Option('--api-server-port <port>', 'port of the API server, when neither 443 nor 6443').argParser(
        wholeNumber,
      ),
    )
    .addOption(outputOption())
    .action(async (options: ManifestOptions) => {
      deps.out(manifestOutput(await operatorManifest(options, deps), options.output));
    });
}

async function operatorManifest(options: ManifestOptions, deps: CliDeps): Promise<Manifest> {
  const files = readInstallFiles();
  if (options.crdsOnly === true) return renderCrds(files, options);
  const { cluster: slug, baseUrl, podDisruptionBudget, ...rest } = options;
  if ((slug === undefined) !== (baseUrl === undefined)) {
    const [given, other] = slug === undefined ? ['--base-url', '--cluster'] : ['--cluster', '--base-url'];
    const example = 'servicectl operator manifest --cluster prod-eu --base-url https://control.example.com';
    throw new CliError(EXIT.usage, `${given} needs ${other} beside it`, `For example: ${example}`);
  }
  const version = podDisruptionBudget === true ? await servedVersion(options, deps) : podDisruptionBudget;
  const wanted = {
    ...rest,
    ...(slug === undefined || baseUrl === undefined ? {} : { cluster: { slug, baseUrl } }),
    ...(version === undefined ? {} : { podDisruptionBudget: version }),
  };
  return options.withoutCrds === true ? renderOperator(files, wanted) : renderAll(files, wanted);
}

/** `policy/v1` came with Kubernetes 1.21. Whether it is served is asked, never derived from a version. */
async function servedVersion({ kubeconfig }: ManifestOptions, deps: CliDeps): Promise<PodDisruptionBudgetVersion> {
  const [fromEnv] = (deps.env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  const path = kubeconfig ?? fromEnv ?? join(homedir(), '.kube', 'config');
  try {
    await using api = connectCluster({
      kubeconfig: { kind: 'file', path },
      userAgent: 'servicectl',
      requestTimeoutMs: DISCOVERY_TIMEOUT_MS,
      clock: systemClock,
      random: Math.random,
    });
    const name = 'service-operator';
    const ref = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', namespace: OPERATOR_NAMESPACE, name };
    await api.get(ref, AbortSignal.timeout(DISCOVERY_TIMEOUT_MS));
    return 'v1';
  } catch (error) {
    if (error instanceof KubeError && error.reason === KIND_NOT_FOUND) return 'v1beta1';
    // It is served, and this user may not read one: that is an answer too.
    if (error instanceof KubeError && error.status === 403) return 'v1';
    const why = error instanceof Error ? error.message : 'unknown error';
    throw new CliError(
      EXIT.failed,
      `the cluster cannot be asked for its PodDisruptionBudget: ${why}`,
      'Say it: --pod-disruption-budget=v1, or =v1beta1 before Kubernetes 1.21',
      { cause: error },
    );
  }
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('A whole number is expected.');
  return Number(text);
}

function list(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}
