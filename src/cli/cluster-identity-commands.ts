import type { Command } from 'commander';
import { recoverySteps } from '../install/install-commands.ts';
import type { CliDeps } from './cli-deps.ts';
import { NEEDS_SERVICECTL, tokenPipe } from './command-script.ts';
import { confirm, withConfirmation, type Confirmation } from './confirmation.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';

/** What these commands read of a cluster. */
interface NamedCluster {
  readonly slug: string;
  readonly clusterUid?: string;
  readonly credential?: { readonly expiresAt: string; readonly rotateAfter: string };
  readonly conditions: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
}

interface Act {
  readonly verb: 'rotate' | 'revoke' | 'disable' | 'enable';
  readonly description: string;
  /** What it does to whom, for those who have not confirmed it; absent where it can be taken back. */
  readonly warning?: string;
  readonly done: (cluster: NamedCluster) => string;
}

const ACTS: readonly Act[] = [
  {
    verb: 'rotate',
    description: 'asks the operator to rotate its credential at its next call',
    done: ({ slug, credential }) =>
      `${slug}: its operator is asked to rotate; the credential it has is good until ${credential?.expiresAt ?? 'it is replaced'}\n`,
  },
  {
    verb: 'revoke',
    description: 'ends every credential of the cluster at once, and the registration tokens that are out',
    warning: 'ends every credential of the cluster: its operator is shut out until it registers again',
    done: ({ slug }) =>
      `${slug}: every credential is revoked; its applications go on running\nTo let its operator in again: servicectl clusters recovery-command ${slug}\n`,
  },
  {
    verb: 'disable',
    description: 'answers the operator 403 and takes no intents, until it is enabled again',
    done: ({ slug }) => `${slug}: disabled; its applications go on running\n`,
  },
  {
    verb: 'enable',
    description: 'takes a disabled cluster up again',
    done: ({ slug }) => `${slug}: enabled; its operator notices within a quarter of an hour\n`,
  },
];

/** `servicectl clusters rotate|revoke|disable|enable|rebind|delete|recovery-command` */
export function addClusterIdentityCommands(clusters: Command, deps: CliDeps): void {
  for (const act of ACTS) {
    const command = withConnection(clusters.command(act.verb))
      .argument('<cluster>', 'slug or id')
      .description(act.description)
      .action(async (cluster: string, options: ConnectionOptions & Confirmation) => {
        if (act.warning !== undefined) await confirm(deps, options, act.warning);
        deps.out(act.done(await callControlPlane(options, deps, 'POST', `${at(cluster)}/${act.verb}`)));
      });
    if (act.warning !== undefined) withConfirmation(command);
  }
  addRebind(clusters, deps);
  addDelete(clusters, deps);

  withConnection(clusters.command('recovery-command'))
    .argument('<cluster>', 'slug or id')
    .description(
      "prints what the cluster's admin runs to let an operator in again whose credential expired or was revoked",
    )
    .action(async (cluster: string, options: ConnectionOptions) => {
      deps.out(recoveryScript(await callControlPlane<NamedCluster>(options, deps, 'GET', at(cluster))));
    });
}

function addRebind(clusters: Command, deps: CliDeps): void {
  withConfirmation(withConnection(clusters.command('rebind')))
    .argument('<cluster>', 'slug or id')
    .description('binds the record to another cluster, the next that registers or the one of --cluster-uid')
    .option('--cluster-uid <uid>', 'UID of its namespace kube-system')
    .action(async (cluster: string, options: ConnectionOptions & Confirmation & { readonly clusterUid?: string }) => {
      await confirm(
        deps,
        options,
        'shuts the cluster out that the record is bound to now, and gives up its encryption key: values that were sealed to it have to be sealed anew',
      );
      const { clusterUid } = options;
      const body = clusterUid === undefined ? {} : { clusterUid };
      const { slug } = await callControlPlane<NamedCluster>(options, deps, 'POST', `${at(cluster)}/rebind`, body);
      const whom = clusterUid === undefined ? 'the next cluster that registers' : `the cluster with UID ${clusterUid}`;
      deps.out(`${slug}: is to be ${whom}\nTo install its operator: servicectl clusters install-command ${slug}\n`);
    });
}

function addDelete(clusters: Command, deps: CliDeps): void {
  withConfirmation(withConnection(clusters.command('delete')))
    .argument('<cluster>', 'slug or id')
    .description('deletes the record of a cluster that is disabled or never registered, with its intents and events')
    .option('--force', 'also one that is in use')
    .action(async (cluster: string, options: ConnectionOptions & Confirmation & { readonly force?: boolean }) => {
      // What goes and what stays is counted first; one that is not there ends here.
      const found = await callControlPlane<CountedCluster>(options, deps, 'GET', at(cluster));
      await confirm(deps, options, whatGoes(found), found.slug);
      await callControlPlane(options, deps, 'DELETE', `${at(cluster)}${options.force === true ? '?force=true' : ''}`);
      deps.out(`${cluster}: deleted; its slug is not given to another cluster\n`);
    });
}

interface CountedCluster extends NamedCluster {
  readonly connectivityMode: string;
  readonly applications?: { readonly total: number };
  readonly git?: { readonly repository: string; readonly path: string };
}

function whatGoes({ slug, connectivityMode, applications, git }: CountedCluster): string {
  const total = applications?.total ?? 0;
  const apps = `${total} ${total === 1 ? 'application' : 'applications'}`;
  const inGit =
    git === undefined ? '' : `; what stands in ${git.path} of ${git.repository} stays, and is applied by who reads it`;
  return `deletes the record of ${slug}, in ${connectivityMode} mode, for good, with its intents, events and keys. In the cluster ${apps} and the operator stay, and nobody delivers to them any more${inGit}. The audit log stays, and the slug is not given to another cluster`;
}

function at(cluster: string): string {
  return `/clusters/${encodeURIComponent(cluster)}`;
}

/** A script that a shell runs as it is, by someone who may call the control plane and write Secrets in the cluster. */
function recoveryScript({ slug, conditions }: NamedCluster): string {
  const state = conditions.find(({ type }) => type === 'Expired')?.message?.split(/[.;] /, 1)[0];
  const title = `# Lets the operator of cluster ${slug} register again; what it manages and its history stay.\n`;
  const why = state === undefined ? '' : `# Now: ${state}.\n`;
  const steps = recoverySteps(slug).map(({ title, command }) => `# ${title}\n${tokenPipe(slug, command)}${command}\n`);
  return `${title}${why}${NEEDS_SERVICECTL}\n${steps.join('')}`;
}
