import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Writes a kubeconfig of mode 0600 into the folder and answers its path. */
export async function writeKubeconfig(folder: string, access: Access, token: string): Promise<string> {
  const path = join(folder, `${randomUUID()}.kubeconfig`);
  await writeFile(path, kubeconfigWith(access, token), { mode: 0o600 });
  return path;
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
