import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import type { RealCluster, RealClusterOptions } from '../real-cluster/real-cluster.ts';
import { readFile } from 'node:fs/promises';

/** A cluster whose admission is tried: the sandbox, or a real one. */
export interface AdmissionCluster extends AsyncDisposable {
  /** The admin's, YAML. */
  readonly kubeconfig: string;
  /** YAML for a service account that is there; `all`: it may do everything, else what its roles say (where there is RBAC). */
  kubeconfigOf(namespace: string, account: string, rights: 'all' | 'by its roles'): Promise<string>;
}

/** The sandbox has no RBAC and issues no tokens: an account is a user by its name, with a token that says so. */
export async function sandboxForAdmission(): Promise<AdmissionCluster> {
  const sandbox = await startSandbox();
  const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    kubeconfig: sandbox.kubeconfig(),
    kubeconfigOf: async (namespace, account) => {
      const sub = `system:serviceaccount:${namespace}:${account}`;
      const unsigned = new Secret(`${base64({ alg: 'none' })}.${base64({ sub })}.none`);
      const token = sandbox.users.add({ name: sub }, unsigned);
      return kubeconfigText({ url: sandbox.url, ca: sandbox.ca, token });
    },
    [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
  };
}

export async function realForAdmission(
  start: (options?: RealClusterOptions) => Promise<RealCluster>,
): Promise<AdmissionCluster> {
  const real = await start({ controllerManager: true });
  return {
    kubeconfig: real.kubeconfig,
    kubeconfigOf: async (namespace, account, rights) => {
      if (rights === 'all') await bindEverything(real.kubeconfig, namespace, account);
      return await readFile(await real.kubeconfigFor(await real.serviceAccountToken(namespace, account)), 'utf8');
    },
    [Symbol.asyncDispose]: async () => await real[Symbol.asyncDispose](),
  };
}

async function bindEverything(kubeconfig: string, namespace: string, account: string): Promise<void> {
  const connecting = { userAgent: 'admin', clock: systemClock, random: Math.random };
  await using api = connectCluster({ ...connecting, kubeconfig: { kind: 'text', yaml: kubeconfig } });
  const binding: KubeObject = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${namespace}-${account}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
  };
  await api.apply(binding, { fieldManager: 'test', force: true });
}
