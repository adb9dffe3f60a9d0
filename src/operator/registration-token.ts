import type { ClusterApi } from '../kube/cluster-api.ts';
import type { Cluster } from '../resources/cluster.ts';
import { REGISTRATION_SECRET } from '../resources/labels.ts';
import { readSecret } from './owned-secret.ts';

/** Where a registration token was handed over. */
export interface OfferedToken {
  readonly token: string;
  readonly isInSecret: boolean;
}

/**
 * The token in the `Cluster` resource or, where there is none, in the Secret that the printed command makes.
 *
 * @throws KubeError
 */
export async function offeredToken(
  api: ClusterApi,
  { spec, metadata }: Cluster,
  signal: AbortSignal,
): Promise<OfferedToken | undefined> {
  const inResource = spec.registration?.token;
  if (inResource !== undefined) return { token: inResource, isInSecret: false };
  const secret = await readSecret(api, secretOf(metadata.namespace), signal);
  const token = secret?.data['token']?.expose().trim() ?? '';
  return token === '' ? undefined : { token, isInSecret: true };
}

/** Once it is spent nobody needs it any more. @throws KubeError */
export async function deleteRegistrationSecret(api: ClusterApi, cluster: Cluster, signal: AbortSignal): Promise<void> {
  await api.delete({ apiVersion: 'v1', kind: 'Secret', ...secretOf(cluster.metadata.namespace) }, {}, signal);
}

function secretOf(namespace = ''): { readonly namespace: string; readonly name: string } {
  return { namespace, name: REGISTRATION_SECRET };
}
