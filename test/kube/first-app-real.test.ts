import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { OCI_REPOSITORY } from '../../src/resources/flux-oci-repository.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { hasFluxDefinitions, installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const run = promisify(execFile);
const DEMO = join(import.meta.dirname, '..', '..', 'examples', 'first-app', 'main.ts');
const DEMO_TIMEOUT_MS = 180_000;

describeRealCluster(
  'examples/first-app on a real API server',
  (start) => {
    let cluster: RealCluster;
    let api: ClusterApi & AsyncDisposable;
    const demo = async (...args: string[]): Promise<string> => {
      const all = [DEMO, '--kubeconfig', cluster.kubeconfigPath, ...args];
      const { stdout } = await run(process.execPath, all, { timeout: DEMO_TIMEOUT_MS - 2000 });
      return stdout;
    };

    beforeAll(async () => {
      cluster = await start({ controllerManager: true });
      api = connectCluster({
        kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
        userAgent: 'first-app-test',
        clock: systemClock,
        random: Math.random,
      });
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await api?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    it('says what is missing where Flux is not installed, and leaves nothing behind', { timeout: 60_000 }, async () => {
      const failure = await demo('--json').catch((fault: unknown) => fault);
      expect(failure).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          'this cluster does not serve HelmRelease (helm.toolkit.fluxcd.io/v2): install Flux there first',
        ),
      });
      const { items } = await api.list({ apiVersion: 'v1', kind: 'Namespace' });
      expect(items.map(({ metadata }) => metadata.name)).not.toContain('service-system');
    });

    it(
      `takes an install, an upgrade, a failure and an uninstall, with ${hasFluxDefinitions ? "Flux' own" : 'minimal'} definitions`,
      { timeout: DEMO_TIMEOUT_MS },
      async () => {
        await installDefinitions(api, { own: false });
        const output = JSON.parse(await demo('--json')) as {
          ok: boolean;
          intents: { action: string; name: string; state: string; reason?: string }[];
          git: unknown;
        };
        expect(output.ok).toBe(true);
        expect(output.intents.map(({ action, name, state }) => ({ action, name, state }))).toEqual([
          { action: 'install', name: 'shop/podinfo', state: 'ready' },
          { action: 'update', name: 'shop/podinfo', state: 'ready' },
          { action: 'update', name: 'shop/podinfo', state: 'failed' },
          { action: 'uninstall', name: 'shop/podinfo', state: 'removed' },
        ]);
        // The four of the example; the figures' one install and thirteen updates; and its uninstall, since the cluster
        // is not the demo's own.
        expect(output.git).toEqual({ commits: 19, path: 'clusters/demo' });
        for (const kind of [
          { apiVersion: APPS_API_VERSION, kind: 'ApplicationInstance' },
          { apiVersion: OPS_API_VERSION, kind: 'Cluster' },
          HELM_RELEASE,
          OCI_REPOSITORY,
        ]) {
          expect([kind.kind, (await api.list(kind)).items.map(({ metadata }) => metadata.name)]).toEqual([
            kind.kind,
            [],
          ]);
        }
        // The cluster makes some of its own.
        const left = async (apiVersion: string, kind: string): Promise<readonly string[]> => {
          const { items } = await api.list({ apiVersion, kind });
          const ours = items.filter(({ metadata }) => metadata.namespace === 'service-system');
          return ours.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('service-'));
        };
        const kinds = ['v1 Secret', 'v1 ConfigMap', 'coordination.k8s.io/v1 Lease'].map((kind) => kind.split(' '));
        expect(
          await Promise.all(kinds.map(async ([apiVersion = '', kind = '']) => await left(apiVersion, kind))),
        ).toEqual([[], [], []]);
      },
    );

    it(
      "runs on the same cluster again, leaves what was there alone, and says what stays, the server's version and whose rights it uses",
      { timeout: DEMO_TIMEOUT_MS },
      async () => {
        const shop = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
        await api.delete(shop);
        await expect.poll(async () => await api.get(shop), { timeout: 60_000 }).toBeUndefined();
        const [name, namespace] = ['service-operator-webhook', 'service-system'];
        const secret = { apiVersion: 'v1', kind: 'Secret' };
        await api.create({ ...secret, metadata: { name, namespace } }, 'first-app-test');
        const said = await demo();
        expect(said).toContain(
          `Stays in this cluster: what these take away.\n  kubectl --kubeconfig ${cluster.kubeconfigPath} delete namespace shop\n\n`,
        );
        expect(await api.get({ ...secret, namespace, name })).toBeDefined();
        expect(said).toContain(`cluster        ${cluster.version}\n`);
        expect(said).toContain('a process beside this one, with the rights of that kubeconfig; no role is installed');
        expect(said).toContain('Everything went as expected.');
        process.stderr.write(`examples/first-app ran on kube-apiserver ${cluster.version}\n`);
      },
    );
  },
  { needs: ['controller-manager'] },
);
