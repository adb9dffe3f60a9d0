import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readInstallFiles } from '../../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../../src/install/render-install.ts';
import type { ClusterApi } from '../../../src/kube/cluster-api.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { startOperator, type Operator } from '../../../src/operator/start-operator.ts';
import { refOf, type KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { anInstance, aPolicy, CLUSTER_ID } from '../../reconcile/manifests.ts';
import { anOperation } from '../../policy/signed-approval.ts';
import { installDefinitions } from '../../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../../support/real-cluster/real-cluster.ts';

const SYSTEM = 'service-system';
const files = readInstallFiles();
const CONFIGURATION = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  name: 'service-operator',
};

function byHand(object: KubeObject, name: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { ...object, metadata: { name, namespace: 'shop', ...metadata } };
}
const bad = (name: string, metadata?: Partial<KubeObject['metadata']>): KubeObject =>
  byHand(anInstance({ version: '7.0.0' }), name, metadata);

describeRealCluster('the webhook of the operator, under its own account', (start) => {
  const owned = new AsyncDisposableStack();
  let admin: ClusterApi;
  let operator: Operator;
  let run: () => Promise<void>;

  async function configure(): Promise<void> {
    const address = (operator.probesUrl ?? '').replace('http:', 'https:');
    const [object] = renderOperator(files).objects.filter(({ kind }) => kind === CONFIGURATION.kind);
    const webhooks = ((object?.['webhooks'] ?? []) as readonly { clientConfig: { service: { path: string } } }[]).map(
      (webhook) => ({ ...webhook, clientConfig: { url: `${address}${webhook.clientConfig.service.path}` } }),
    );
    await admin.delete(CONFIGURATION);
    await admin.create({ ...(object as KubeObject), webhooks }, 'kubectl');
  }

  const refusal = async (write: Promise<unknown>): Promise<string> => {
    const error = await write.then(
      () => new Error('admitted'),
      (fault: unknown) => fault as Error,
    );
    return error.message;
  };
  const create = async (object: KubeObject): Promise<KubeObject> => await admin.create(object, 'kubectl');

  beforeAll(async () => {
    const real = owned.use(await start());
    const kubeconfig = { kind: 'text', yaml: real.kubeconfig } as const;
    const connecting = { userAgent: 'admin', clock: systemClock, random: Math.random };
    admin = owned.use(connectCluster({ ...connecting, kubeconfig }));
    await installDefinitions(admin, { own: true });
    const apply = async (objects: readonly KubeObject[]): Promise<void> => {
      for (const object of objects) await admin.apply(object, { fieldManager: 'kubectl', force: true });
    };
    await apply(renderCrds(files).objects.filter(({ kind }) => kind === 'Namespace'));
    await apply(renderOperator(files).objects.filter(({ kind }) => kind !== CONFIGURATION.kind));
    await apply(renderNamespaceGrant(files, { namespace: 'shop' }).objects);
    await apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bare' } }]);
    const identity = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster' };
    const metadata = { name: 'eu', namespace: SYSTEM };
    await apply([{ ...identity, metadata, spec: { controlPlaneBaseUrl: 'http://127.0.0.1:9' } }]);
    const { catalogEntries } = aPolicy();
    const status = {
      clusterId: CLUSTER_ID,
      connectivityMode: 'gitops',
      deliveryEpoch: 1,
      allowedNamespaces: ['shop'],
      operationTemplates: ['scale'],
      catalogEntries,
    };
    await admin.apply({ ...identity, metadata, status }, { fieldManager: 'test', subresource: 'status' });
    const path = await real.kubeconfigFor(await real.serviceAccountToken(SYSTEM, 'service-operator'));
    const stateDir = await mkdtemp(join(tmpdir(), 'webhook-'));
    owned.defer(async () => await rm(stateDir, { recursive: true }));
    const logger = createLogger('test', 'silent');
    run = async () => {
      operator = await startOperator(
        {
          namespace: SYSTEM,
          kubeconfig: { kind: 'file', path },
          stateDir,
          logLevel: 'silent',
          listen: { host: '127.0.0.1', port: 0 },
        },
        { clock: systemClock, random: () => 0, logger },
      );
      await configure();
      // The bundle is written at the first look after that, and the API server takes up to seconds to see it.
      await operator[Symbol.asyncDispose]();
      const { port } = new URL(operator.probesUrl ?? '');
      operator = await startOperator(
        {
          namespace: SYSTEM,
          kubeconfig: { kind: 'file', path },
          stateDir,
          logLevel: 'silent',
          listen: { host: '127.0.0.1', port: Number(port) },
        },
        { clock: systemClock, random: () => 0, logger },
      );
      await vi.waitFor(
        async () => {
          const dry = admin.apply(bad('probe'), { fieldManager: 'probe', dryRun: true });
          expect(await refusal(dry)).toContain('denied the request');
        },
        { timeout: 30_000, interval: 200 },
      );
    };
    await run();
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    await operator?.[Symbol.asyncDispose]();
    await owned.disposeAsync();
  });

  it('has its authority in the configuration, and the keys in a Secret that says whose it is', async () => {
    const ref = { apiVersion: 'v1', kind: 'Secret', namespace: SYSTEM, name: 'service-operator-webhook' };
    const secret = await admin.get<KubeObject & { data?: Record<string, string> }>(ref);
    expect(Object.keys(secret?.data ?? {}).sort()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    const found = await admin.get<KubeObject & { webhooks?: { clientConfig: { caBundle?: string } }[] }>(CONFIGURATION);
    const bundles = (found?.webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle);
    expect(bundles).toEqual([secret?.data?.['ca.crt'], secret?.data?.['ca.crt']]);
  });

  it('tells the user of kubectl what is refused, and what to do instead', async () => {
    const chart =
      'admission webhook "applicationinstances.admission.service.io" denied the request: spec.chart.version 7';
    expect(await refusal(create(bad('a')))).toContain(chart);
    const bare = await refusal(create(byHand(anInstance(), 'a', { namespace: 'bare' })));
    expect(bare).toContain('kubectl label namespace bare managed-by=service');
    expect(bare).toContain('namespace bare is not allowed for this cluster; allowed: shop;');
    const reserved = byHand(anInstance(), 'a', { annotations: { 'app.service.io/source': '9.9' } });
    expect(await refusal(create(reserved))).toContain(
      'only the operator sets metadata.annotations[app.service.io/source]',
    );
    expect(await refusal(create(byHand(anOperation(), 'o')))).toContain(
      'operation template velero-backup is not allowed',
    );
    const parameters = { name: 'web', replicas: 2 };
    const unapproved = byHand(anOperation({ template: 'scale', parameters, approval: { required: true } }), 'o');
    expect(await refusal(create(unapproved))).toContain('the operation needs an approval (spec.approval) and there is');
  });

  it('admits what is allowed; the status stays the operator’s, and deleting passes', async () => {
    const made = await create(byHand(anInstance(), 'good'));
    const patch = { status: { conditions: [] } };
    const status = admin.mergePatch(refOf(made), patch, { subresource: 'status' });
    expect(await refusal(status)).toContain('only the operator sets status');
    const unheld = admin.mergePatch(refOf(made), { metadata: { finalizers: [] } });
    expect((await unheld).metadata.name).toBe('good');
    expect(await admin.delete(refOf(made))).toBe(true);
    await vi.waitFor(async () => expect(await admin.get(refOf(made))).toBeUndefined(), 20_000);
  });

  it('lets everything through while it is away, and the reconcile blocks that with the same words', async () => {
    const words = (await refusal(create(bad('late')))).replace(/^.*denied the request: /s, '');
    await operator[Symbol.asyncDispose]();
    const late = await create(bad('late'));
    await run();
    await vi.waitFor(async () => {
      const now = await admin.get<KubeObject & { status?: { conditions?: { type: string; message?: string }[] } }>(
        refOf(late),
      );
      const stalled = now?.status?.conditions?.find(({ type }) => type === 'Stalled');
      expect(words).toContain(stalled?.message ?? 'no condition');
    }, 20_000);
    expect(await admin.delete(refOf(late))).toBe(true);
  }, 60_000);
});
