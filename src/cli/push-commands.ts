import { Option, type Command } from 'commander';
import { pushAccessScript, renderPushAccess } from '../install/render-push-access.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { CliDeps } from './cli-deps.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { printable } from './git-views.ts';
import { readKubeconfigFile } from './kubeconfig-file.ts';
import { manifestOutput } from './print-manifest.ts';
import { toneOf, type Paint } from './colours.ts';
import { addOutput, factsText, print, type Fact, type OutputOptions } from './output.ts';
import { probeRows, type ShownProbe } from './probe-text.ts';
import { textTable } from './text-table.ts';

/** A probe asks an API server, which takes up to 45 s. */
const PROBE_TIMEOUT_MS = 60_000;

interface PushCluster {
  readonly slug: string;
  readonly connectivityMode: string;
  readonly allowedNamespaces: readonly string[];
  readonly push?: {
    readonly state: string;
    readonly server?: string;
    readonly user?: string;
    readonly expiresAt?: string;
    readonly renewable?: boolean;
    readonly renewAt?: string;
    readonly renewalFault?: string;
    readonly reach?: { readonly message: string };
    readonly probe?: { readonly ok: boolean; readonly at: string; readonly probes: readonly ShownProbe[] };
  };
}

interface AccessOptions extends ConnectionOptions {
  readonly output: 'yaml' | 'json' | 'script';
  readonly renewable?: boolean;
  readonly tokenSecret?: boolean;
}

interface CredentialOptions extends ConnectionOptions, OutputOptions {
  readonly kubeconfig?: string;
  readonly probe?: boolean;
}

/** `servicectl clusters push-access|push-credential` */
export function addPushCommands(clusters: Command, deps: CliDeps): void {
  withConnection(clusters.command('push-access'))
    .argument('<cluster>', 'slug or id')
    .description(
      'prints the account and roles that push mode needs in the cluster, and how a kubeconfig is made of them',
    )
    .addOption(
      new Option('-o, --output <format>', 'how it is printed; script also makes the kubeconfig')
        .choices(['yaml', 'json', 'script'])
        .default('yaml'),
    )
    .option('--renewable', 'with the right to renew its token by itself')
    .option('--token-secret', 'with a token in a Secret, which does not end: for kubectl before 1.24')
    .action(async (cluster: string, { output, renewable, tokenSecret, ...options }: AccessOptions) => {
      const { slug, allowedNamespaces: namespaces } = await read(cluster, options, deps);
      const access = {
        slug,
        namespaces,
        ...(renewable === undefined ? {} : { renewable }),
        ...(tokenSecret === undefined ? {} : { tokenSecret }),
      };
      deps.out(output === 'script' ? pushAccessScript(access) : manifestOutput(renderPushAccess(access), output));
      if (namespaces.length > 0) return;
      deps.err(`servicectl: ${slug} has no allowed namespace: there is no binding, and nothing can be delivered\n`);
    });

  addOutput(withConnection(clusters.command('push-credential')))
    .argument('<cluster>', 'slug or id, in push mode')
    .description('shows what the control plane writes with in push mode, gives it another kubeconfig, or probes it')
    .option('--kubeconfig <file>', 'is probed and taken from now on; - reads it from standard input')
    .addOption(
      new Option('--probe', 'looks whether all is as it must be; exits with 1 where it is not').conflicts('kubeconfig'),
    )
    .action(async (cluster: string, { output, kubeconfig, probe, ...options }: CredentialOptions) => {
      const found = await act(cluster, { kubeconfig, probe }, options, deps);
      const { push } = found;
      if (push === undefined) {
        throw new CliError(EXIT.failed, `${found.slug} is in ${found.connectivityMode} mode, which needs none`);
      }
      print(
        deps,
        { output },
        {
          item: push,
          text: (shown, { paint }) => pushText(found.slug, shown, paint),
          nameOf: () => found.slug,
        },
      );
      const isAsked = probe === true || kubeconfig !== undefined;
      if (isAsked && push.probe?.ok !== true) {
        const why = kubeconfig === undefined ? 'is not as it must be' : 'is taken, and is not as it must be yet';
        throw new CliError(EXIT.failed, `the push credential of ${found.slug} ${why}`);
      }
    });
}

async function act(
  cluster: string,
  { kubeconfig, probe }: { readonly kubeconfig: string | undefined; readonly probe: boolean | undefined },
  options: ConnectionOptions,
  deps: CliDeps,
): Promise<PushCluster> {
  const path = `/clusters/${encodeURIComponent(cluster)}/push-credential`;
  const patient = { ...options, timeoutMs: PROBE_TIMEOUT_MS };
  if (kubeconfig !== undefined) {
    const body = { kubeconfig: await readKubeconfigFile(kubeconfig) };
    return await callControlPlane<PushCluster>(patient, deps, 'PUT', path, body);
  }
  if (probe === true) return await callControlPlane<PushCluster>(patient, deps, 'POST', `${path}/probe`);
  return await read(cluster, options, deps);
}

async function read(cluster: string, options: ConnectionOptions, deps: CliDeps): Promise<PushCluster> {
  return await callControlPlane<PushCluster>(options, deps, 'GET', `/clusters/${encodeURIComponent(cluster)}`);
}

function pushText(slug: string, push: NonNullable<PushCluster['push']>, paint: Paint): string {
  if (push.state === 'missing') {
    const make = `servicectl clusters push-access ${slug} -o script`;
    const give = `servicectl clusters push-credential ${slug} --kubeconfig FILE`;
    return `state       missing: nothing is delivered\n\nTo make one: ${make}\nTo give it:  ${give}\n`;
  }
  const { state, server = '-', user = '-', expiresAt = 'does not say', renewable, renewAt, renewalFault } = push;
  const renewed =
    renewable === undefined
      ? 'not known yet: it is looked at within a minute'
      : renewable
        ? `by itself, next at ${renewAt ?? '-'}`
        : 'by a person';
  const facts: readonly Fact[] = [
    ['state', push.reach === undefined ? state : `${state}: ${push.reach.message}`, toneOf(state)],
    ['server', server],
    ['user', user],
    ['expires', expiresAt],
    ['renewed', renewed],
    ['not renewed', renewalFault, 'bad'],
  ];
  const lines = factsText(facts, paint);
  const { probe } = push;
  if (probe === undefined) return lines;
  const table = textTable([[`PROBE (${probe.at})`, 'RESULT', 'MESSAGE'], ...probeRows(probe.probes)]);
  return `${lines}\n${printable(table)}`;
}
