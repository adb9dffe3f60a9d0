import type { Kysely } from 'kysely';
import { OPERATION_KIND } from '../../resources/operation.ts';
import { beginsWith, containsText, withoutIndex } from './match-text.ts';
import { localName } from './repositories.ts';
import type { Database } from './schema.ts';
import type { SearchKind, SearchRow } from './search-row.ts';

export interface SearchRequest {
  readonly organizationId: string;
  readonly text: string;
  readonly kind?: SearchKind | undefined;
  readonly limit: number;
}

type Search = (db: Kysely<Database>, request: SearchRequest) => Promise<SearchRow[]>;

/** A commit's id begins so; fewer characters would name everything. */
const COMMIT = /^[0-9a-f]{4,64}$/;

const part = encodeURIComponent;

/** Whether an id of that kind may begin so, of which enough is there to say more than its kind. */
function mayBeIdOf(prefix: string, text: string): boolean {
  return text.startsWith(prefix) && text.length > prefix.length;
}

/** How each kind is found. What there are few of, and clusters, by any part of the name; the rest by how it begins. */
export const SEARCHES: Readonly<Record<SearchKind, Search>> = {
  cluster: searchClusters,
  application: searchApplications,
  intent: searchIntents,
  proposal: searchProposals,
  operation: searchOperations,
  catalog: searchCatalog,
  template: searchTemplates,
  repository: searchRepositories,
  member: searchMembers,
  commit: searchCommits,
};

async function searchClusters(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const clusters = db.selectFrom('clusters').select(['id', 'slug', 'display_name']);
  const mine = clusters.where('organization_id', '=', organizationId).orderBy('slug').limit(limit);
  const beginning = await mine.where(beginsWith('slug', text.toLowerCase())).execute();
  // Those that are called so first: others that hold it may be many.
  const rest =
    beginning.length >= limit
      ? []
      : await mine
          .where((eb) => eb.or([containsText('slug', text), containsText('display_name', text), eb('id', '=', text)]))
          .execute();
  const known = new Set(beginning.map(({ id }) => id));
  return [...beginning, ...rest.filter(({ id }) => !known.has(id))].slice(0, limit).map((row) => ({
    kind: 'cluster',
    id: row.id,
    title: row.slug,
    ...(row.display_name === row.slug ? {} : { subtitle: row.display_name }),
    clusterSlug: row.slug,
    href: `#/clusters/${part(row.slug)}`,
  }));
}

async function searchApplications(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const slash = text.indexOf('/');
  const [namespace, name] = slash < 0 ? [undefined, text] : [text.slice(0, slash), text.slice(slash + 1)];
  let query = db
    .selectFrom('applications')
    .innerJoin('clusters', 'clusters.id', 'applications.cluster_id')
    .select(['applications.cluster_id', 'applications.namespace', 'applications.name'])
    .select(['catalog_entry', 'observed_version', 'version', 'slug'])
    .where('applications.organization_id', '=', organizationId)
    .where(beginsWith('applications.name', name.toLowerCase()))
    .where('applications.health', '<>', 'gone')
    .orderBy('applications.name')
    .orderBy('applications.cluster_id')
    .orderBy('applications.namespace')
    .limit(limit);
  if (namespace !== undefined) query = query.where('applications.namespace', '=', namespace.toLowerCase());
  const rows = await query.execute();
  return rows.map((row) => ({
    kind: 'application',
    id: `${row.cluster_id}/${row.namespace}/${row.name}`,
    title: `${row.namespace}/${row.name}`,
    subtitle: [row.catalog_entry, row.observed_version ?? row.version, `on ${row.slug}`].filter(Boolean).join(' '),
    clusterSlug: row.slug,
    href: `#/clusters/${part(row.slug)}/applications/${part(row.namespace)}/${part(row.name)}`,
  }));
}

async function searchIntents(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  if (!mayBeIdOf('int-', text)) return [];
  const rows = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['intents.id', 'action', 'namespace', 'name', 'state', 'generation', 'slug'])
    .where(withoutIndex('intents.organization_id'), '=', organizationId)
    .where(beginsWith('intents.id', text))
    .orderBy('intents.id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    kind: 'intent',
    id: row.id,
    title: `${row.action} ${row.namespace}/${row.name}`,
    subtitle: `generation ${row.generation}, ${row.state}, on ${row.slug}`,
    clusterSlug: row.slug,
    href: `#/intents/${part(row.id)}`,
  }));
}

async function searchProposals(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  if (!mayBeIdOf('prop-', text) && !mayBeIdOf('int-', text)) return [];
  const rows = await db
    .selectFrom('proposals')
    .innerJoin('clusters', 'clusters.id', 'proposals.cluster_id')
    .select(['proposals.id', 'title', 'state', 'slug'])
    .select('proposals.created_at')
    .where('proposals.organization_id', '=', organizationId)
    .where((eb) => eb.or([beginsWith('proposals.id', text), beginsWith('proposals.intent_id', text)]))
    .orderBy('proposals.created_at', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    kind: 'proposal',
    id: row.id,
    title: row.title,
    subtitle: `${row.state}, on ${row.slug}`,
    clusterSlug: row.slug,
    href: `#/proposals/${part(row.id)}`,
  }));
}

async function searchOperations(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const rows = await db
    .selectFrom('intents')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .select(['intents.id', 'namespace', 'name', 'state', 'operation_template', 'slug'])
    .where('intents.organization_id', '=', organizationId)
    .where('target_kind', '=', OPERATION_KIND)
    .where('cancels', 'is', null)
    .where(beginsWith('name', text.toLowerCase()))
    .orderBy('name')
    .orderBy('intents.id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    kind: 'operation',
    id: row.id,
    title: `${row.namespace}/${row.name}`,
    subtitle: [row.operation_template, row.state, `on ${row.slug}`].filter(Boolean).join(', '),
    clusterSlug: row.slug,
    href: `#/operations/${part(row.id)}`,
  }));
}

async function searchCatalog(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const rows = await db
    .selectFrom('catalog_entries')
    .select(['name', 'versions'])
    .where('organization_id', '=', organizationId)
    .where(containsText('name', text))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map(({ name, versions }) => ({
    kind: 'catalog',
    id: name,
    title: name,
    subtitle: versions,
    href: `#/catalog/${part(name)}`,
  }));
}

async function searchTemplates(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const rows = await db
    .selectFrom('operation_templates')
    .select('name')
    .where('organization_id', '=', organizationId)
    .where(containsText('name', text))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map(({ name }) => ({ kind: 'template', id: name, title: name, href: `#/templates/${part(name)}` }));
}

async function searchRepositories(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const rows = await db
    .selectFrom('repositories')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([containsText('name', text), containsText('url', text)]))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    kind: 'repository',
    id: row.id,
    title: localName(row),
    subtitle: row.embedded === 1 ? `branch ${row.branch}` : row.url,
    href: `#/history/${part(localName(row))}`,
  }));
}

async function searchMembers(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  const rows = await db
    .selectFrom('members')
    .select(['name', 'display_name', 'email'])
    .where('organization_id', '=', organizationId)
    .where((eb) => eb.or([containsText('name', text), containsText('display_name', text), containsText('email', text)]))
    .orderBy('name')
    .limit(limit)
    .execute();
  return rows.map(({ name, display_name: displayName, email }) => ({
    kind: 'member',
    id: name,
    title: name,
    ...(displayName === null && email === null ? {} : { subtitle: [displayName, email].filter(Boolean).join(', ') }),
    href: `#/members/${part(name)}`,
  }));
}

async function searchCommits(
  db: Kysely<Database>,
  { organizationId, text, limit }: SearchRequest,
): Promise<SearchRow[]> {
  if (!COMMIT.test(text)) return [];
  const rows = await db
    .selectFrom('receipts')
    .innerJoin('intents', 'intents.id', 'receipts.intent_id')
    .innerJoin('clusters', 'clusters.id', 'intents.cluster_id')
    .innerJoin('repositories', 'repositories.id', 'clusters.repository_id')
    .selectAll('repositories')
    .select(['receipts.commit_id', 'action', 'intents.namespace', 'intents.name as application', 'slug'])
    .where(withoutIndex('intents.organization_id'), '=', organizationId)
    .where(beginsWith('receipts.commit_id', text))
    .orderBy('receipts.commit_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    kind: 'commit',
    id: row.commit_id ?? '',
    title: (row.commit_id ?? '').slice(0, 12),
    subtitle: `${row.action} ${row.namespace}/${row.application}`,
    clusterSlug: row.slug,
    href: `#/history/${part(localName(row))}/commits/${part(row.commit_id ?? '')}`,
  }));
}
