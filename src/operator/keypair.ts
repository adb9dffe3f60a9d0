import type { ClusterApi } from '../kube/cluster-api.ts';
import { generateEncryptionKeypair } from '../protocol/jwe.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { Cluster } from '../resources/cluster.ts';
import { CLUSTER_ID_LABEL, KEYPAIR_SECRET, META_FIELD_MANAGER } from '../resources/labels.ts';
import { Secret } from '../runtime/secret.ts';
import { ownerOf, readSecret, writeSecret } from './owned-secret.ts';

/** The cluster's keys: the first encrypts and decrypts, the retired ones only decrypt. */
export interface KeyRing {
  readonly publicJwk: PublicJwk;
  /** Private JWKs as JSON, the current one first: what `decryptWith` takes. */
  readonly ring: readonly Secret[];
}

/** The keypair Secret is there and is not a key ring. The message says what to do. */
export class KeyRingUnreadable extends Error {}

/** Members of the keypair Secret: the current private JWK, and a list of those before it. */
const CURRENT = 'current';
const RETIRED = 'retired';

/**
 * The cluster's keys, made at the first call. Existing ones are never replaced here: whatever was sealed to them could not
 * be opened any more.
 *
 * @throws KeyRingUnreadable when the Secret is there and cannot be read as a key ring
 * @throws KubeError
 */
export async function ensureKeypair(api: ClusterApi, cluster: Cluster, signal: AbortSignal): Promise<KeyRing> {
  const ref = { namespace: cluster.metadata.namespace ?? '', name: KEYPAIR_SECRET };
  const existing = await readSecret(api, ref, signal);
  if (existing !== undefined) return readRing(existing.data);
  const { publicJwk, privateJwk } = await generateEncryptionKeypair();
  const data = { [CURRENT]: privateJwk, [RETIRED]: new Secret('[]') };
  // Create, not apply: of two operators that start at once one gets a 409 and reads the other's keys.
  await writeSecret(api, { ...ref, data, owner: ownerOf(cluster), how: 'create' }, META_FIELD_MANAGER, signal);
  return { publicJwk, ring: [privateJwk] };
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

function readRing(data: Readonly<Record<string, Secret>>): KeyRing {
  const current = data[CURRENT];
  const jwk = current === undefined ? undefined : parse(current);
  const retired: unknown = parse(data[RETIRED] ?? new Secret('[]'));
  if (current === undefined || !isPrivateJwk(jwk) || !Array.isArray(retired)) {
    throw new KeyRingUnreadable(
      `Secret ${KEYPAIR_SECRET} is not a key ring (members ${CURRENT} and ${RETIRED}); restore it from a backup, or delete it and register again to start with a new key`,
    );
  }
  const { d: _private, ...publicJwk } = jwk;
  return { publicJwk, ring: [current, ...retired.filter(isPrivateJwk).map((key) => new Secret(JSON.stringify(key)))] };
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
