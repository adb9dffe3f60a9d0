import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { OPERATOR_NAMESPACE } from '../../src/resources/labels.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { kubeconfigText } from '../../src/sandbox/kubeconfig.ts';
import { KubeHttp } from '../../test/support/cluster-contract/kube-http.ts';

const MANIFESTS = join(import.meta.dirname, '..', '..', 'templates', 'install', 'push');
const ACCOUNT = 'service-control-plane';
const HOUR_SECONDS = 3600;

/** What a cluster's admin does for push mode: the recommended account, and a kubeconfig with a token of it. */
export async function makePushKubeconfig(api: ClusterApi, adminKubeconfig: string): Promise<string> {
  const admin = await readFile(adminKubeconfig, 'utf8');
  const account = parse(await readFile(join(MANIFESTS, 'service-account.yaml'), 'utf8')) as KubeObject;
  await api.apply(account, { fieldManager: 'demo' });
  await using http = new KubeHttp(admin);
  const path = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/serviceaccounts/${ACCOUNT}/token`;
  const spec = { expirationSeconds: HOUR_SECONDS };
  const answer = await http.post(path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
  if (answer.status !== 201) throw new Error(`no token for ${ACCOUNT}: ${answer.status} ${answer.text.slice(0, 200)}`);
  const { cluster } = (parse(admin) as { clusters: [{ cluster: Record<string, string> }] }).clusters[0];
  const ca = cluster['certificate-authority-data'];
  return kubeconfigText({
    url: String(cluster['server']),
    token: new Secret(String(answer.body['status'].token)),
    ca: ca === undefined ? undefined : Buffer.from(ca, 'base64').toString('utf8'),
  });
}
