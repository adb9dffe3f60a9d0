import type { Kysely } from 'kysely';
import { newId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/parse.ts';
import type { Clock } from '../../runtime/clock.ts';
import { DEFAULT_ORGANIZATION, PROJECTIONS } from './organizations.ts';
import type { Database, OrganizationRow, RepositoryRow } from './schema.ts';

/** The repository that clusters share unless they name another. */
export const DEFAULT_REPOSITORY = 'fleet';

/** The one branch of an embedded repository that is written. */
export const EMBEDDED_BRANCH = 'main';

/**
 * A name in an organization as the host knows it, unique over the control plane: the default organization's stand alone,
 * another organization's behind its own name, so that no organization can take or probe another's names.
 */
export function hostedName(organization: Pick<OrganizationRow, 'name'>, name: string): string {
  return organization.name === DEFAULT_ORGANIZATION ? name : `${organization.name}/${name}`;
}

/** The name inside its organization. */
export function localName(repository: Pick<RepositoryRow, 'name'>): string {
  return repository.name.slice(repository.name.lastIndexOf('/') + 1);
}

/** @throws AppError `invalid_request` for a name that the host needs itself */
export function refuseReservedName(name: string, path = '/git/repository'): void {
  if (name !== PROJECTIONS) return;
  const message = `must not be ${PROJECTIONS}: under that name clusters read their own directories; choose another`;
  throw refusal([{ path, message }]);
}

/** The organization's embedded repository of that name; recorded when there is none. The bare repository comes later. */
export async function ensureRepositoryRow(
  trx: Kysely<Database>,
  organization: Pick<OrganizationRow, 'id' | 'name'>,
  name: string,
  deps: { readonly clock: Clock; readonly randomBytes: (n: number) => Uint8Array; readonly baseUrl: string },
): Promise<RepositoryRow> {
  const known = await findRepository(trx, organization, name);
  if (known !== undefined) return (await lockRepository(trx, known.id)) ?? known;
  const now = deps.clock.now();
  const hosted = hostedName(organization, name);
  const made: RepositoryRow = {
    id: newId('repo', now, deps.randomBytes),
    organization_id: organization.id,
    name: hosted,
    url: repositoryUrl(deps.baseUrl, hosted),
    branch: EMBEDDED_BRANCH,
    layout: 'flat',
    embedded: 1,
    host: null,
    host_settings: null,
    credentials_sealed: null,
    credential_info: null,
    probe: null,
    layout_move: null,
    layout_history: null,
    created_at: now.toISOString(),
  };
  await trx.insertInto('repositories').values(made).execute();
  return made;
}

/** Where the embedded host serves a repository. Worked out anew each time: the base URL may have changed since. */
export function repositoryUrl(baseUrl: string, hosted: string): string {
  return `${baseUrl}/git/${hosted}.git`;
}

export async function findRepository(
  db: Kysely<Database>,
  organization: Pick<OrganizationRow, 'id' | 'name'>,
  name: string,
): Promise<RepositoryRow | undefined> {
  return await db
    .selectFrom('repositories')
    .selectAll()
    .where('organization_id', '=', organization.id)
    .where('name', '=', hostedName(organization, name))
    .executeTakeFirst();
}

/**
 * The repository's row, which nobody else changes until this transaction ends: whoever makes a cluster in it and whoever
 * moves its clusters see each other. By an update, which every database understands.
 */
export async function lockRepository(trx: Kysely<Database>, id: string): Promise<RepositoryRow | undefined> {
  return await trx
    .updateTable('repositories')
    .set((eb) => ({ layout: eb.ref('layout') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

export async function findRepositoryById(db: Kysely<Database>, id: string): Promise<RepositoryRow | undefined> {
  return await db.selectFrom('repositories').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Name, inside its organization, of the repository that a cluster's directory is in. */
export async function repositoryOfCluster(db: Kysely<Database>, clusterId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('clusters')
    .innerJoin('repositories', 'repositories.id', 'clusters.repository_id')
    .select('repositories.name')
    .where('clusters.id', '=', clusterId)
    .executeTakeFirst();
  return row === undefined ? undefined : localName(row);
}

/** By name; at most `limit`, those after the hosted name `after`. */
export async function listRepositories(
  db: Kysely<Database>,
  organizationId: string,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<RepositoryRow[]> {
  let query = db
    .selectFrom('repositories')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('name')
    .limit(page.limit);
  if (page.after !== undefined) query = query.where('name', '>', page.after);
  return await query.execute();
}

/** Ids of the repositories that some gitops cluster's directory is in. */
export async function repositoriesInUse(db: Kysely<Database>): Promise<string[]> {
  const rows = await db
    .selectFrom('clusters')
    .select('repository_id')
    .where('connectivity_mode', '=', 'gitops')
    .where('repository_id', 'is not', null)
    .distinct()
    .execute();
  return rows.flatMap(({ repository_id: id }) => id ?? []);
}

/** Names, as the host knows them, of the repositories that this control plane serves itself. */
export async function embeddedRepositories(db: Kysely<Database>): Promise<string[]> {
  const rows = await db.selectFrom('repositories').select('name').where('embedded', '=', 1).orderBy('name').execute();
  return rows.map(({ name }) => name);
}
