import type { ClusterApi } from '../kube/cluster-api.ts';

/** The UID of `kube-system` names a cluster for its lifetime. @throws where it cannot be read */
export async function kubeSystemUid(api: ClusterApi, signal: AbortSignal): Promise<string> {
  const namespace = await api.get({ apiVersion: 'v1', kind: 'Namespace', name: 'kube-system' }, signal);
  const uid = namespace?.metadata.uid;
  if (uid === undefined) throw new Error('the namespace kube-system cannot be read, its UID names this cluster');
  return uid;
}
