import type { Kysely } from 'kysely';
import { clusterDirectory } from '../../delivery/gitops/layout.ts';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import { gitSettingsOf } from '../git/git-settings.ts';
import type { MasterKey } from '../master-key.ts';
import { describeAccess, openAccess, type PushAccess } from '../push/push-access.ts';
import type { PushConnections } from '../push/push-connections.ts';
import { findPushCredential } from '../store/push-credentials.ts';
import { findRepositoryById, localName } from '../store/repositories.ts';
import type { ClusterRow, Database, IntentRow, RepositoryRow } from '../store/schema.ts';
import { plannedCredentials, type CredentialWay } from './credentials.ts';
import { decideHandover } from './decide-handover.ts';
import type { CredentialChange, ObjectLeft, SwitchOptions } from './mode-switch.ts';
import { openProposalsOf, unproposedOf } from './open-proposals.ts';
import { probeConflicts } from './probe-conflicts.ts';
import {
  probeTarget,
  type ProbedTarget,
  type ProbeTargetDeps,
  type PushProber,
  type TargetProbes,
} from './probe-target.ts';
import type { HandedOver } from './what-is-handed-over.ts';

/** Objects that a plan names of each kind; their number is known beyond that. */
const MAX_NAMED = 100;

/** A switch as it was asked for, with what it names looked up; nothing of it is stored. */
export interface AskedSwitch {
  readonly cluster: ClusterRow;
  readonly to: ConnectivityMode;
  /** To gitops; a name alone where there is none yet. */
  readonly repository?: RepositoryRow | { readonly newName: string };
  /** To push, where a kubeconfig was given. */
  readonly access?: PushAccess;
  readonly review?: 'direct' | 'proposal';
  readonly closeProposals: boolean;
}

/** What a switch would do. */
export interface SwitchPlan {
  readonly wouldStart: boolean;
  /** What has to be otherwise first. */
  readonly blockers: readonly string[];
  /** That the objects would be handed over under. */
  readonly epoch: number;
  readonly objects: {
    readonly total: number;
    /** The first hundred. */
    readonly items: readonly (Pick<IntentRow, 'namespace' | 'name' | 'action' | 'generation'> & {
      readonly kind: string;
    })[];
    readonly left: readonly ObjectLeft[];
  };
  /** Intents that wait for their first delivery: they go by the new way. */
  readonly waitingIntents: number;
  /** Of the old way: those that the operator has acknowledged are waited for, the others are closed. */
  readonly jobs: { readonly open: number; readonly acknowledged: number };
  /** With the intents that are still to be proposed. With `closeProposals` they are closed, and their intents end. */
  readonly proposals: { readonly open: number; readonly ids: readonly string[] };
  /** Objects that are gone, and of which an earlier stay in gitops mode left a file that is taken back. */
  readonly staleFiles: readonly Omit<ObjectLeft, 'reason'>[];
  /** What `/config` would tell the operator differently. */
  readonly config: readonly { readonly field: string; readonly from: string; readonly to: string }[];
  /** Whether it is in contact. */
  readonly operator: string;
  /** For people, and when. */
  readonly toDo: readonly string[];
}

export interface PlanDeps extends ProbeTargetDeps {
  readonly pushConnections: PushProber & Pick<PushConnections, 'connect'>;
  readonly masterKey: Pick<MasterKey, 'open'>;
}

/** Looks at everything that a switch would look at, by the same code, and writes nothing. Rejects only when aborted. */
export async function planSwitch(
  deps: PlanDeps,
  asked: AskedSwitch,
  operator: { readonly isConnected: boolean; readonly message: string },
  signal: AbortSignal,
): Promise<{
  readonly plan: SwitchPlan;
  readonly probes: TargetProbes['probes'];
  readonly credentials: readonly CredentialChange[];
}> {
  const { db } = deps;
  const { cluster, to } = asked;
  const target = await probeTarget(deps, cluster, await targetOf(deps, asked), signal);
  const credentials = await plannedCredentials(db, await wayOf(db, asked));
  const { intents, left } = await decideHandover(db, cluster, to);
  const probes = [...target.probes, ...(await conflictsOf(deps, asked, { target, intents }, signal))];
  const unproposed = await unproposedOf(db, cluster);
  const proposals =
    cluster.connectivity_mode === 'gitops'
      ? [...(await openProposalsOf(db, cluster.id)).map(({ id }) => id), ...unproposed]
      : [];
  const blockers = [
    ...probes.filter(({ ok }) => !ok).map(({ name, message }) => `${name}: ${message}`),
    ...(proposals.length === 0 || asked.closeProposals
      ? []
      : [
          `${count(proposals.length, 'open proposal')}, or still to be proposed (${proposals.slice(0, 3).join(', ')}): decide them first, or have them closed (closeProposals)`,
        ]),
  ];
  const plan: SwitchPlan = {
    wouldStart: blockers.length === 0,
    blockers,
    epoch: cluster.delivery_epoch + 1,
    objects: {
      total: intents.length,
      items: intents.slice(0, MAX_NAMED).map(({ target_kind: kind, namespace, name, action, generation }) => ({
        kind,
        namespace,
        name,
        action,
        generation,
      })),
      left: left.slice(0, MAX_NAMED).map(({ intentId: _intentId, ...object }) => object),
    },
    waitingIntents: (await waitingIntents(db, cluster.id)) - unproposed.length,
    jobs: await openJobs(db, cluster.id),
    proposals: { open: proposals.length, ids: proposals.slice(0, MAX_NAMED) },
    staleFiles: intents
      .filter((intent) => intent.state === 'removed')
      .slice(0, MAX_NAMED)
      .map(({ target_kind: kind, namespace, name }) => ({ kind, namespace, name })),
    config: await configChanges(db, asked),
    operator: operator.isConnected
      ? `in contact (${operator.message})`
      : `not in contact, and waited for: ${operator.message}`,
    toDo: toDoOf(asked, operator.isConnected, credentials),
  };
  return { plan, probes, credentials };
}

/** Of the objects, once the way itself can be used. */
async function conflictsOf(
  { db, pushConnections, masterKey }: PlanDeps,
  { cluster, to, access }: AskedSwitch,
  { target, intents }: { readonly target: TargetProbes; readonly intents: HandedOver['intents'] },
  signal: AbortSignal,
): Promise<TargetProbes['probes']> {
  if (to !== 'push' || target.state !== 'ready' || intents.length === 0) return [];
  const stored = access === undefined ? await findPushCredential(db, cluster.id) : undefined;
  const used = stored === undefined ? access : (await openAccess(masterKey, stored)).access;
  if (used === undefined) return [];
  await using connection = pushConnections.connect(used);
  return [await probeConflicts({ db, api: connection }, cluster, intents, signal)];
}

async function targetOf({ db, pushConnections }: PlanDeps, asked: AskedSwitch): Promise<ProbedTarget> {
  const { cluster, to, access, repository } = asked;
  if (to === 'pull') return { mode: 'pull' };
  if (to === 'gitops') {
    if (repository === undefined) throw new Error('a switch to gitops names a repository');
    return 'newName' in repository ? { mode: to, newRepository: repository.newName } : { mode: to, repository };
  }
  const credential = access ?? (await findPushCredential(db, cluster.id));
  if (credential === undefined) throw new Error('a switch to push has a credential');
  return { mode: to, probe: async (signal) => await pushConnections.probe(credential, cluster, signal) };
}

async function wayOf(db: Kysely<Database>, { cluster, to, repository, access }: AskedSwitch): Promise<CredentialWay> {
  const given = access === undefined ? undefined : describeAccess(access);
  const push =
    access === undefined || given === undefined
      ? await findPushCredential(db, cluster.id)
      : { server: access.server, info: JSON.stringify(given.info), expires_at: given.expiresAt };
  return {
    clusterId: cluster.id,
    from: cluster.connectivity_mode,
    to,
    oldRepositoryId: cluster.repository_id,
    newRepositoryId: repository !== undefined && 'id' in repository ? repository.id : null,
    ...(repository !== undefined && 'newName' in repository ? { newRepository: repository.newName } : {}),
    ...(push === undefined ? {} : { push }),
  };
}

async function waitingIntents(db: Kysely<Database>, clusterId: string): Promise<number> {
  const { waiting } = await db
    .selectFrom('intents')
    .select((eb) => eb.fn.countAll().as('waiting'))
    .where('cluster_id', '=', clusterId)
    .where('state', '=', 'accepted')
    .executeTakeFirstOrThrow();
  return Number(waiting);
}

async function openJobs(db: Kysely<Database>, clusterId: string): Promise<SwitchPlan['jobs']> {
  const rows = await db
    .selectFrom('jobs')
    .select('state')
    .select((eb) => eb.fn.countAll().as('jobs'))
    .where('cluster_id', '=', clusterId)
    .where('state', '!=', 'closed')
    .groupBy('state')
    .execute();
  return {
    open: rows.reduce((sum, { jobs }) => sum + Number(jobs), 0),
    acknowledged: Number(rows.find(({ state }) => state === 'acknowledged')?.jobs ?? 0),
  };
}

async function configChanges(
  db: Kysely<Database>,
  { cluster, to, repository, review }: AskedSwitch,
): Promise<SwitchPlan['config']> {
  const old = cluster.repository_id === null ? undefined : await findRepositoryById(db, cluster.repository_id);
  const isFromGit = cluster.connectivity_mode === 'gitops' && old !== undefined;
  const before = isFromGit
    ? { repository: localName(old), path: cluster.git_directory ?? '-', review: gitSettingsOf(cluster).review }
    : undefined;
  const after =
    repository === undefined
      ? undefined
      : {
          repository: 'newName' in repository ? repository.newName : localName(repository),
          path: clusterDirectory('newName' in repository ? 'flat' : repository.layout, cluster.slug),
          review: review ?? gitSettingsOf(cluster).review,
        };
  const changes = [
    { field: 'connectivityMode', from: cluster.connectivity_mode, to },
    { field: 'deliveryEpoch', from: String(cluster.delivery_epoch), to: String(cluster.delivery_epoch + 1) },
    ...(['repository', 'path', 'review'] as const).map((name) => ({
      field: `git.${name}`,
      from: before?.[name] ?? '-',
      to: after?.[name] ?? '-',
    })),
  ];
  return changes.filter(({ from, to: next }) => from !== next);
}

function toDoOf(
  { to }: Pick<AskedSwitch, 'to'>,
  isConnected: boolean,
  credentials: readonly CredentialChange[],
): string[] {
  const gone = credentials.filter(({ change }) => change === 'revoked' || change === 'withdrawn');
  return [
    ...(isConnected ? [] : ['now: see to it that the operator is in contact; nothing is handed over before']),
    ...gone.flatMap(({ kind, name, message }) =>
      kind === 'git-read' ? [] : [`once it is ${to} mode: ${name}: ${message.slice(message.lastIndexOf('; ') + 2)}`],
    ),
  ];
}

function count(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${number} ${what}s`;
}

/** What is kept of an asked switch beside its mode. */
export function optionsOfAsked(asked: AskedSwitch, repositoryId: string | undefined): SwitchOptions {
  const { review, closeProposals } = asked;
  const git = {
    ...(repositoryId === undefined ? {} : { repositoryId }),
    ...(review === undefined ? {} : { review }),
  };
  return {
    ...(closeProposals ? { closeProposals } : {}),
    ...(Object.keys(git).length === 0 ? {} : { git }),
  };
}
