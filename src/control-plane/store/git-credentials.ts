import type { Kysely } from 'kysely';
import type { DirectoryMove } from '../../git/directory-moves.ts';
import type { ScopeEntry } from '../../git/embedded-host/git-access.ts';
import { newId } from '../../protocol/ids.ts';
import { hashToken, mintToken } from '../../protocol/token.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { Database, GitCredentialRow } from './schema.ts';

/** `git_credentials.scope`: directories to write in, or directories that one commit moves. */
export type StoredScope = readonly ScopeEntry[] | { readonly moves: readonly DirectoryMove[] };

export interface GitCredentialRequest {
  readonly repositoryId: string;
  readonly lifetimeMs: number;
  /** `write` with the only directories that it may change; `read` for a cluster, or for a person (null). */
  readonly use:
    | { readonly access: 'write'; readonly scope: StoredScope }
    | { readonly access: 'read'; readonly clusterId: string | null };
}

/** A minted credential: the row to store, and the token, which the row knows only by its hash. */
export interface MintedGitCredential {
  readonly row: GitCredentialRow;
  readonly token: Secret;
}

/** Mints without storing, so that a token can be sealed before the write that stores it. */
export function mintGitCredential(
  request: GitCredentialRequest,
  deps: { readonly clock: Clock; readonly randomBytes: (n: number) => Uint8Array },
): MintedGitCredential {
  const now = deps.clock.now();
  const token = mintToken('svcgit', deps.randomBytes);
  const { use } = request;
  const row: GitCredentialRow = {
    id: newId('gitcred', now, deps.randomBytes),
    token_hash: hashToken(token.expose()),
    repository_id: request.repositoryId,
    access: use.access,
    cluster_id: use.access === 'read' ? use.clusterId : null,
    scope: use.access === 'write' ? JSON.stringify(use.scope) : null,
    token_sealed: null,
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + request.lifetimeMs).toISOString(),
    revoked_at: null,
  };
  return { row, token };
}

export async function insertGitCredential(trx: Kysely<Database>, row: GitCredentialRow): Promise<void> {
  await trx.insertInto('git_credentials').values(row).execute();
}

export async function findGitCredential(
  db: Kysely<Database>,
  token: string,
): Promise<(GitCredentialRow & { readonly repository_name: string }) | undefined> {
  return await db
    .selectFrom('git_credentials')
    .innerJoin('repositories', 'repositories.id', 'git_credentials.repository_id')
    .selectAll('git_credentials')
    .select('repositories.name as repository_name')
    .where('token_hash', '=', hashToken(token))
    .executeTakeFirst();
}

/** The newest read credential of a cluster for a repository that is neither expired nor revoked. */
export async function currentReadCredential(
  db: Kysely<Database>,
  cluster: { readonly id: string; readonly repositoryId: string },
  now: Date,
): Promise<GitCredentialRow | undefined> {
  return await db
    .selectFrom('git_credentials')
    .selectAll()
    .where('cluster_id', '=', cluster.id)
    .where('repository_id', '=', cluster.repositoryId)
    .where('access', '=', 'read')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .orderBy('expires_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** Ends every Git credential of a cluster; the next one is minted when its agent may ask again. */
export async function revokeGitCredentialsOf(trx: Kysely<Database>, clusterId: string, now: Date): Promise<void> {
  await trx
    .updateTable('git_credentials')
    .set({ revoked_at: now.toISOString() })
    .where('cluster_id', '=', clusterId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** How long an expired read credential stays on record. */
const EXPIRED_READ_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;

/** Write credentials live a minute and number one a push: their rows go when they expire, those of readers later. */
export async function deleteUselessGitCredentials(trx: Kysely<Database>, now: Date): Promise<void> {
  const longAgo = new Date(now.getTime() - EXPIRED_READ_RETENTION_MS).toISOString();
  await trx
    .deleteFrom('git_credentials')
    .where((eb) =>
      eb.or([
        eb.and([eb('access', '=', 'write'), eb('expires_at', '<=', now.toISOString())]),
        eb('expires_at', '<=', longAgo),
      ]),
    )
    .execute();
}

/** Clusters whose newest read credential expires before `threshold`: nobody told them of a newer one yet. */
export async function clustersWithAgeingCredential(
  db: Kysely<Database>,
  threshold: string,
  limit: number,
): Promise<{ readonly clusterId: string; readonly repositoryId: string }[]> {
  const rows = await db
    .selectFrom('git_credentials')
    .innerJoin('clusters', (join) =>
      join
        .onRef('clusters.id', '=', 'git_credentials.cluster_id')
        .onRef('clusters.repository_id', '=', 'git_credentials.repository_id'),
    )
    .select(['clusters.id', 'git_credentials.repository_id'])
    .where('clusters.disabled_at', 'is', null)
    .where('clusters.connectivity_mode', '=', 'gitops')
    .where('git_credentials.revoked_at', 'is', null)
    .groupBy(['clusters.id', 'git_credentials.repository_id'])
    .having((eb) => eb(eb.fn.max('git_credentials.expires_at'), '<', threshold))
    .limit(limit)
    .execute();
  return rows.map(({ id, repository_id }) => ({ clusterId: id, repositoryId: repository_id }));
}
