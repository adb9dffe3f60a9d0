import { KubeError, type ClusterApi } from '../kube/cluster-api.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import { findCondition } from '../resources/conditions.ts';
import type { KubeObject } from '../resources/kube-object.ts';
import { OPERATOR_LEASE, OPS_API_VERSION, REGISTRATION_SECRET } from '../resources/labels.ts';
import type { Clock } from '../runtime/clock.ts';
import { inOrder } from './cluster-choice.ts';
import { registrationFingerprint } from './credentials.ts';

export interface HandOverDeps {
  readonly api: ClusterApi;
  readonly namespace: string;
  readonly clock: Clock;
}

/** What became of a token, in words for the person who gave it. */
export type HandOver =
  | { readonly state: 'registered'; readonly message: string }
  | { readonly state: 'refused'; readonly message: string }
  /** Nothing yet; the token lies ready for the operator. */
  | { readonly state: 'waiting'; readonly message: string };

interface LeaseObject extends KubeObject {
  spec?: { renewTime?: string };
}

const LOOK_MS = 1000;
const MANAGER = 'service-operator-register';
/** A leader renews its Lease far more often. */
const LEASE_IS_OLD_MS = 60_000;

/**
 * Puts a registration token where the running operator takes it, and waits until it says on its Cluster what became of it.
 * It does not register by itself: the credential has one writer, the operator that leads.
 *
 * @throws KubeError when the API server does not answer or does not allow it
 */
export async function handOverToken(
  deps: HandOverDeps,
  { token, timeoutMs }: { readonly token: string; readonly timeoutMs: number },
): Promise<HandOver> {
  const { clock, namespace } = deps;
  const fingerprint = registrationFingerprint(token);
  const cluster = await findCluster(deps);
  if (cluster === undefined) {
    const message = `there is no Cluster resource in the namespace ${namespace}. Run what \`servicectl clusters install-command <cluster>\` prints; with the token in hand, its second command takes it.`;
    return { state: 'refused', message };
  }
  const known = judged(cluster, fingerprint);
  if (known !== undefined) return known;
  if (worksNow(cluster, clock.now())) {
    const message = `${nameOf(cluster)} is registered as ${cluster.status?.clusterId ?? ''} and its credential is accepted: the token is not used and not spent. To register it anew all the same, set spec.registration.token of the Cluster resource.`;
    return { state: 'registered', message };
  }
  const uid = await placeToken(deps, token);
  const deadline = clock.now().getTime() + timeoutMs;
  for (;;) {
    const now = await findCluster(deps);
    const outcome = now === undefined ? undefined : judged(now, fingerprint);
    if (outcome?.state === 'refused') await removeToken(deps, uid);
    if (outcome !== undefined) return outcome;
    if (clock.now().getTime() >= deadline) return { state: 'waiting', message: await whyNotYet(deps, now) };
    await clock.sleep(LOOK_MS);
  }
}

async function findCluster({ api, namespace }: HandOverDeps): Promise<Cluster | undefined> {
  const kind = { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND };
  const { items } = await api.list<Cluster>(kind, { namespace });
  return inOrder(items)[0];
}

function judged(cluster: Cluster, fingerprint: string): HandOver | undefined {
  const { registration, clusterId = '' } = cluster.status ?? {};
  if (registration?.token !== fingerprint) return undefined;
  if (registration.state === 'registered') {
    return { state: 'registered', message: `${nameOf(cluster)} is registered as ${clusterId}.` };
  }
  return { state: 'refused', message: registration.message ?? 'the control plane refused the token.' };
}

function worksNow({ status }: Cluster, now: Date): boolean {
  const isAccepted = findCondition(status?.conditions, 'Authenticated')?.status === 'True';
  const end = Date.parse(status?.credential?.expiresAt ?? '');
  return isAccepted && !(end <= now.getTime());
}

/** Answers the UID of the Secret. One that is there already gives way: whoever runs this has the newer token. */
async function placeToken({ api, namespace }: HandOverDeps, token: string): Promise<string> {
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: REGISTRATION_SECRET, namespace },
    type: 'Opaque',
    data: { token: Buffer.from(token, 'utf8').toString('base64') },
  };
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace, name: REGISTRATION_SECRET };
  try {
    return (await api.create(secret, MANAGER)).metadata.uid ?? '';
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 409) throw error;
  }
  await api.delete(ref);
  return (await api.create(secret, MANAGER)).metadata.uid ?? '';
}

async function removeToken({ api, namespace }: HandOverDeps, uid: string): Promise<void> {
  const ref = { apiVersion: 'v1', kind: 'Secret', namespace, name: REGISTRATION_SECRET };
  try {
    await api.delete(ref, uid === '' ? {} : { uid });
  } catch (error) {
    // Another one lies there by now, or none.
    if (!(error instanceof KubeError) || (error.status !== 404 && error.status !== 409)) throw error;
  }
}

async function whyNotYet({ api, namespace, clock }: HandOverDeps, cluster: Cluster | undefined): Promise<string> {
  const lies = `The token lies in the Secret ${namespace}/${REGISTRATION_SECRET} until the operator takes it; delete that to take it back.`;
  const lease = await api.get<LeaseObject>({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    namespace,
    name: OPERATOR_LEASE,
  });
  const renewed = Date.parse(lease?.spec?.renewTime ?? '');
  if (!(clock.now().getTime() - renewed < LEASE_IS_OLD_MS)) {
    return `no operator runs: nobody holds the Lease ${namespace}/${OPERATOR_LEASE}. Look at kubectl -n ${namespace} get pods. ${lies}`;
  }
  const condition = findCondition(cluster?.status?.conditions, 'Authenticated');
  const says = condition?.message === undefined ? 'nothing yet' : `${condition.reason ?? ''}: ${condition.message}`;
  const connected = findCondition(cluster?.status?.conditions, 'Connected');
  const away = connected?.status === 'False' ? ` ${connected.message ?? ''}` : '';
  return `the operator has not offered the token yet. It says ${says}${away} ${lies}`;
}

function nameOf({ metadata: { namespace = '', name } }: Cluster): string {
  return `Cluster ${namespace}/${name}`;
}
