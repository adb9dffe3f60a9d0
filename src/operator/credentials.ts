import { createHash } from 'node:crypto';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { RegisterResponse } from '../protocol/register.ts';
import type { Cluster } from '../resources/cluster.ts';
import { CLUSTER_ID_LABEL, CREDENTIALS_SECRET, META_FIELD_MANAGER } from '../resources/labels.ts';
import { Secret } from '../runtime/secret.ts';
import { ownerOf, readSecret, writeSecret } from './owned-secret.ts';

/** Annotations of the credential Secret: none of them is a secret. */
const EXPIRES_AT = 'ops.service.io/expires-at';
const ROTATE_AFTER = 'ops.service.io/rotate-after';
const SPENT_TOKENS = 'ops.service.io/registration-token-sha256';
/** A spent token may stand in the `Cluster` resource for years while others come by the Secret. */
const SPENT_KEPT = 8;

/** What the credential Secret holds. `token` and `clusterId` are there once the cluster is registered. */
export interface Credentials {
  readonly token?: Secret;
  readonly clusterId?: string;
  /** PEM roots; an admin may put them there before the registration, for a private CA. */
  readonly caCertificate: string;
  readonly expiresAt?: string;
  readonly rotateAfter?: string;
  /** Fingerprints of registration tokens that are used: first the one that this came from, then those before it. */
  readonly spentTokens: readonly string[];
}

/** Tells registration tokens apart without keeping one. */
export function registrationFingerprint(token: string): string {
  return createHash('sha256').update(token, 'utf8').digest('hex').slice(0, 16);
}

/** @throws KubeError */
export async function readCredentials(api: ClusterApi, namespace: string, signal: AbortSignal): Promise<Credentials> {
  const secret = await readSecret(api, { namespace, name: CREDENTIALS_SECRET }, signal);
  const token = secret?.data['token'];
  const {
    [EXPIRES_AT]: expiresAt,
    [ROTATE_AFTER]: rotateAfter,
    [SPENT_TOKENS]: spentTokens = '',
  } = secret?.annotations ?? {};
  const clusterId = secret?.labels[CLUSTER_ID_LABEL];
  return {
    caCertificate: secret?.data['ca.crt']?.expose() ?? '',
    ...(token === undefined || token.expose().trim() === '' ? {} : { token: new Secret(token.expose().trim()) }),
    ...(clusterId === undefined ? {} : { clusterId }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(rotateAfter === undefined ? {} : { rotateAfter }),
    spentTokens: spentTokens.split(',').filter((fingerprint) => fingerprint !== ''),
  };
}

/**
 * Stores what a registration gave. A `ca.crt` that is there stays: it verified the connection that the registration came by,
 * and whoever put it there may know of a proxy before the control plane, which the answer knows nothing of.
 *
 * @param spentTokens fingerprints, the one just used first
 * @throws KubeError
 */
export async function storeCredentials(
  api: ClusterApi,
  cluster: Cluster,
  granted: RegisterResponse,
  spentTokens: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { namespace = '' } = cluster.metadata;
  // Read right before: an admin may have changed it since the registration began.
  const { caCertificate: present } = await readCredentials(api, namespace, signal);
  const caCertificate = present.trim() === '' ? granted.ca_certificate : present;
  await writeSecret(
    api,
    {
      namespace,
      name: CREDENTIALS_SECRET,
      data: { token: new Secret(granted.token), 'ca.crt': new Secret(caCertificate) },
      owner: ownerOf(cluster),
      labels: { [CLUSTER_ID_LABEL]: granted.cluster_id },
      annotations: {
        [EXPIRES_AT]: granted.expires_at,
        [ROTATE_AFTER]: granted.rotate_after,
        [SPENT_TOKENS]: [...new Set(spentTokens)].slice(0, SPENT_KEPT).join(','),
      },
      how: 'apply',
    },
    META_FIELD_MANAGER,
    signal,
  );
}
