import { AppError } from '../../protocol/app-error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { MasterKey } from '../master-key.ts';
import type { AdminIdentity } from '../store/admin-tokens.ts';
import { appendAudit } from '../store/audit.ts';
import { lockCluster } from '../store/lock-cluster.ts';
import type { Store } from '../store/open-store.ts';
import { findPushCredential, insertPushCredential, storePushFindings } from '../store/push-credentials.ts';
import type { ClusterRow, PushCredentialRow } from '../store/schema.ts';
import { DELIVERY_TOPIC } from '../topics.ts';
import type { Wakeups } from '../wakeups.ts';
import type { PushConnections } from './push-connections.ts';
import { newPushCredential } from './push-access.ts';
import { infoOf, type PushProbe, type PushReach } from './push-credential-info.ts';
import { readKubeconfig } from './read-kubeconfig.ts';
import type { PushProbed } from './probe-push.ts';
import { isOther as isKnownOther } from './store-reach.ts';

export interface SetPushCredentialDeps {
  readonly store: Store;
  readonly masterKey: Pick<MasterKey, 'seal'>;
  readonly pushConnections: Pick<PushConnections, 'probe'>;
  readonly wakeups: Wakeups;
  readonly clock: Clock;
  readonly randomBytes: (n: number) => Uint8Array;
}

/**
 * Gives a cluster in push mode its credential, or another one. It is probed first: one of another cluster is never taken, and
 * of a cluster that is registered only one that can do all; the one before stays then. A cluster that has not registered yet
 * has nothing that could be asked whose API server it is: its credential is taken, and nothing is written by it before that
 * is known.
 *
 * @throws AppError `conflict` in another mode, `constraint_violated` with the probes
 */
export async function setPushCredential(
  deps: SetPushCredentialDeps,
  admin: AdminIdentity,
  cluster: ClusterRow,
  kubeconfig: string,
  signal: AbortSignal,
): Promise<void> {
  requirePushMode(cluster);
  const { store, clock } = deps;
  const access = readKubeconfig(kubeconfig, { path: '/kubeconfig', now: clock.now() });
  const probed = await deps.pushConnections.probe(access, cluster, signal);
  const { probe, isOther } = probed;
  if (isOther || (!probe.ok && cluster.status === 'Active')) throw refused(probe);
  const credential = await newPushCredential(deps, { clusterId: cluster.id, access, createdBy: admin.name });
  await store.write(async (trx) => {
    const locked = await lockCluster(trx, cluster.id);
    if (locked === undefined) throw new AppError('not_found', `there is no cluster ${cluster.slug} any more`);
    requirePushMode(locked);
    const before = await findPushCredential(trx, cluster.id);
    await insertPushCredential(trx, credential, 'current');
    await storePushFindings(trx, credential.id, findingsOf(probed));
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at: credential.created_at,
      source: 'user',
      kind: 'PushCredentialSet',
      clusterId: cluster.id,
      actor: admin.name,
      summary: `cluster ${cluster.slug}: push mode writes as ${infoOf(credential).user} at ${access.server} from now on${before === undefined ? '' : '; the credential before it was erased here'}`,
    });
  });
  deps.wakeups.notify(DELIVERY_TOPIC);
}

/**
 * Probes the credential that is used now, and keeps what was found.
 *
 * @throws AppError `conflict` where there is none
 */
export async function probePushCredential(
  deps: Omit<SetPushCredentialDeps, 'masterKey' | 'randomBytes'>,
  admin: AdminIdentity,
  cluster: ClusterRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = deps;
  requirePushMode(cluster);
  const row = await findPushCredential(store.db, cluster.id);
  if (row === undefined) {
    throw new AppError(
      'conflict',
      `cluster ${cluster.slug} has no push credential; give it one with: servicectl clusters push-credential ${cluster.slug} --kubeconfig FILE`,
    );
  }
  const probed = await deps.pushConnections.probe(row, cluster, signal);
  const { probe } = probed;
  await store.write(async (trx) => {
    await storePushFindings(trx, row.id, findingsOf(probed, isKnownOther(row)));
    await appendAudit(trx, {
      organizationId: cluster.organization_id,
      at: clock.now().toISOString(),
      source: 'user',
      kind: 'PushCredentialProbed',
      clusterId: cluster.id,
      actor: admin.name,
      summary: `cluster ${cluster.slug}: push credential probed: ${summaryOf(probe)}`,
    });
  });
}

/** What a probe of everything says of the way as a whole. */
export function findingsOf(
  { probe, isOther }: Pick<PushProbed, 'probe' | 'isOther'>,
  wasOther = false,
): Pick<PushCredentialRow, 'probe' | 'reach'> {
  const reached = probe.probes.filter(({ name }) => name === 'reachable' || name === 'same-cluster');
  const fault = reached.find(({ ok }) => !ok);
  const reach: PushReach = {
    at: probe.at,
    state: fault === undefined ? 'ready' : probe.refused === true ? 'refused' : 'failing',
    message: fault?.message ?? 'the API server answers, and it is this cluster’s',
    ...(isOther || (wasOther && fault !== undefined) ? { other: true } : {}),
  };
  return { probe: JSON.stringify(probe), reach: JSON.stringify(reach) };
}

function requirePushMode({ slug, connectivity_mode: mode }: ClusterRow): void {
  if (mode === 'push') return;
  throw new AppError(
    'conflict',
    `cluster ${slug} is in ${mode} mode, which needs no push credential; to move it: servicectl clusters mode ${slug} push --kubeconfig FILE`,
  );
}

function refused(probe: PushProbe): AppError {
  const faults = probe.probes.filter(({ ok }) => !ok);
  const message = `the credential was not taken, and nothing was changed: ${faults.map(({ message: why }) => why).join('; ')}`;
  return new AppError('constraint_violated', message, {
    faults: faults.map(({ name, message: why }) => ({ path: '/kubeconfig', message: `${name}: ${why}` })),
    extra: { probes: probe.probes },
  });
}

function summaryOf(probe: PushProbe): string {
  const faults = probe.probes.filter(({ ok }) => !ok).map(({ name }) => name);
  return faults.length === 0 ? 'all is as it must be' : `not ok: ${faults.join(', ')}`;
}
