import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readInstallFiles } from '../../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../../src/install/render-install.ts';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { OPERATOR_NAMESPACE } from '../../../src/resources/labels.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { User } from '../../../src/sandbox/authentication.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { installDefinitions } from '../install-definitions.ts';
import type { RealCluster } from '../real-cluster/real-cluster.ts';
import { ClusterGate } from './cluster-gate.ts';

const PUSH = join(import.meta.dirname, '../../../templates/install/push');
const files = readInstallFiles();

export const SHOP = 'shop';

/** A cluster that is ready for an operator, and the ways of those who write to it. */
export interface TransportCluster extends AsyncDisposable {
  readonly admin: ClusterApi;
  /** The admin's, past the gates. */
  readonly kubeconfig: string;
  /** The way of the operator, and its credential for it. */
  readonly operatorGate: ClusterGate;
  readonly operatorKubeconfig: string;
  /** The way of the control plane in push mode, and the recommended account's credential for it. */
  readonly pushGate: ClusterGate;
  readonly pushKubeconfig: string;
}

/** In which the operator is an admin, and push mode's account has exactly what the manifest gives it. */
export async function sandboxCluster(): Promise<TransportCluster> {
  await using started = new AsyncDisposableStack();
  const sandbox = started.use(await startSandbox({ tls: false }));
  const account = { name: `system:serviceaccount:${OPERATOR_NAMESPACE}:service-control-plane`, may: pushRights() };
  return await prepared(started, {
    url: sandbox.url,
    ca: undefined,
    kubeconfig: sandbox.kubeconfig(),
    operatorToken: async () => await Promise.resolve(sandbox.token.expose()),
    pushToken: async () => await Promise.resolve(sandbox.users.add(account).expose()),
    install: async (admin) => {
      const labels = { 'managed-by': 'service' };
      for (const metadata of [{ name: OPERATOR_NAMESPACE }, { name: SHOP, labels }]) {
        await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata }, 'kubectl');
      }
    },
  });
}

/** In which both write under the accounts of the manifests. */
export async function realCluster(start: () => Promise<RealCluster>): Promise<TransportCluster> {
  await using started = new AsyncDisposableStack();
  const real = started.use(await start());
  return await prepared(started, {
    url: real.url,
    ca: real.caPem,
    kubeconfig: real.kubeconfig,
    operatorToken: async () => await real.serviceAccountToken(OPERATOR_NAMESPACE, 'service-operator'),
    pushToken: async () => await real.serviceAccountToken(OPERATOR_NAMESPACE, 'service-control-plane'),
    install: async (admin) => {
      const objects = [
        ...renderCrds(files).objects.filter(({ kind }) => kind === 'Namespace'),
        // Nobody serves the webhook here.
        ...renderOperator(files).objects.filter(({ kind }) => kind !== 'ValidatingWebhookConfiguration'),
        ...renderNamespaceGrant(files, { namespace: SHOP }).objects,
        ...['service-account', 'namespace-role', 'role', 'role-binding'].map(pushObject),
        inShop(pushObject('namespace-role-binding')),
      ];
      for (const object of objects) await admin.apply(object, { fieldManager: 'kubectl', force: true });
    },
  });
}

interface Given {
  readonly url: string;
  readonly ca: string | undefined;
  readonly kubeconfig: string;
  readonly operatorToken: () => Promise<string>;
  readonly pushToken: () => Promise<string>;
  readonly install: (admin: ClusterApi) => Promise<void>;
}

async function prepared(started: AsyncDisposableStack, given: Given): Promise<TransportCluster> {
  const { url, ca, kubeconfig } = given;
  const [clock, random] = [systemClock, Math.random];
  const source = { kind: 'text', yaml: kubeconfig } as const;
  const admin = started.use(connectCluster({ kubeconfig: source, userAgent: 'admin', clock, random }));
  await installDefinitions(admin);
  await given.install(admin);
  const operatorGate = started.use(await ClusterGate.start({ url, ca }));
  const pushGate = started.use(await ClusterGate.start({ url, ca }));
  const [operatorToken, pushToken] = [await given.operatorToken(), await given.pushToken()];
  const owned = started.move();
  return {
    admin,
    kubeconfig,
    operatorGate,
    operatorKubeconfig: operatorGate.kubeconfig(operatorToken),
    pushGate,
    pushKubeconfig: pushGate.kubeconfig(pushToken),
    [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
  };
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** The rules of the manifest's two roles, as the server would judge by them; everyone may ask what is served. */
function pushRights(): User['may'] {
  const rulesOf = (file: string): readonly Rule[] => pushObject(file)['rules'] as readonly Rule[];
  const rules: Readonly<Record<string, readonly Rule[]>> = {
    [SHOP]: rulesOf('namespace-role'),
    [OPERATOR_NAMESPACE]: rulesOf('role'),
  };
  return ({ verb, group, resource, subresource, namespace, path }) => {
    if (path !== undefined) return verb === 'get';
    // What every authenticated user may.
    if (resource === 'selfsubjectaccessreviews') return true;
    const asked = subresource === '' ? resource : `${resource}/${subresource}`;
    return (rules[namespace] ?? []).some(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.includes(group) && resources.includes(asked) && verbs.includes(verb),
    );
  };
}

function pushObject(file: string): KubeObject {
  return parse(readFileSync(join(PUSH, `${file}.yaml`), 'utf8')) as KubeObject;
}

function inShop(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, namespace: SHOP } };
}
