import type { ClusterApi } from '../kube/cluster-api.ts';
import { generateEncryptionKeypair } from '../protocol/jwe.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { Cluster } from '../resources/cluster.ts';
import {
  CLUSTER_ID_LABEL,
  KEYPAIR_SECRET,
  META_FIELD_MANAGER,
  ROTATE_KEYPAIR_ANNOTATION,
} from '../resources/labels.ts';
import { Secret } from '../runtime/secret.ts';
import { ownerOf, readSecret, writeSecret, type SecretContent } from './owned-secret.ts';

/** The cluster's keys: the first encrypts and decrypts, the retired ones only decrypt. */
export interface KeyRing {
  readonly publicJwk: PublicJwk;
  /** Private JWKs as JSON, the current one first: what `decryptWith` takes. */
  readonly ring: readonly Secret[];
  /** The control plane does not have the current public key yet. */
  readonly isToBeSent: boolean;
}

/** The keypair Secret is there and is not a key ring. The message says what to do. */
export class KeyRingUnreadable extends Error {}

/** Members of the keypair Secret: the current private JWK, and a list of those before it. */
const CURRENT = 'current';
const RETIRED = 'retired';
/** Retired keys that are kept. What is sealed to one before them opens nowhere: reseal it before so many new keys. */
const RETIRED_KEPT = 8;

/** Annotations of the keypair Secret: the value of the Cluster's annotation that was served last, and a key's `kid`. */
const ROTATED_FOR = 'ops.service.io/rotated-for';
const TO_BE_SENT = 'ops.service.io/public-key-to-be-sent';

/**
 * The cluster's keys, made at the first call. A new value of the Cluster's annotation makes a new current one and retires the
 * one before it, which goes on decrypting: whatever was sealed to it could not be opened any more otherwise. The new key is
 * in the Secret before anybody can seal to it.
 *
 * @param known as this process has them: they are put back where somebody deleted the Secret
 * @throws KeyRingUnreadable when the Secret is there and cannot be read as a key ring
 * @throws KubeError
 */
export async function ensureKeypair(
  api: ClusterApi,
  cluster: Cluster,
  known: KeyRing | undefined,
  signal: AbortSignal,
): Promise<KeyRing> {
  const ref = { namespace: cluster.metadata.namespace ?? '', name: KEYPAIR_SECRET };
  const existing = await readSecret(api, ref, signal);
  const asked = cluster.metadata.annotations?.[ROTATE_KEYPAIR_ANNOTATION];
  if (existing !== undefined) {
    const ring = readRing(existing);
    const isAsked = asked !== undefined && asked !== '' && asked !== existing.annotations[ROTATED_FOR];
    return isAsked ? await addKey(api, cluster, { ring, labels: existing.labels, asked }, signal) : ring;
  }
  const made = known ?? (await newRing());
  const [current = new Secret(''), ...retired] = made.ring;
  const data = { [CURRENT]: current, [RETIRED]: listOf(retired) };
  const { kid = '' } = made.publicJwk;
  const annotations = {
    ...(asked === undefined ? {} : { [ROTATED_FOR]: asked }),
    ...(made.isToBeSent ? { [TO_BE_SENT]: kid } : {}),
  };
  // Create, not apply: of two operators that start at once one gets a 409 and reads the other's keys.
  const clusterId = cluster.status?.clusterId;
  const labels = clusterId === undefined ? {} : { labels: { [CLUSTER_ID_LABEL]: clusterId } };
  const write = { ...ref, data, annotations, ...labels, owner: ownerOf(cluster), how: 'create' as const };
  await writeSecret(api, write, META_FIELD_MANAGER, signal);
  return made;
}

/** The control plane has this key by now. @throws KubeError */
export async function publicKeySent(
  api: ClusterApi,
  cluster: Cluster,
  sent: PublicJwk,
  signal: AbortSignal,
): Promise<void> {
  const ref = { namespace: cluster.metadata.namespace ?? '', name: KEYPAIR_SECRET };
  const waiting = (await readSecret(api, ref, signal))?.annotations[TO_BE_SENT];
  if (waiting === undefined || waiting !== sent.kid) return;
  const patch = { metadata: { annotations: { [TO_BE_SENT]: null } } };
  await api.mergePatch(
    { apiVersion: 'v1', kind: 'Secret', ...ref },
    patch,
    { fieldManager: META_FIELD_MANAGER },
    signal,
  );
}

/** Every object that the operator makes names its cluster; the keypair was made before there was a name. @throws KubeError */
export async function labelKeypair(
  api: ClusterApi,
  cluster: Cluster,
  clusterId: string,
  signal: AbortSignal,
): Promise<void> {
  const ref = { namespace: cluster.metadata.namespace ?? '', name: KEYPAIR_SECRET };
  const labels = (await readSecret(api, ref, signal))?.labels;
  if (labels === undefined || labels[CLUSTER_ID_LABEL] === clusterId) return;
  const patch = { metadata: { labels: { [CLUSTER_ID_LABEL]: clusterId } } };
  await api.mergePatch(
    { apiVersion: 'v1', kind: 'Secret', ...ref },
    patch,
    { fieldManager: META_FIELD_MANAGER },
    signal,
  );
}

async function newRing(): Promise<KeyRing> {
  const { publicJwk, privateJwk } = await generateEncryptionKeypair();
  return { publicJwk, ring: [privateJwk], isToBeSent: true };
}

function listOf(keys: readonly Secret[]): Secret {
  return new Secret(`[${keys.map((key) => key.expose()).join(',')}]`);
}

async function addKey(
  api: ClusterApi,
  cluster: Cluster,
  before: { readonly ring: KeyRing; readonly labels: Readonly<Record<string, string>>; readonly asked: string },
  signal: AbortSignal,
): Promise<KeyRing> {
  const made = await newRing();
  const retired = before.ring.ring.slice(0, RETIRED_KEPT);
  const clusterId = before.labels[CLUSTER_ID_LABEL];
  await writeSecret(
    api,
    {
      namespace: cluster.metadata.namespace ?? '',
      name: KEYPAIR_SECRET,
      data: { [CURRENT]: made.ring[0] ?? new Secret(''), [RETIRED]: listOf(retired) },
      owner: ownerOf(cluster),
      ...(clusterId === undefined ? {} : { labels: { [CLUSTER_ID_LABEL]: clusterId } }),
      annotations: { [ROTATED_FOR]: before.asked, [TO_BE_SENT]: made.publicJwk.kid ?? '' },
      how: 'apply',
    },
    META_FIELD_MANAGER,
    signal,
  );
  return { ...made, ring: [...made.ring, ...retired] };
}

function readRing({ data, annotations }: SecretContent): KeyRing {
  const current = data[CURRENT];
  const jwk = current === undefined ? undefined : parse(current);
  const retired: unknown = parse(data[RETIRED] ?? new Secret('[]'));
  if (current === undefined || !isPrivateJwk(jwk) || !Array.isArray(retired)) {
    throw new KeyRingUnreadable(
      `Secret ${KEYPAIR_SECRET} is not a key ring (members ${CURRENT} and ${RETIRED}); restore it from a backup, or delete it: a new key is made and sent by a rotation, and what was sealed to the old one has to be sealed again`,
    );
  }
  const { d: _private, ...publicJwk } = jwk;
  const isToBeSent = jwk.kid !== undefined && annotations[TO_BE_SENT] === jwk.kid;
  const older = retired.filter(isPrivateJwk).map((key) => new Secret(JSON.stringify(key)));
  return { publicJwk, ring: [current, ...older], isToBeSent };
}

function isPrivateJwk(value: unknown): value is PublicJwk & { readonly d: string } {
  return typeof value === 'object' && value !== null && 'd' in value && 'x' in value && typeof value.d === 'string';
}

function parse(secret: Secret): unknown {
  try {
    return JSON.parse(secret.expose());
  } catch {
    return undefined;
  }
}
