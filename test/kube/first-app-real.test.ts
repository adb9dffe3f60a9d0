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
      },
    );

    it(
      "runs on the same cluster again, and says the server's version and whose rights it uses",
      { timeout: DEMO_TIMEOUT_MS },
      async () => {
        const said = await demo();
        expect(said).toContain(`cluster        ${cluster.version}\n`);
        expect(said).toContain('a process beside this one, with the rights of that kubeconfig; no role is installed');
        expect(said).toContain('Everything went as expected.');
        process.stderr.write(`examples/first-app ran on kube-apiserver ${cluster.version}\n`);
      },
    );
  },
  { needs: ['controller-manager'] },
);
