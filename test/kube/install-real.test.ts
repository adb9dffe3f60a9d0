import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../src/install/render-install.ts';
import { servicectl } from '../../src/cli/servicectl.ts';
import { startOperator } from '../../src/operator/start-operator.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const files = readInstallFiles();
const TEST_TIMEOUT_MS = 90_000;

describeRealCluster(
  'an installation on a real API server, by kubectl',
  (start) => {
    let cluster: RealCluster;
    let plane: RunningControlPlane;
    let folder: string;

    beforeAll(async () => {
      cluster = await start({ controllerManager: true });
      plane = await RunningControlPlane.start();
      folder = await mkdtemp(join(tmpdir(), 'install-'));
      await plane.newCluster('prod-eu');
    }, START_TIMEOUT_MS);
    afterAll(async () => {
      await plane?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
      if (folder !== undefined) await rm(folder, { recursive: true });
    });

    /** A line as an admin types it. */
    const shell = async (line: string, input = ''): Promise<Run> =>
      await new Promise((resolve, reject) => {
        const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: cluster.kubeconfigPath };
        const child = spawn('sh', ['-c', line], { env, timeout: TEST_TIMEOUT_MS, stdio: 'pipe' });
        let [out, err] = ['', ''];
        child.stdout.on('data', (chunk) => (out += String(chunk)));
        child.stderr.on('data', (chunk) => (err += String(chunk)));
        child.on('error', reject);
        child.on('close', (code) => resolve({ code, out, err }));
        child.stdin.end(input);
      });
    const file = async (name: string, text: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    };
    const lines = ({ out }: Run): string[] => out.split('\n').filter((line) => line !== '');

    it('goes from nothing to a registered operator by the printed commands', { timeout: TEST_TIMEOUT_MS }, async () => {
      const issued = await plane.call('POST', '/clusters/prod-eu/registration-token');
      const token = String(issued.body['registrationToken']);
      const { body } = await plane.call('POST', '/clusters/prod-eu/install-link');
      const [applyCrds = '', makeSecret = '', applyOperator = '', wait = ''] = body['commands'] as string[];
      expect(await shell(applyCrds)).toMatchObject({
        code: 0,
        out: expect.stringContaining('namespace/service-system created'),
      });
      expect(await shell(`cat | ${makeSecret}`, `${token}\n`)).toMatchObject({ code: 0, err: '' });
      expect(await shell(applyOperator)).toMatchObject({
        code: 0,
        out: expect.stringContaining('cluster.ops.service.io/prod-eu created'),
      });

      // There is no kubelet here: the operator runs in this process, under the account of the manifest.
      const account = await cluster.serviceAccountToken('service-system', 'service-operator');
      const kubeconfig = { kind: 'file', path: await cluster.kubeconfigFor(account) } as const;
      const config = {
        namespace: 'service-system',
        kubeconfig,
        stateDir: join(folder, 'state'),
        logLevel: 'silent',
      } as const;
      const deps = { clock: systemClock, random: Math.random, logger: createLogger('test', 'silent') };
      await using _operator = await startOperator(config, deps);
      expect(await shell(wait)).toMatchObject({ code: 0, out: 'cluster.ops.service.io/prod-eu condition met\n' });
      await vi.waitFor(async () => {
        const secrets = await shell('kubectl -n service-system get secrets --output=name');
        expect(lines(secrets)).not.toContain('secret/service-operator-registration');
      }, 20_000);
      const all = await shell(
        'kubectl -n service-system get clusters,secrets,configmaps,deployments,events --output=yaml',
      );
      expect(all.code).toBe(0);
      expect(all.out).not.toContain(token);
      expect(all.out).not.toContain(Buffer.from(`${token}\n`).toString('base64'));
    });

    it(
      'takes every object on the client and on the server, and changes nothing the second time',
      { timeout: TEST_TIMEOUT_MS },
      async () => {
        const operator = renderOperator(files, {
          cluster: { slug: 'prod-eu', baseUrl: plane.url },
          namespaceGrants: ['default'],
          podDisruptionBudget: 'v1beta1',
          allowUpgrade: true,
        });
        const crdsFile = await file('crds.yaml', renderCrds(files).text);
        const operatorFile = await file('operator.yaml', operator.text);
        for (const path of [crdsFile, operatorFile]) {
          const dry = await shell(`kubectl apply --server-side --force-conflicts --dry-run=server -f ${path}`);
          expect(dry).toMatchObject({ code: 0 });
          expect((await shell(`kubectl apply -f ${path}`)).code).toBe(0);
          const again = lines(await shell(`kubectl apply -f ${path}`));
          expect(again.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
        }
        expect(lines(await shell(`kubectl apply -f ${operatorFile}`))).toHaveLength(operator.objects.length);
      },
    );

    it('finds out which PodDisruptionBudget the server has', { timeout: TEST_TIMEOUT_MS }, async () => {
      let out = '';
      const code = await servicectl(
        ['operator', 'manifest', '--without-crds', '--pod-disruption-budget', '--kubeconfig', cluster.kubeconfigPath],
        { env: {}, out: (text) => (out += text), err: () => undefined },
      );
      expect(code).toBe(0);
      const path = await file('with-budget.yaml', out);
      expect(lines(await shell(`kubectl apply -f ${path}`))).toContainEqual(
        expect.stringMatching(/^poddisruptionbudget.policy\/service-operator (created|configured|unchanged)$/),
      );
    });

    it(
      'grants a namespace by a pipe, whether it is there or not, and leaves what is in it',
      { timeout: TEST_TIMEOUT_MS },
      async () => {
        await shell('kubectl create namespace old && kubectl label namespace old team=a');
        for (const namespace of ['old', 'new']) {
          const path = await file(`${namespace}.yaml`, renderNamespaceGrant(files, { namespace }).text);
          expect(await shell(`cat ${path} | kubectl apply -f -`)).toMatchObject({ code: 0 });
        }
        const labelled = await shell('kubectl get namespaces -l managed-by=service --output=name');
        expect(lines(labelled)).toEqual(['namespace/new', 'namespace/old']);
        expect((await shell('kubectl get namespace old --output=jsonpath={.metadata.labels.team}')).out).toBe('a');
        const may =
          'kubectl auth can-i create applicationinstances.apps.service.io --as=system:serviceaccount:service-system:service-operator';
        expect([(await shell(`${may} -n old`)).out, (await shell(`${may} -n kube-public`)).out]).toEqual([
          'yes\n',
          'no\n',
        ]);
      },
    );
  },
  { needs: ['controller-manager'] },
);
