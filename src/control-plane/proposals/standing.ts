import type { Kysely } from 'kysely';
import { subjectOf } from '../approvals/effects.ts';
import { requirementIn, requirementsOf } from '../approvals/requirements.ts';
import { gitSettingsOf, strictest, type RequiredApprovals } from '../git/git-settings.ts';
import { listAdminTokens } from '../store/admin-tokens.ts';
import { listMembers, memberKey, memberScopes } from '../store/members.ts';
import { approvalsOfIntents } from '../store/approvals.ts';
import { pinsIn, reviewsOf } from '../store/proposals.ts';
import type { ClusterRow, Database, ProposalReviewRow, ProposalRow } from '../store/schema.ts';
import type { CountedReview, Holders } from './count-approvals.ts';
import type { Standing } from './decide-review.ts';

type ReviewedCluster = Pick<ClusterRow, 'id' | 'slug' | 'git_settings' | 'disabled_at'>;

/** A proposal as it is stored, with what decisions about it depend on. */
export interface StoredStanding extends Standing {
  readonly row: ProposalRow;
  readonly cluster: ReviewedCluster;
  readonly reviewRows: readonly ProposalReviewRow[];
  /** Its Git host merges it, by the request that is open there. */
  readonly isHosted: boolean;
}

/** So long approvals wait for the request to be opened; a host whose interface this control plane may not use never does. */
const HOST_WAIT_MS = 10 * 60_000;
/** Hosts with pull or merge requests. */
const REQUEST_HOSTS: ReadonlySet<string | null> = new Set(['github', 'gitlab', 'gitea']);

/** Reads what decisions about proposals of one organization depend on, with a few queries however many they are. */
export async function standingsOf(
  db: Kysely<Database>,
  rows: readonly ProposalRow[],
  now: Date,
): Promise<StoredStanding[]> {
  if (rows.length === 0) return [];
  const reviews = await reviewsOf(
    db,
    rows.map(({ id }) => id),
  );
  const clusters = await clustersOf(db, [...new Set(rows.map((row) => row.cluster_id))]);
  const hosts = await hostsOf(db, [...new Set(rows.map((row) => row.repository_id))]);
  const needed = await neededBesides(db, rows);
  const holders = new Map<string, Holders>();
  for (const organizationId of new Set(rows.map((row) => row.organization_id))) {
    const names = rows.flatMap(({ id }) => (reviews.get(id) ?? []).map(({ actor }) => actor));
    holders.set(organizationId, await holdersOf(db, organizationId, [...new Set(names)]));
  }
  return rows.flatMap((row): StoredStanding[] => {
    const cluster = clusters.get(row.cluster_id);
    if (cluster === undefined) return [];
    const reviewRows = reviews.get(row.id) ?? [];
    const { requiredApprovals, merge } = gitSettingsOf(cluster);
    const { required_approvals: then } = row;
    // Merging is approving: what the operation, the catalog entry or the namespace asks for is asked for here too.
    const asked = [requiredApprovals, ...(needed.get(row.intent_id) ?? [])];
    const required = asked.reduce(
      strictest,
      then === null ? requiredApprovals : (JSON.parse(then) as RequiredApprovals),
    );
    return [
      {
        row,
        cluster,
        reviewRows,
        state: row.state,
        revision: row.revision,
        isRendered: pinsIn(row).length > 0,
        author: row.author,
        reviews: reviewRows.map(countedReview),
        required,
        merge,
        isDisabled: cluster.disabled_at !== null,
        isHosted: row.host_number !== null,
        waitsForHost:
          row.host_number === null &&
          REQUEST_HOSTS.has(hosts.get(row.repository_id) ?? null) &&
          now.getTime() - Date.parse(row.created_at) < HOST_WAIT_MS,
        holders: holders.get(row.organization_id) ?? new Map(),
      },
    ];
  });
}

/** One proposal of those above; it must have been read in this transaction. */
export async function standingOf(db: Kysely<Database>, row: ProposalRow, now: Date): Promise<StoredStanding> {
  const [standing] = await standingsOf(db, [row], now);
  if (standing === undefined) throw new Error(`the proposal ${row.id} has no cluster`);
  return standing;
}

/** With which token each of these can come in to approve, and as what; whoever may not approve any more is left out. */
export async function holdersOf(
  db: Kysely<Database>,
  organizationId: string,
  names: readonly string[],
): Promise<Holders> {
  const tokens = await listAdminTokens(db, organizationId, { names });
  const members = await listMembers(db, organizationId, { names });
  const able = members.filter((member) => member.disabled_at === null && memberScopes(member).has('approve'));
  return new Map([
    ...tokens.map((row) => [row.name, { token: row.token_hash, roles: rolesIn(row.roles) }] as const),
    ...able.map((row) => [row.name, { token: memberKey(row), roles: rolesIn(row.roles) }] as const),
  ]);
}

function rolesIn(text: string | null): string[] {
  return JSON.parse(text ?? '[]') as string[];
}

/** By intent: the approvals that it needed when it was accepted, and those that it needs now. */
async function neededBesides(
  db: Kysely<Database>,
  rows: readonly ProposalRow[],
): Promise<Map<string, RequiredApprovals[]>> {
  const ids = rows.map(({ intent_id: id }) => id);
  const approvals = await approvalsOfIntents(db, ids);
  const intents = await db
    .selectFrom('intents')
    .select(['id', 'organization_id', 'cluster_id', 'record'])
    .where('id', 'in', ids)
    .execute();
  const current = await requirementsOf(db, intents.map(subjectOf));
  return new Map(
    intents.map(({ id }, index) => {
      const [then, now] = [approvals.get(id), current[index]];
      return [id, [...(then === undefined ? [] : [requirementIn(then.required)]), ...(now === undefined ? [] : [now])]];
    }),
  );
}

function countedReview(row: ProposalReviewRow): CountedReview {
  const { kind, actor, revision, token_hash: token, dropped_at: droppedAt } = row;
  return { kind, actor, revision, token, droppedAt, roles: JSON.parse(row.roles) as string[] };
}

async function clustersOf(db: Kysely<Database>, ids: readonly string[]): Promise<Map<string, ReviewedCluster>> {
  const rows = await db
    .selectFrom('clusters')
    .select(['id', 'slug', 'git_settings', 'disabled_at'])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function hostsOf(db: Kysely<Database>, ids: readonly string[]): Promise<Map<string, string | null>> {
  const rows = await db.selectFrom('repositories').select(['id', 'host']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, host }) => [id, host]));
}
