import type { Kysely } from 'kysely';
import { AppError } from '../../protocol/app-error.ts';
import type { ConnectivityMode } from '../../protocol/connectivity-mode.ts';
import { newId } from '../../protocol/ids.ts';
import type { Clock } from '../../runtime/clock.ts';
import { appendAudit } from '../store/audit.ts';
import { lockCluster } from '../store/lock-cluster.ts';
import type { ClusterRow, Database, ModeSwitchRow } from '../store/schema.ts';
import { endSwitch, openSwitchOf } from './switch-rows.ts';
import { openProposalsOf, unproposedOf } from './open-proposals.ts';
import type { SwitchOptions, SwitchStep } from './mode-switch.ts';

/** Intents that a refusal names. */
const MAX_NAMED = 50;

export interface SwitchRequest {
  readonly clusterId: string;
  readonly to: ConnectivityMode;
  readonly options: SwitchOptions;
  /** To push: of the candidate that the caller stores in the same transaction when the switch is new. */
  readonly pushCredentialId?: string;
  readonly requestedBy: string;
}

export interface BegunSwitch {
  readonly row: ModeSwitchRow;
  /** False: the switch to that mode is under way already, and nothing was written. */
  readonly isNew: boolean;
}

/**
 * Records that a cluster is to be brought to another mode; the loop does it. One is under way at a time: the same target
 * again is answered with it, another one is refused. One that is going back gives way, and what it has not done yet the new
 * one does, or goes on with. Notify `MODES_TOPIC` after the commit.
 *
 * @throws AppError `conflict`, with `switchId` where another switch stands against it, or `proposals`
 */
export async function beginSwitch(
  trx: Kysely<Database>,
  deps: { readonly clock: Clock; readonly randomBytes: (n: number) => Uint8Array },
  request: SwitchRequest,
): Promise<BegunSwitch> {
  const now = deps.clock.now();
  const at = now.toISOString();
  const cluster = await lockCluster(trx, request.clusterId);
  if (cluster === undefined) throw new AppError('not_found', `there is no cluster ${request.clusterId}`);
  const open = await openSwitchOf(trx, cluster.id);
  if (open !== undefined && open.state !== 'rolling-back') {
    if (open.to_mode === request.to) return { row: open, isNew: false };
    throw new AppError(
      'conflict',
      `cluster ${cluster.slug} is being switched to ${open.to_mode} by ${open.id} (${open.state}); wait for its end, or cancel it first`,
      { extra: { switchId: open.id } },
    );
  }
  await refuseUnlessPossible(trx, cluster, request, open);
  if (open !== undefined) {
    const reason = `${open.reason ?? 'it was going back'}; the rest of the way back was left to a switch to ${request.to}`;
    await endSwitch(trx, open, { state: 'rolled-back', reason, at });
  }
  const step: SwitchStep = { state: 'requested', at, message: `asked for by ${request.requestedBy}` };
  const row: ModeSwitchRow = {
    id: newId('sw', now, deps.randomBytes),
    organization_id: cluster.organization_id,
    cluster_id: cluster.id,
    from_mode: cluster.connectivity_mode,
    to_mode: request.to,
    state: 'requested',
    phase: 'requested',
    phase_since: at,
    options: JSON.stringify(request.options),
    // What one that was going back has not done yet is this one's to do.
    before: open?.before ?? null,
    epoch: open?.epoch ?? null,
    push_credential_id: request.pushCredentialId ?? null,
    steps: JSON.stringify([step]),
    probes: null,
    credentials: null,
    objects_left: null,
    reason: null,
    cancelled_by: null,
    requested_by: request.requestedBy,
    requested_at: at,
    finished_at: null,
    open_for: cluster.id,
  };
  await trx.insertInto('mode_switches').values(row).execute();
  await appendAudit(trx, {
    organizationId: cluster.organization_id,
    at,
    source: 'user',
    kind: 'ModeSwitch',
    clusterId: cluster.id,
    actor: request.requestedBy,
    summary: `${cluster.slug}: switch ${row.id} from ${row.from_mode} to ${row.to_mode} requested`,
  });
  return { row, isNew: true };
}

/** @throws AppError `conflict` */
export function refuseUnregistered({ slug, status }: Pick<ClusterRow, 'slug' | 'status'>, to: ConnectivityMode): void {
  if (status === 'Active') return;
  const message = `cluster ${slug} has not registered yet, so nothing can be moved; install its operator first, or create the cluster anew in ${to} mode`;
  throw new AppError('conflict', message);
}

async function refuseUnlessPossible(
  trx: Kysely<Database>,
  cluster: ClusterRow,
  { to, options }: SwitchRequest,
  open: ModeSwitchRow | undefined,
): Promise<void> {
  const { slug, connectivity_mode: mode } = cluster;
  if (mode === to) {
    const how = open === undefined ? 'is in' : 'is going back to';
    const extra = open === undefined ? {} : { switchId: open.id };
    throw new AppError('conflict', `cluster ${slug} ${how} ${to} mode already`, { extra });
  }
  refuseUnregistered(cluster, to);
  if (cluster.disabled_at !== null) {
    throw new AppError('conflict', `cluster ${slug} is disabled; enable it first`);
  }
  if (to === 'gitops' && (options.git?.repositoryId ?? cluster.repository_id) === null) {
    throw new AppError(
      'conflict',
      `cluster ${slug} has no repository; say which one it is to read from (git.repository)`,
    );
  }
  if (options.closeProposals === true || mode !== 'gitops') return;
  const proposals = await openProposalsOf(trx, cluster.id);
  const intents = await unproposedOf(trx, cluster);
  if (proposals.length === 0 && intents.length === 0) return;
  const what = [
    ...(proposals.length === 0 ? [] : [`open proposals (${proposals.map(({ id }) => id).join(', ')})`]),
    ...(intents.length === 0 ? [] : [`intents that are still to be proposed (${named(intents)})`]),
  ];
  throw new AppError(
    'conflict',
    `cluster ${slug} has ${what.join(' and ')}; decide them first, or have them closed (closeProposals: true)`,
    { extra: { proposals: proposals.map(({ id, title }) => ({ id, title })), intents: intents.slice(0, MAX_NAMED) } },
  );
}

function named(ids: readonly string[]): string {
  const more = ids.length - MAX_NAMED;
  return `${ids.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
