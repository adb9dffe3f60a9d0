import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { KubeHttp } from '../cluster-contract/kube-http.ts';

interface Access {
  readonly url: string;
  readonly caPem: string;
}

export function kubeconfigWith(access: Access, token: string): string {
  return kubeconfigText({ url: access.url, ca: access.caPem, token: new Secret(token) });
}

/** Writes a kubeconfig for a token into the folder and answers its path. */
export async function writeKubeconfig(folder: string, access: Access, token: string): Promise<string> {
  return writeConfigFile(folder, kubeconfigWith(access, token));
}

/** A file of mode 0600. */
export async function writeConfigFile(folder: string, kubeconfig: string): Promise<string> {
  const path = join(folder, `${randomUUID()}.kubeconfig`);
  await writeFile(path, kubeconfig, { mode: 0o600 });
  return path;
}

/** The text of the first 200 that is as wanted; asks for as long as it takes, within the bound. */
export async function answered(
  kubeconfig: string,
  path: string,
  wanted: (text: string) => boolean,
  withinMs: number,
): Promise<string> {
  await using http = new KubeHttp(kubeconfig);
  let last = 'no answer';
  for (const end = Date.now() + withinMs; Date.now() < end;) {
    try {
      const { status, text } = await http.get(path);
      if (status === 200 && wanted(text)) return text;
      last = `${status} ${text}`;
    } catch (error) {
      last = String(error);
    }
    await delay(50);
  }
  throw new Error(`${path} was not ready within ${withinMs / 1000} s: ${last.slice(0, 500)}`);
}

/** A token of an account bound to cluster-admin, where the admin of a cluster comes in with a certificate. */
export async function newAdminToken(adminKubeconfig: string): Promise<string> {
  await using http = new KubeHttp(adminKubeconfig);
  const [namespace, name] = ['kube-system', 'test-admin'];
  await http.post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await http.post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  });
  return requestToken(adminKubeconfig, namespace, name);
}

/** The TokenRequest API (KEP-1205), for an hour. */
export async function requestToken(adminKubeconfig: string, namespace: string, name: string): Promise<string> {
  await using http = new KubeHttp(adminKubeconfig);
  const { status, body, text } = await http.post(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  });
  if (status !== 201) throw new Error(`no token for ${namespace}/${name}: ${status} ${text.slice(0, 300)}`);
  return String(body['status']['token']);
}
