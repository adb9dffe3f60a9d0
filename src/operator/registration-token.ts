import { KubeError, type ClusterApi } from '../kube/cluster-api.ts';
import type { Condition } from '../protocol/condition.ts';
import type { Cluster } from '../resources/cluster.ts';
import { findCondition } from '../resources/conditions.ts';
import { REGISTRATION_SECRET } from '../resources/labels.ts';
import { Reason } from '../resources/reasons.ts';
import { registrationFingerprint, type Credentials } from './credentials.ts';
import { readSecret, type SecretContent } from './owned-secret.ts';

/** What the Secret that the printed command makes holds. */
export type TokenInSecret =
  | { readonly state: 'absent' }
  /** Without the key `token`, or with nothing in it. */
  | { readonly state: 'empty' }
  | { readonly state: 'there'; readonly token: string };

/** @throws KubeError, but not for a role without the right to read it: whoever needs no Secret needs no right */
export async function tokenInSecret(api: ClusterApi, cluster: Cluster, signal: AbortSignal): Promise<TokenInSecret> {
  let secret: SecretContent | undefined;
  try {
    secret = await readSecret(api, secretOf(cluster), signal);
  } catch (error) {
    if (!(error instanceof KubeError) || error.status !== 403) throw error;
  }
  if (secret === undefined) return { state: 'absent' };
  const token = secret.data['token']?.expose().trim() ?? '';
  return token === '' ? { state: 'empty' } : { state: 'there', token };
}

/** Once it is spent nobody needs it any more. @throws KubeError */
export async function deleteRegistrationSecret(api: ClusterApi, cluster: Cluster, signal: AbortSignal): Promise<void> {
  await api.delete({ apiVersion: 'v1', kind: 'Secret', ...secretOf(cluster) }, {}, signal);
}

/** What to do where there is neither a credential nor a token. */
export function nothingToRegisterWith(cluster: Cluster, inSecret: TokenInSecret, spent: readonly string[]): string {
  const { namespace, name: secret } = secretOf(cluster);
  const how = `Run what \`servicectl clusters install-command ${cluster.metadata.name}\` prints, or put a registration token`;
  if (inSecret.state === 'empty') {
    return `The Secret ${namespace}/${secret} has no key token, or nothing in it. ${how} there.`;
  }
  const given = [cluster.spec.registration?.token, inSecret.state === 'there' ? inSecret.token : undefined];
  const isUsed = given.some((token) => token !== undefined && spent.includes(registrationFingerprint(token)));
  const what = isUsed
    ? 'the registration token that is there was used by this cluster before'
    : 'no registration token';
  return `There is no credential${isUsed ? ', and' : ' and'} ${what}. ${how} into the Secret ${namespace}/${secret} under the key token.`;
}

/**
 * Fingerprints of tokens that this cluster has used, the newest first. The credential Secret keeps them, and may be deleted
 * with them; the status still names the last, and this process what it knew.
 */
export function spentFingerprints(
  cluster: Cluster,
  credentials: Credentials,
  known: readonly string[],
): readonly string[] {
  const { registration, signingKeys } = cluster.status ?? {};
  const last = registration?.state === 'registered' ? registration.token : undefined;
  const named = [last, signingKeys?.registration].filter((fingerprint) => fingerprint !== undefined);
  return [...new Set([...credentials.spentTokens, ...named, ...known])];
}

/**
 * The operator may not change a Cluster's spec, so a spent token stays in it until a person takes it out. Undefined where
 * there is nothing to say and nothing was said before.
 */
export function spentTokenCondition(
  cluster: Cluster,
  spent: readonly string[],
): Omit<Condition, 'lastTransitionTime'> | undefined {
  const type = 'RegistrationTokenSpent';
  const token = cluster.spec.registration?.token;
  if (token !== undefined && spent.includes(registrationFingerprint(token))) {
    const { name, namespace = '' } = cluster.metadata;
    const command = `kubectl -n ${namespace} patch clusters.ops.service.io ${name} --type=json -p '[{"op":"remove","path":"/spec/registration"}]'`;
    const message = `spec.registration.token is used and worth nothing any more; the operator has no right to take it out: ${command}`;
    return { type, status: 'True', reason: Reason.TokenSpent, message };
  }
  if (findCondition(cluster.status?.conditions ?? [], type)?.status !== 'True') return undefined;
  return { type, status: 'False', reason: Reason.TokenRemoved, message: 'spec.registration holds no spent token.' };
}

function secretOf({ metadata: { namespace = '' } }: Cluster): { readonly namespace: string; readonly name: string } {
  return { namespace, name: REGISTRATION_SECRET };
}
