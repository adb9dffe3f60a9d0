import type { Kysely } from 'kysely';
import type { Delivery } from '../../delivery/delivery.ts';
import type { GitopsTarget } from '../../delivery/select-delivery.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { HostAccesses } from '../git-hosts/host-accesses.ts';
import { probeRepository } from '../git-hosts/probe-repository.ts';
import type { PushAccess } from '../push/push-access.ts';
import type { PushProbed } from '../push/probe-push.ts';
import type { SwitchProbe } from '../push/switch-probe.ts';
import { currentAgentCredential } from '../store/agent-credentials.ts';
import { findCluster } from '../store/clusters.ts';
import { findPushCredential, findPushCredentialById } from '../store/push-credentials.ts';
import { findRepositoryById, localName } from '../store/repositories.ts';
import type { ClusterRow, Database, ModeSwitchRow, PushCredentialRow, RepositoryRow } from '../store/schema.ts';
import { storedPublicKey } from '../stored-public-key.ts';
import { optionsOf } from './mode-switch.ts';

/** Of a repository's host; an API server's probe has limits of its own. */
const TIMEOUT_MS = 30_000;

/** The way that a switch is to. */
export type ProbedTarget =
  | { readonly mode: 'pull' }
  | { readonly mode: 'push'; readonly probe: (signal: AbortSignal) => Promise<PushProbed> }
  | { readonly mode: 'gitops'; readonly repository: RepositoryRow }
  /** One that is made when the switch is asked for. */
  | { readonly mode: 'gitops'; readonly newRepository: string };

/**
 * What was found of a way.
 *
 * - `ready`: it can be switched to
 * - `later`: it does not answer now; the same may do so soon
 * - `refused`: nothing changes until a person acts
 */
export interface TargetProbes {
  readonly state: 'ready' | 'later' | 'refused';
  readonly probes: readonly SwitchProbe[];
}

export interface ProbeTargetDeps {
  readonly db: Kysely<Database>;
  readonly clock: Clock;
  readonly hostAccesses: Pick<HostAccesses, 'of'>;
  readonly deliveries: { open(target: GitopsTarget): Promise<Delivery> };
  /** Where agents reach this control plane. */
  readonly baseUrl: () => string;
}

/** Asks an API server, by a stored credential or by one that is not stored. Rejects when aborted, or where it does not open. */
export interface PushProber {
  probe(
    credential: PushAccess | PushCredentialRow,
    cluster: Pick<ClusterRow, 'id' | 'slug' | 'allowed_namespaces'>,
    signal: AbortSignal,
  ): Promise<PushProbed>;
}

interface Looked {
  readonly probe: SwitchProbe;
  /** What is not ok may be so soon without anybody's doing. */
  readonly isPassing?: boolean;
}

/**
 * The way of a switch that is under way. Rejects only when aborted, or when the database does.
 *
 * @throws Error when the cluster is gone
 */
export async function probeSwitch(
  deps: ProbeTargetDeps & { readonly pushConnections: PushProber },
  row: Pick<ModeSwitchRow, 'cluster_id' | 'to_mode' | 'options' | 'push_credential_id'>,
  signal: AbortSignal,
): Promise<TargetProbes> {
  const { db, pushConnections } = deps;
  const cluster = await findCluster(db, row.cluster_id);
  if (cluster === undefined) throw new Error(`the cluster ${row.cluster_id} is gone`);
  switch (row.to_mode) {
    case 'pull':
      return await probeTarget(deps, cluster, { mode: 'pull' }, signal);
    case 'push': {
      const { push_credential_id: id } = row;
      const credential = id === null ? await findPushCredential(db, cluster.id) : await findPushCredentialById(db, id);
      if (credential === undefined) return missing('push-credential', 'there is none: switch again with a kubeconfig');
      const probe = async (ends: AbortSignal) => await pushConnections.probe(credential, cluster, ends);
      return await probeTarget(deps, cluster, { mode: 'push', probe }, signal);
    }
    case 'gitops': {
      const id = optionsOf(row).git?.repositoryId ?? cluster.repository_id;
      const repository = id === null ? undefined : await findRepositoryById(db, id);
      if (repository === undefined) return missing('repository', 'it is gone: switch again with another one');
      return await probeTarget(deps, cluster, { mode: 'gitops', repository }, signal);
    }
  }
}

function missing(name: string, message: string): TargetProbes {
  return { state: 'refused', probes: [{ name, ok: false, message }] };
}

/**
 * Looks at the way that a cluster is to be switched to, and leaves no trace. Every switch needs the operator: it ends the
 * old way and confirms the new one. Rejects only when aborted, or when the database does.
 */
export async function probeTarget(
  deps: ProbeTargetDeps,
  cluster: Pick<ClusterRow, 'id' | 'slug' | 'public_key'>,
  target: ProbedTarget,
  signal: AbortSignal,
): Promise<TargetProbes> {
  const looked = [await agentCredential(deps, cluster), ...(await lookAt(deps, cluster, target, signal))];
  const failed = looked.filter(({ probe }) => !probe.ok);
  const isPassing = failed.every((one) => one.isPassing === true);
  const probes = looked.map(({ probe }) => probe);
  return { state: failed.length === 0 ? 'ready' : isPassing ? 'later' : 'refused', probes };
}

async function lookAt(
  deps: ProbeTargetDeps,
  cluster: Pick<ClusterRow, 'slug' | 'public_key'>,
  target: ProbedTarget,
  signal: AbortSignal,
): Promise<Looked[]> {
  if (target.mode === 'pull') return [];
  if (target.mode === 'push') return await lookAtServer(target.probe, signal);
  const madeHere = 'made when the operator asks';
  if ('newRepository' in target) {
    const message = `there is no repository ${target.newRepository}: it is made on the control plane's own Git host`;
    return [{ probe: { name: 'repository', ok: true, message } }, readCredential(deps, cluster, madeHere)];
  }
  const { repository } = target;
  const ends = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    return repository.embedded === 1
      ? [await own(deps, repository, ends), readCredential(deps, cluster, madeHere)]
      : await otherHost(deps, cluster, repository, ends);
  } catch (error) {
    signal.throwIfAborted();
    const message = `${localName(repository)}: ${error instanceof Error ? error.message : 'the probe failed'}`;
    return [{ probe: { name: 'repository', ok: false, message }, isPassing: true }];
  }
}

async function lookAtServer(
  look: (signal: AbortSignal) => Promise<PushProbed>,
  signal: AbortSignal,
): Promise<Looked[]> {
  try {
    const { probe: found, isOther } = await look(signal);
    const isLasting = found.refused === true || isOther;
    return found.probes.map((probe) => ({ probe, isPassing: !isLasting && probe.name === 'reachable' }));
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : 'the credential could not be used';
    return [{ probe: { name: 'push-credential', ok: false, message } }];
  }
}

/** Needed in every mode: by it the operator is told of the switch, and reports. */
async function agentCredential(
  { db, clock }: Pick<ProbeTargetDeps, 'db' | 'clock'>,
  cluster: Pick<ClusterRow, 'id' | 'slug'>,
): Promise<Looked> {
  const name = 'operator-credential';
  const credential = await currentAgentCredential(db, cluster.id);
  const command = `let the operator in again: servicectl clusters recovery-command ${cluster.slug}`;
  if (credential === undefined) {
    return { probe: { name, ok: false, message: `the operator has no credential; ${command}` } };
  }
  const { expires_at: expiresAt } = credential;
  if (expiresAt <= clock.now().toISOString()) {
    return { probe: { name, ok: false, message: `the operator's credential expired at ${expiresAt}; ${command}` } };
  }
  return { probe: { name, ok: true, message: `good until ${expiresAt}` } };
}

async function own({ deliveries }: ProbeTargetDeps, repository: RepositoryRow, signal: AbortSignal): Promise<Looked> {
  const name = 'repository';
  const delivery = await deliveries.open({ mode: 'gitops', repositoryId: repository.id });
  const found = await delivery.probe(signal);
  if (found.state !== 'ready') {
    const message = `${localName(repository)} is ${found.state}: ${found.message}`;
    return { probe: { name, ok: false, message }, isPassing: found.state === 'unreachable' };
  }
  const message = `${localName(repository)}, of the control plane's own Git host, can be written`;
  return { probe: { name, ok: true, message } };
}

async function otherHost(
  deps: ProbeTargetDeps,
  cluster: Pick<ClusterRow, 'slug' | 'public_key'>,
  repository: RepositoryRow,
  signal: AbortSignal,
): Promise<Looked[]> {
  const access = await deps.hostAccesses.of(repository);
  const { result } = await probeRepository(access, repository, signal);
  const said = `${localName(repository)} at ${repository.url}: ${result.message}`;
  const isReady = result.state === 'ready';
  const looked: Looked = {
    probe: { name: 'repository', ok: isReady, message: isReady ? said : `${said}; see docs/git-hosts.md` },
    isPassing: result.state === 'pending' || result.state === 'unreachable',
  };
  const isPublic = access.readCredential === undefined;
  return [looked, isPublic ? readsWithout(repository) : readCredential(deps, cluster, "the repository's own")];
}

function readsWithout(repository: RepositoryRow): Looked {
  const warning = 'no read credential is set: the operator reads without one, so the repository has to be public';
  return { probe: { name: 'read-access', ok: true, message: localName(repository), warning } };
}

/** Whether a credential to read with can be handed to the operator: encrypted to its key, or over TLS. */
function readCredential(
  { baseUrl }: Pick<ProbeTargetDeps, 'baseUrl'>,
  { public_key: key, slug }: Pick<ClusterRow, 'slug' | 'public_key'>,
  whose: string,
): Looked {
  const name = 'read-credential';
  if (storedPublicKey(key) !== undefined) {
    return { probe: { name, ok: true, message: `${whose}, encrypted to the cluster's key` } };
  }
  if (key === null && baseUrl().startsWith('https:'))
    return { probe: { name, ok: true, message: `${whose}, over TLS` } };
  const message =
    key === null
      ? 'the cluster has no encryption key and this control plane is not reached over TLS, so the operator would get none: set SERVICE_BASE_URL to an https address, or let the operator register anew with a key'
      : `nothing can be encrypted to the cluster's key: servicectl clusters rebind ${slug} gives it up, and the operator registers with a new one`;
  return { probe: { name, ok: false, message } };
}
