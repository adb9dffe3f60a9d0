import type { Kysely } from 'kysely';
import { infoOf } from '../push/push-credential-info.ts';
import { currentAgentCredential } from '../store/agent-credentials.ts';
import { revokeGitCredentialsOf } from '../store/git-credentials.ts';
import type { ModeSwitchRow, PushCredentialRow } from '../store/mode-rows.ts';
import {
  findPushCredential,
  findPushCredentialById,
  promoteCandidate,
  revokePushCredentials,
} from '../store/push-credentials.ts';
import { findRepositoryById, localName } from '../store/repositories.ts';
import type { ClusterRow, Database, RepositoryRow } from '../store/schema.ts';
import { beforeOf, credentialsOf, optionsOf, type CredentialChange } from './mode-switch.ts';

/** What of a switch decides about credentials. */
export interface CredentialWay {
  readonly clusterId: string;
  readonly from: ClusterRow['connectivity_mode'];
  readonly to: ClusterRow['connectivity_mode'];
  /** Where it read before, and where it is to read; null without Git. */
  readonly oldRepositoryId: string | null;
  readonly newRepositoryId: string | null;
  /** One of the control plane's own host that is not there yet. */
  readonly newRepository?: string;
  /** What it is to be written with in push mode. */
  readonly push?: Pick<PushCredentialRow, 'server' | 'info' | 'expires_at'>;
}

/**
 * What a switch does with credentials, in the order in which it does it. A change without `at` is still to come.
 *
 * ```
 * fence           what the new way needs is put into use; what the old way had is kept: it may be gone back to
 * active          what the old way had is revoked and, where it was sealed here, erased
 * rolling back    what had come is revoked; what the old way had was never touched
 * ```
 */
export async function plannedCredentials(db: Kysely<Database>, way: CredentialWay): Promise<CredentialChange[]> {
  return [...(await arriving(db, way)), await agentCredential(db, way.clusterId), ...(await leaving(db, way))];
}

/** In the fence's transaction, which holds the cluster's row. Answers what `mode_switches.credentials` is from then on. */
export async function bringCredentials(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  at: string,
): Promise<CredentialChange[]> {
  const { push_credential_id: id } = row;
  const push = row.to_mode === 'push' && id !== null ? await promoteCandidate(trx, id, at) : undefined;
  const planned = await plannedCredentials(trx, await wayOf(trx, row, push));
  return planned.map((one) => (one.kind === 'push' && one.change === 'created' ? { ...one, at } : one));
}

/** In the transaction in which the switch becomes active: the old way's credentials are of no more use to anybody. */
export async function endCredentials(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  at: string,
): Promise<CredentialChange[]> {
  const way = await wayOf(trx, row);
  const gone = await leaving(trx, way);
  if (way.from === 'push') {
    await revokePushCredentials(trx, way.clusterId, `the cluster was moved to ${way.to} mode`, at, ['current']);
  }
  if (way.from === 'gitops') await revokeGitAccess(trx, way, at);
  const known = credentialsOf(row).filter(({ change }) => change === 'created' || change === 'kept');
  const came = await Promise.all(known.map(async (one) => await withDate(trx, way, one)));
  return [...came, ...gone.map((one) => ({ ...one, at }))];
}

/** In the transaction in which it begins to go back: what had come for the new way is ended, and the old way's stays. */
export async function takeBackCredentials(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  at: string,
): Promise<CredentialChange[]> {
  const { to_mode: to, cluster_id: clusterId, push_credential_id: id } = row;
  const done = credentialsOf(row).filter((one) => one.at !== undefined || one.change === 'kept');
  if (to === 'push' && id !== null) {
    const given = await findPushCredentialById(trx, id);
    const reason = `the switch ${row.id} to push mode was rolled back`;
    await revokePushCredentials(trx, clusterId, reason, at, ['candidate', 'current']);
    return given === undefined ? done : [...done, { ...revokedPush(given), at }];
  }
  if (to !== 'gitops' || row.epoch === null) return done;
  const way = await wayOf(trx, row);
  const repository = await repositoryOf(trx, way.newRepositoryId);
  if (repository === undefined) return done;
  // From gitops to gitops there is no switch: whatever it has for Git has come with this one.
  if (repository.embedded === 1) await revokeGitCredentialsOf(trx, clusterId, new Date(at));
  return [...done, { ...(await leavingRepository(trx, clusterId, repository)), at }];
}

async function wayOf(trx: Kysely<Database>, row: ModeSwitchRow, push?: CredentialWay['push']): Promise<CredentialWay> {
  const { cluster_id: clusterId, from_mode: from, to_mode: to } = row;
  const cluster = await trx
    .selectFrom('clusters')
    .select('repository_id')
    .where('id', '=', clusterId)
    .executeTakeFirstOrThrow();
  const before = beforeOf(row);
  const used = push ?? (to === 'push' ? await findPushCredential(trx, clusterId) : undefined);
  return {
    clusterId,
    from,
    to,
    oldRepositoryId: before === undefined ? cluster.repository_id : before.repository_id,
    newRepositoryId: optionsOf(row).git?.repositoryId ?? cluster.repository_id,
    ...(used === undefined ? {} : { push: used }),
  };
}

async function arriving(db: Kysely<Database>, way: CredentialWay): Promise<CredentialChange[]> {
  if (way.to === 'push') return way.push === undefined ? [] : [arrivingPush(way.push)];
  if (way.to !== 'gitops') return [];
  const made = "made when the operator first asks for its configuration; it reads this cluster's directory alone";
  const repository = await repositoryOf(db, way.newRepositoryId);
  if (repository === undefined) {
    const { newRepository: name } = way;
    return name === undefined ? [] : [{ kind: 'git-read', name, change: 'created', message: made }];
  }
  const message =
    repository.embedded === 1
      ? made
      : "the repository's own read credential, which the operator is given with its configuration";
  return [{ kind: 'git-read', name: localName(repository), change: 'created', message }];
}

function arrivingPush(push: NonNullable<CredentialWay['push']>): CredentialChange {
  const ends = push.expires_at === null ? 'does not say when it ends' : `good until ${push.expires_at}`;
  const message = `sealed under the master key; ${ends}`;
  return { kind: 'push', name: nameOf(push), change: 'created', message };
}

async function agentCredential(db: Kysely<Database>, clusterId: string): Promise<CredentialChange> {
  const credential = await currentAgentCredential(db, clusterId);
  const until = credential === undefined ? '' : `; good until ${credential.expires_at}, and rotated as before`;
  const message = `the operator reports by it and asks for its configuration in every mode${until}`;
  return { kind: 'agent', name: "the operator's credential", change: 'kept', message };
}

async function leaving(db: Kysely<Database>, way: CredentialWay): Promise<CredentialChange[]> {
  if (way.from === 'push') {
    const current = await findPushCredential(db, way.clusterId);
    return current === undefined ? [] : [revokedPush(current)];
  }
  if (way.from !== 'gitops') return [];
  const repository = await repositoryOf(db, way.oldRepositoryId);
  return repository === undefined ? [] : [await leavingRepository(db, way.clusterId, repository)];
}

/** Erased here; the account that it is of is the cluster's own, and outlives that. */
function revokedPush(row: Pick<PushCredentialRow, 'server' | 'info' | 'expires_at'>): CredentialChange {
  const { account, proof } = infoOf(row);
  const until = row.expires_at === null ? 'with no end of its own' : `until ${row.expires_at}`;
  const end =
    account === undefined
      ? proof.includes('client-certificate')
        ? `Kubernetes cannot revoke a certificate: take its user's rights away in the cluster (kubectl get rolebindings,clusterrolebindings --all-namespaces -o wide)`
        : 'end it where it was issued'
      : `to end it there: kubectl --namespace ${account.namespace} delete serviceaccount ${account.name}`;
  const message = `erased here. The API server would take it ${until}; ${end}`;
  return { kind: 'push', name: nameOf(row), change: 'revoked', message };
}

async function leavingRepository(
  db: Kysely<Database>,
  clusterId: string,
  repository: RepositoryRow,
): Promise<CredentialChange> {
  const name = localName(repository);
  if (repository.embedded === 1) {
    const message = "the Git host refuses what was issued for this cluster's directory";
    return { kind: 'git-read', name, change: 'revoked', message };
  }
  const others = await db
    .selectFrom('clusters')
    .select('slug')
    .where('repository_id', '=', repository.id)
    .where('connectivity_mode', '=', 'gitops')
    .where('id', '!=', clusterId)
    .orderBy('slug')
    .limit(6)
    .execute();
  const named = others.slice(0, 5).map(({ slug }) => slug);
  const use =
    named.length > 0
      ? `it goes on for ${named.join(', ')}${others.length > named.length ? ' and more' : ''}; this cluster had it too, so issue another one if it must not read there any more`
      : `no other cluster uses it: delete it at ${hostOf(repository.url)}, then here: servicectl repositories delete ${name}`;
  return { kind: 'repository', name, change: 'withdrawn', message: `the operator is no longer given it; ${use}` };
}

/** Read credentials of the cluster, and what its directory could still be written with: that lives a minute. */
async function revokeGitAccess(trx: Kysely<Database>, { clusterId }: CredentialWay, at: string): Promise<void> {
  await revokeGitCredentialsOf(trx, clusterId, new Date(at));
  await trx
    .updateTable('git_credentials')
    .set({ revoked_at: at })
    .where('access', '=', 'write')
    .where('revoked_at', 'is', null)
    .where('scope', 'like', `%${JSON.stringify(clusterId)}%`)
    .execute();
}

/** When the operator's read credential was really made. */
async function withDate(
  trx: Kysely<Database>,
  { clusterId }: CredentialWay,
  one: CredentialChange,
): Promise<CredentialChange> {
  if (one.kind !== 'git-read' || one.at !== undefined) return one;
  const row = await trx
    .selectFrom('git_credentials')
    .select(['created_at', 'expires_at'])
    .where('cluster_id', '=', clusterId)
    .where('access', '=', 'read')
    .where('revoked_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? one : { ...one, at: row.created_at };
}

async function repositoryOf(db: Kysely<Database>, id: string | null): Promise<RepositoryRow | undefined> {
  return id === null ? undefined : await findRepositoryById(db, id);
}

function nameOf(push: Pick<PushCredentialRow, 'server' | 'info'>): string {
  return `${infoOf(push).user} at ${push.server}`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : (/@([^:/]+)/.exec(url)?.[1] ?? 'its host');
}
