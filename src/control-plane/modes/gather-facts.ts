import type { Kysely } from 'kysely';
import { layoutMoveOf } from '../store/layout-moves.ts';
import { findPushCredential, findPushCredentialById } from '../store/push-credentials.ts';
import { findRepositoryById, localName } from '../store/repositories.ts';
import type { ClusterRow, Database, ModeHandoverRow, ModeSwitchRow } from '../store/schema.ts';
import type { DecidedSwitch, SwitchFacts } from './decide-switch.ts';
import { beforeOf, objectsLeftOf, optionsOf } from './mode-switch.ts';
import { openProposalsOf, unproposedOf } from './open-proposals.ts';

/** Objects that a reason names. */
const MAX_NAMED = 3;

/** Facts that are not in the database. */
export type SeenFacts = Pick<SwitchFacts, 'contactMs' | 'probes'> & {
  /** A batch that was taken under an older epoch is being written by the control plane itself. */
  readonly isDelivering: boolean;
};

/** What of a switch's row a decision depends on. */
export function decidedOf(row: ModeSwitchRow): DecidedSwitch {
  const before = beforeOf(row);
  return { ...row, epoch: before?.fenced ?? row.epoch, options: optionsOf(row), before };
}

/** What a decision about a switch depends on, read in its transaction. */
export async function gatherFacts(
  db: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  { contactMs, probes, isDelivering }: SeenFacts,
): Promise<SwitchFacts> {
  const isBegun = row.phase !== 'requested' && row.phase !== 'probing';
  const handovers = await countHandovers(db, cluster);
  const refused = handovers.refused === 0 ? [] : await firstOf(db, cluster, ['refused']);
  const open: readonly ModeHandoverRow['state'][] = row.state === 'confirming' ? ['pending', 'delivered'] : ['pending'];
  const isAwaited = isBegun && open.some((state) => handovers[state] > 0);
  const awaited = isAwaited ? await firstOf(db, cluster, open) : [];
  return {
    silence: silenceOf(cluster),
    contactMs,
    probes,
    clusterEpoch: cluster.delivery_epoch,
    reportedEpoch: cluster.reported_epoch,
    openProposals: isBegun ? [] : await standingProposals(db, row, cluster),
    obstacle: isBegun ? undefined : await obstacleOf(db, row, cluster),
    oldWork: (isBegun ? await openOldJobs(db, cluster) : 0) + (isDelivering ? 1 : 0),
    handovers,
    heldUp: handovers.pending === 0 ? 0 : await countHeldUp(db, cluster),
    left: objectsLeftOf(row).length,
    refused: refused.map(({ object, reason }) => `${object}: ${reason}`),
    awaited: awaited.map(({ object, reason }) => (reason === null ? object : `${object} (${reason})`)),
    isRevisionApplied: cluster.connectivity_mode !== 'gitops' || cluster.applied_revision === cluster.desired_revision,
  };
}

/** Why nothing is heard of a cluster's operator; undefined while it is in contact. */
export function silenceOf(
  cluster: Pick<ClusterRow, 'status' | 'disabled_at' | 'revoked_at' | 'disconnected_at' | 'last_contact_at'>,
): string | undefined {
  const { disabled_at: disabledAt, revoked_at: revokedAt, disconnected_at: disconnectedAt } = cluster;
  if (disabledAt !== null) return `the cluster is disabled since ${disabledAt}; enable it`;
  if (revokedAt !== null) return `its credential was revoked at ${revokedAt}; let it register again`;
  if (cluster.status !== 'Active' || cluster.last_contact_at === null) return 'it has not been in contact yet';
  // The mark is taken back within half a minute of the next contact.
  if (disconnectedAt === null || cluster.last_contact_at > disconnectedAt) return undefined;
  return `nothing was heard of it since ${cluster.last_contact_at}`;
}

async function standingProposals(db: Kysely<Database>, row: ModeSwitchRow, cluster: ClusterRow): Promise<string[]> {
  if (row.from_mode !== 'gitops' || optionsOf(row).closeProposals === true) return [];
  const open = (await openProposalsOf(db, row.cluster_id)).map(({ id }) => id);
  return [...open, ...(await unproposedOf(db, cluster)).slice(0, MAX_NAMED)];
}

async function obstacleOf(
  db: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
): Promise<SwitchFacts['obstacle']> {
  if (row.to_mode === 'push') {
    const { push_credential_id: credentialId } = row;
    const credential =
      credentialId === null ? await findPushCredential(db, cluster.id) : await findPushCredentialById(db, credentialId);
    if (credential !== undefined && credential.state !== 'revoked') return undefined;
    const why = credential?.revoked_reason ?? 'none was given';
    return { lasts: true, why: `there is no push credential to switch with: ${why}` };
  }
  if (row.to_mode !== 'gitops') return undefined;
  const id = optionsOf(row).git?.repositoryId ?? cluster.repository_id;
  const repository = id === null ? undefined : await findRepositoryById(db, id);
  if (repository === undefined) return { lasts: true, why: 'the repository to switch to is gone' };
  if (layoutMoveOf(repository) === undefined) return undefined;
  return { lasts: false, why: `the layout of repository ${localName(repository)}, which is being moved` };
}

async function openOldJobs(db: Kysely<Database>, cluster: ClusterRow): Promise<number> {
  const { count } = await db
    .selectFrom('jobs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('cluster_id', '=', cluster.id)
    .where('state', '!=', 'closed')
    .where('delivery_epoch', '<', cluster.delivery_epoch)
    .executeTakeFirstOrThrow();
  return count;
}

async function countHandovers(
  db: Kysely<Database>,
  cluster: ClusterRow,
): Promise<Record<ModeHandoverRow['state'], number>> {
  const rows = await db
    .selectFrom('mode_handovers')
    .select(['state'])
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .groupBy('state')
    .execute();
  const counts = { pending: 0, delivered: 0, confirmed: 0, refused: 0, dropped: 0 };
  for (const { state, count } of rows) counts[state] = count;
  return counts;
}

/** In push mode, where an object can wait alone: of the others one that waits says nothing of the object. */
async function countHeldUp(db: Kysely<Database>, cluster: ClusterRow): Promise<number> {
  if (cluster.connectivity_mode !== 'push') return 0;
  const { count } = await db
    .selectFrom('mode_handovers')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .where('state', '=', 'pending')
    .where('reason', 'is not', null)
    .executeTakeFirstOrThrow();
  return count;
}

async function firstOf(
  db: Kysely<Database>,
  cluster: ClusterRow,
  states: readonly ModeHandoverRow['state'][],
): Promise<{ readonly object: string; readonly reason: string | null }[]> {
  const rows = await db
    .selectFrom('mode_handovers')
    .select(['target_kind', 'namespace', 'name', 'reason'])
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '=', cluster.delivery_epoch)
    .where('state', 'in', states)
    .orderBy('target_kind')
    .orderBy('namespace')
    .orderBy('name')
    .limit(MAX_NAMED)
    .execute();
  return rows.map(({ target_kind: kind, namespace, name, reason }) => ({
    object: `${kind} ${namespace}/${name}`,
    reason,
  }));
}
