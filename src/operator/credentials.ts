import { createHash } from 'node:crypto';
import type { ClusterApi } from '../kube/cluster-api.ts';
import type { PublicJwk } from '../protocol/register.ts';
import type { Cluster } from '../resources/cluster.ts';
import { CLUSTER_ID_LABEL, CREDENTIALS_SECRET, META_FIELD_MANAGER } from '../resources/labels.ts';
import { Secret } from '../runtime/secret.ts';
import { certificateFingerprint } from './client-certificate.ts';
import { ownerOf, readSecret, writeSecret } from './owned-secret.ts';
import { readJwks } from './signing-keys.ts';

/** Annotations of the credential Secret: none of them is a secret. */
const EXPIRES_AT = 'ops.service.io/expires-at';
const ROTATE_AFTER = 'ops.service.io/rotate-after';
const ROTATED_AT = 'ops.service.io/rotated-at';
const SPENT_TOKENS = 'ops.service.io/registration-token-sha256';
const SIGNING_KEYS = 'ops.service.io/registered-signing-keys';
/** Of the certificate that was issued to the operator; another one was put there by an admin and is left alone. */
const ISSUED_CERTIFICATE = 'ops.service.io/client-certificate-sha256';
/** A spent token may stand in the `Cluster` resource for years while others come by the Secret. */
const SPENT_KEPT = 8;

/** As it stands in the credential Secret. */
export interface StoredCertificate {
  readonly certificate: string;
  readonly key: Secret;
  readonly from: 'control-plane' | 'admin';
}

/** What the credential Secret holds. `token` and `clusterId` are there once the cluster is registered. */
export interface Credentials {
  readonly token?: Secret;
  readonly clusterId?: string;
  /** PEM roots; an admin may put them there before the registration, for a private CA. */
  readonly caCertificate: string;
  readonly clientCertificate?: StoredCertificate;
  readonly expiresAt?: string;
  readonly rotateAfter?: string;
  /** When this credential took the place of one before it; absent for one from a registration. */
  readonly rotatedAt?: string;
  /** The control plane's signing keys as the registration named them, the current one first. */
  readonly signingKeys?: readonly PublicJwk[];
  /** Fingerprints of registration tokens that are used: first the one that this came from, then those before it. */
  readonly spentTokens: readonly string[];
}

/** A credential that takes the place of what the Secret holds. */
export interface NewCredentials {
  readonly token: Secret;
  readonly clusterId: string;
  readonly expiresAt?: string;
  readonly rotateAfter?: string;
  readonly rotatedAt?: string;
  /** Kept only where the Secret names none. */
  readonly caCertificate: string;
  /** Undefined: the one that was issued before stays as long as `keepsCertificate`. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: Secret };
  readonly keepsCertificate: boolean;
  readonly signingKeys?: readonly PublicJwk[];
  /** The one just used first. */
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
    [ROTATED_AT]: rotatedAt,
    [SPENT_TOKENS]: spentTokens = '',
    [SIGNING_KEYS]: signingKeys,
    [ISSUED_CERTIFICATE]: issued,
  } = secret?.annotations ?? {};
  const clusterId = secret?.labels[CLUSTER_ID_LABEL];
  return {
    caCertificate: secret?.data['ca.crt']?.expose() ?? '',
    ...(token === undefined || token.expose().trim() === '' ? {} : { token: new Secret(token.expose().trim()) }),
    ...(clusterId === undefined ? {} : { clusterId }),
    ...readCertificate(secret?.data ?? {}, issued),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(rotateAfter === undefined ? {} : { rotateAfter }),
    ...(rotatedAt === undefined ? {} : { rotatedAt }),
    ...(signingKeys === undefined ? {} : { signingKeys: readJwks(signingKeys) }),
    spentTokens: spentTokens.split(',').filter((fingerprint) => fingerprint !== ''),
  };
}

/**
 * Stores a new credential, token and client certificate in one write. A `ca.crt` that is there stays: it verified the
 * connection that the credential came by, and whoever put it there may know of a proxy before the control plane, which the
 * answer knows nothing of. A client certificate that an admin put there stays too.
 *
 * @param replaces the token that the Secret is expected to hold still
 * @returns false, and nothing is written, when it holds another: somebody put it there meanwhile
 * @throws KubeError
 */
export async function storeCredentials(
  api: ClusterApi,
  cluster: Cluster,
  next: NewCredentials,
  replaces: Secret | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace = '' } = cluster.metadata;
  // Read right before: an admin may have changed it since the call to the control plane began.
  const present = await readCredentials(api, namespace, signal);
  if (replaces !== undefined && present.token !== undefined && present.token.expose() !== replaces.expose())
    return false;
  const caCertificate = present.caCertificate.trim() === '' ? next.caCertificate : present.caCertificate;
  const certificate = certificateToWrite(next, present.clientCertificate);
  await writeSecret(
    api,
    {
      namespace,
      name: CREDENTIALS_SECRET,
      data: {
        token: next.token,
        'ca.crt': new Secret(caCertificate),
        ...(certificate === undefined
          ? {}
          : { 'tls.crt': new Secret(certificate.certificate), 'tls.key': certificate.key }),
      },
      owner: ownerOf(cluster),
      labels: { [CLUSTER_ID_LABEL]: next.clusterId },
      annotations: {
        ...(next.expiresAt === undefined ? {} : { [EXPIRES_AT]: next.expiresAt }),
        ...(next.rotateAfter === undefined ? {} : { [ROTATE_AFTER]: next.rotateAfter }),
        ...(next.rotatedAt === undefined ? {} : { [ROTATED_AT]: next.rotatedAt }),
        [SPENT_TOKENS]: [...new Set(next.spentTokens)].slice(0, SPENT_KEPT).join(','),
        ...(next.signingKeys === undefined ? {} : { [SIGNING_KEYS]: JSON.stringify(next.signingKeys) }),
        ...(certificate === undefined ? {} : { [ISSUED_CERTIFICATE]: certificateFingerprint(certificate.certificate) }),
      },
      how: 'apply',
    },
    META_FIELD_MANAGER,
    signal,
  );
  return true;
}

/** Takes the certificate that was issued out of the Secret; an admin's stays. @throws KubeError */
export async function removeIssuedCertificate(
  api: ClusterApi,
  cluster: Cluster,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<void> {
  const { clientCertificate: _removed, token, clusterId, ...kept } = credentials;
  if (token === undefined || clusterId === undefined) return;
  await storeCredentials(api, cluster, { ...kept, token, clusterId, keepsCertificate: false }, token, signal);
}

function readCertificate(
  data: Readonly<Record<string, Secret>>,
  issued: string | undefined,
): Pick<Credentials, 'clientCertificate'> {
  const certificate = data['tls.crt']?.expose() ?? '';
  const key = data['tls.key'];
  if (certificate.trim() === '' || key === undefined || key.expose().trim() === '') return {};
  const from = issued === certificateFingerprint(certificate) ? 'control-plane' : 'admin';
  return { clientCertificate: { certificate, key, from } };
}

function certificateToWrite(
  next: NewCredentials,
  present: StoredCertificate | undefined,
): { readonly certificate: string; readonly key: Secret } | undefined {
  if (present?.from === 'admin') return undefined;
  return next.clientCertificate ?? (next.keepsCertificate ? present : undefined);
}
