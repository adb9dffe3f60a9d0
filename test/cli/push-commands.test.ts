import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servicectl } from '../../src/cli/servicectl.ts';
import { readTokenClaims } from '../../src/control-plane/push/token-claims.ts';
import { connectCluster, type ClusterConnection } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const hasKubectl = spawnSync('kubectl', ['version', '--client']).error === undefined;
const RECORD = {
  connectivityMode: 'push',
  displayName: 'x',
  allowedNamespaces: ['shop', 'web'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: [],
};

let plane: RunningControlPlane;

async function run(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let out = '';
  let err = '';
  const env = { SERVICECTL_SERVER: plane.url, SERVICECTL_TOKEN_FILE: join(plane.folder, 'token') };
  const code = await servicectl(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function connect(yaml: string): ClusterConnection {
  const kubeconfig = { kind: 'text', yaml } as const;
  return connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
}

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  writeFileSync(join(plane.folder, 'token'), plane.token);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

describe('servicectl clusters push-access', () => {
  it('prints account, roles and one binding for each allowed namespace, and what is asked for besides', async () => {
    await plane.newCluster('printed', RECORD);
    const names = async (...more: string[]): Promise<string[]> => {
      const { code, out } = await run('clusters', 'push-access', 'printed', '-o', 'json', ...more);
      expect(code).toBe(0);
      return (JSON.parse(out) as { items: KubeObject[] }).items.map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
      );
    };
    const recommended = [
      'ServiceAccount service-system/service-control-plane',
      'ClusterRole /service-control-plane-namespace',
      'Role service-system/service-control-plane',
      'RoleBinding service-system/service-control-plane',
      'RoleBinding shop/service-control-plane',
      'RoleBinding web/service-control-plane',
    ];
    expect(await names()).toEqual(recommended);
    expect(await names('--renewable', '--token-secret')).toEqual([
      ...recommended,
      'Role service-system/service-control-plane-renewal',
      'RoleBinding service-system/service-control-plane-renewal',
      'Secret service-system/service-control-plane-token',
    ]);
    const { out } = await run('clusters', 'push-access', 'printed');
    expect(out).toContain('create token service-control-plane --duration=2160h');
    expect(out).toContain('servicectl clusters push-credential printed --kubeconfig printed.push.kubeconfig');
  });
});

describe('servicectl clusters push-credential', () => {
  it('shows that there is none, and says of another mode that it needs none', async () => {
    await plane.newCluster('none', RECORD);
    expect(await run('clusters', 'push-credential', 'none')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^state +missing: nothing is delivered\n\nTo make one: .* push-access none -o script\nTo give it: .* push-credential none --kubeconfig FILE\n$/,
      ),
    });
    await plane.newCluster('pulled', { connectivityMode: 'pull' });
    expect(await run('clusters', 'push-credential', 'pulled')).toMatchObject({
      code: 1,
      err: expect.stringContaining('pulled is in pull mode, which needs none'),
    });
    expect(await run('clusters', 'push-credential', 'none', '--kubeconfig', '/nowhere')).toMatchObject({ code: 2 });
  });
});

describeRealCluster('push mode set up by what servicectl prints', (start) => {
  let cluster: RealCluster;
  let admin: ClusterConnection;

  beforeAll(async () => {
    cluster = await start();
    admin = connect(cluster.kubeconfig);
    await installDefinitions(admin);
    for (const name of ['service-system', 'shop', 'web']) {
      await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, 'test');
    }
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await admin?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it.skipIf(!hasKubectl)(
    'makes a kubeconfig that passes the probe once the operator is there',
    async () => {
      const id = await plane.newCluster('real', RECORD);
      const script = await run('clusters', 'push-access', 'real', '--renewable', '-o', 'script');
      const env = { PATH: process.env['PATH'], HOME: plane.folder, KUBECONFIG: cluster.kubeconfigPath };
      await promisify(execFile)('sh', ['-c', script.out], { cwd: plane.folder, env, timeout: 60_000 });
      const file = join(plane.folder, 'real.push.kubeconfig');
      expect((statSync(file).mode & 0o777).toString(8)).toBe('600');

      const early = await run('clusters', 'push-credential', 'real', '--kubeconfig', file);
      expect([early.code, early.err]).toEqual([
        1,
        'servicectl: the push credential of real is taken, and is not as it must be yet\n',
      ]);
      expect(early.out).toMatch(/^same-cluster +not ok +there is no Cluster resource in service-system/m);

      const kind = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster' };
      const metadata = { name: 'real', namespace: 'service-system' };
      await admin.create({ ...kind, metadata, spec: { controlPlaneBaseUrl: 'https://cp.example.com' } }, 'test');
      const status = { ...kind, metadata, status: { clusterId: id } };
      await admin.apply(status, { fieldManager: 'test', subresource: 'status', force: true });
      const probed = await run('clusters', 'push-credential', 'real', '--probe');
      expect([probed.code, probed.err]).toEqual([0, '']);
      expect(probed.out).toMatch(/^user +system:serviceaccount:service-system:service-control-plane$/m);
      expect(probed.out.match(/ {2}ok {2}/g)?.length).toBe(5);

      await using own = connect(readFileSync(file, 'utf8'));
      const account = { namespace: 'service-system', name: 'service-control-plane' };
      const { token } = await own.account.requestToken(account, { expirationSeconds: 3600 });
      expect(readTokenClaims(token)).toMatchObject({ account, expiresAt: expect.any(String) });
      const other = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token', ...account };
      expect(await own.account.may(other)).toBe(true);
      expect(await own.account.may({ ...other, name: 'service-operator' })).toBe(false);
    },
    120_000,
  );
});
