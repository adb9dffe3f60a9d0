import type { Kysely, Updateable } from 'kysely';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import { clusterDirectory } from '../../delivery/gitops/layout.ts';
import { bulkInsert } from '../store/bulk-insert.ts';
import { raiseConfigRevision } from '../store/clusters.ts';
import { findRepositoryById, lockRepository } from '../store/repositories.ts';
import type { ClusterRow, Database, ModeHandoverRow, ModeSwitchRow } from '../store/schema.ts';
import { bringCredentials, takeBackCredentials } from './credentials.ts';
import { decideHandover } from './decide-handover.ts';
import { fenceOldWork } from './fence-old-work.ts';
import { beforeOf, optionsOf, settingsBefore, type BeforeSwitch } from './mode-switch.ts';
import { moveSwitch } from './switch-rows.ts';

const insertHandovers = bulkInsert<ModeHandoverRow>(
  [
    'switch_id',
    'cluster_id',
    'epoch',
    'intent_id',
    'target_kind',
    'namespace',
    'name',
    'generation',
    'action',
    'state',
    'reason',
    'receipt',
    'delivered_at',
    'confirmed_at',
  ],
  (trx, rows) => trx.insertInto('mode_handovers').values(rows),
);

type GitColumns = Pick<ClusterRow, 'repository_id' | 'git_directory' | 'git_settings'>;

/**
 * The fence of the new way: the cluster has its mode and settings under a new epoch, nothing is delivered to it until the
 * operator has left the old way, and what is handed over waits. In one transaction that holds the cluster's row.
 *
 * @throws Error when what it needs is gone; whoever decides looks for that first
 */
export async function fence(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  { at, message }: { readonly at: string; readonly message: string },
): Promise<void> {
  const { to_mode: to } = row;
  const known = beforeOf(row);
  // Fenced anew, it still goes back to what was there before the first time.
  const isFirst = row.phase === 'probing';
  const before: BeforeSwitch = {
    ...(known === undefined || isFirst ? settingsBefore(cluster) : known),
    ...(known?.delivered === true ? { delivered: true } : {}),
    fenced: cluster.delivery_epoch + 1,
  };
  const git = to === 'gitops' ? await gitColumns(trx, row, cluster) : {};
  const epoch = await raise(
    trx,
    cluster,
    to,
    { ...git, desired_revision: null, trusted_revision: null },
    { at, isBack: false },
  );
  const left = await handOver(trx, row, cluster, to, epoch);
  const fenced = { ...row, epoch, before: JSON.stringify(before) };
  const credentials = await bringCredentials(trx, fenced, at);
  await moveSwitch(
    trx,
    row,
    {
      state: 'fencing',
      phase: 'fencing',
      epoch,
      before: fenced.before,
      credentials: JSON.stringify(credentials),
      objects_left: left,
    },
    { at, message: `${message}; delivery epoch ${epoch}` },
  );
}

/** The same for the way back: the mode and settings of before, under one more epoch. */
export async function fenceBack(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  { at, reason }: { readonly at: string; readonly reason: string },
): Promise<void> {
  const { from_mode: from, to_mode: to } = row;
  const known = beforeOf(row);
  if (known === undefined) throw new Error(`the switch ${row.id} has nothing to go back to`);
  const { repository_id, git_directory, git_settings, desired_revision, trusted_revision } = known;
  // From gitops they were left as they are, and its layout may have been moved since.
  const isThere = repository_id !== null && (await findRepositoryById(trx, repository_id)) !== undefined;
  const place = isThere ? { repository_id, git_directory } : { repository_id: null, git_directory: null };
  const git = to === 'gitops' ? { ...place, git_settings } : {};
  const revisions = from === 'gitops' ? { desired_revision, trusted_revision } : {};
  const columns = { ...git, desired_revision: null, trusted_revision: null, ...revisions };
  const epoch = await raise(trx, cluster, from, columns, { at, isBack: true });
  const left = await handOver(trx, row, cluster, from, epoch);
  const isFirst = row.state !== 'rolling-back';
  const credentials = isFirst ? JSON.stringify(await takeBackCredentials(trx, row, at)) : row.credentials;
  const before: BeforeSwitch = { ...known, fenced: epoch };
  await moveSwitch(
    trx,
    row,
    {
      state: 'rolling-back',
      phase: 'fencing',
      epoch,
      before: JSON.stringify(before),
      credentials,
      objects_left: left,
      reason: isFirst ? reason : row.reason,
    },
    { at, message: `${reason}; back to ${from} under delivery epoch ${epoch}` },
  );
}

async function raise(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  mode: ConnectivityMode,
  columns: Updateable<ClusterRow>,
  { at, isBack }: { readonly at: string; readonly isBack: boolean },
): Promise<number> {
  const epoch = cluster.delivery_epoch + 1;
  await trx
    .updateTable('clusters')
    .set({
      ...columns,
      connectivity_mode: mode,
      delivery_epoch: epoch,
      delivery_held: 1,
      applied_revision: null,
      accepted_removals: null,
    })
    .where('id', '=', cluster.id)
    .execute();
  await raiseConfigRevision(trx, cluster.id);
  await fenceOldWork(trx, cluster, epoch, { at, isBack });
  // Of a switch that was fenced before this one.
  await trx
    .updateTable('mode_handovers')
    .set({ state: 'dropped', reason: `the delivery epoch was raised to ${epoch}` })
    .where('cluster_id', '=', cluster.id)
    .where('epoch', '<', epoch)
    .where('state', 'in', ['pending', 'delivered'])
    .execute();
  return epoch;
}

/** @returns `objects_left` */
async function handOver(
  trx: Kysely<Database>,
  row: ModeSwitchRow,
  cluster: ClusterRow,
  to: ConnectivityMode,
  epoch: number,
): Promise<string> {
  const { intents, left } = await decideHandover(trx, cluster, to);
  await insertHandovers.run(
    trx,
    intents.map(({ id, target_kind, namespace, name, generation, action }) => ({
      switch_id: row.id,
      cluster_id: row.cluster_id,
      epoch,
      intent_id: id,
      target_kind,
      namespace,
      name,
      generation,
      action,
      state: 'pending',
      reason: null,
      receipt: null,
      delivered_at: null,
      confirmed_at: null,
    })),
  );
  return JSON.stringify(left);
}

/** Where it reads from now on: as was asked for, and for the rest as it had it when it was last in gitops mode. */
async function gitColumns(trx: Kysely<Database>, row: ModeSwitchRow, cluster: ClusterRow): Promise<GitColumns> {
  const { git } = optionsOf(row);
  const id = git?.repositoryId ?? cluster.repository_id;
  // Its layout stays as it is until the end of the transaction.
  const repository = id === null ? undefined : await lockRepository(trx, id);
  if (repository === undefined) throw new Error(`the repository of the switch ${row.id} is gone`);
  const settings = cluster.git_settings === null ? {} : (JSON.parse(cluster.git_settings) as object);
  return {
    repository_id: repository.id,
    git_directory: clusterDirectory(repository.layout, cluster.slug),
    git_settings:
      git?.review === undefined ? cluster.git_settings : JSON.stringify({ ...settings, review: git.review }),
  };
}
