import type { RequestOptions } from 'node:https';
import { decodeJwt } from 'jose';
import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import { loadKubeconfig, type KubeconfigSource } from '../../kube/load-kubeconfig.ts';
import type { KubeObject } from '../../resources/kube-object.ts';

const SERVICE_ACCOUNT = 'system:serviceaccount:';

interface SelfSubjectReview extends KubeObject {
  status?: { userInfo?: { username?: string } };
}

/**
 * The name that the API server knows the operator by: what its service account token says, else what the API server says
 * (SelfSubjectReview, served from 1.28 on). Undefined: nobody can tell, for good.
 *
 * @throws KubeError when the API server cannot be asked now
 */
export async function operatorIdentity(
  kubeconfig: KubeconfigSource,
  api: ClusterApi,
  signal: AbortSignal,
): Promise<string | undefined> {
  const subject = await tokenSubject(kubeconfig);
  if (subject !== undefined) return subject;
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: { name: '' } };
  try {
    const answer = await api.create<SelfSubjectReview>(review, '', signal);
    return answer.status?.userInfo?.username;
  } catch (error) {
    // Not served, not allowed, or not understood: asking again changes nothing.
    if (error instanceof KubeError && !error.retryable) return undefined;
    throw error;
  }
}

/** The token is not verified here: it is the operator's own, and the API server verifies it with every request. */
async function tokenSubject(kubeconfig: KubeconfigSource): Promise<string | undefined> {
  const options: RequestOptions = { headers: {} };
  try {
    await loadKubeconfig(kubeconfig).applyToHTTPSOptions(options);
    const headers = Object.entries((options.headers ?? {}) as Record<string, unknown>);
    const [, authorization] = headers.find(([name]) => name.toLowerCase() === 'authorization') ?? [];
    const { sub } = decodeJwt(
      String(authorization)
        .replace(/^Bearer\s+/i, '')
        .trim(),
    );
    return sub?.startsWith(SERVICE_ACCOUNT) === true ? sub : undefined;
  } catch {
    return undefined;
  }
}
