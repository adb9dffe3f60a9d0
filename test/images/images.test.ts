import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { mintToken } from '../../src/protocol/token.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { gitEnv } from '../control-plane/running-control-plane.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { freePorts } from '../support/real-cluster/free-ports.ts';
import { START_TIMEOUT_MS, startRealCluster, type RealCluster } from '../support/real-cluster/real-cluster.ts';
import { Container, docker } from './engine.ts';

const run = promisify(execFile);
/** Measured: 304 MB, of which Debian is 81, Node 127, Git and its libraries 49, the programs 48. */
const MOST_MB = 330;
const PATIENCE = { timeout: 60_000, interval: 100 };

async function text(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5000) });
  return `${answer.status} ${(await answer.text()).trim()}`;
}

describe.each(['control-plane', 'operator'])('the image of service-%s', (program) => {
  const image = `service-${program}:test`;
  const shell = async (script: string): Promise<string> =>
    docker('run', '--rm', '--network=host', '--entrypoint=/bin/sh', image, '-c', script);

  it('runs as a number that is not root, says what it is, and is small', async () => {
    const [{ Config, Size }] = JSON.parse(await docker('image', 'inspect', image)) as [
      { readonly Config: { readonly User: string; readonly Labels: Record<string, string> }; readonly Size: number },
    ];
    expect(Config.User).toBe('65532:65532');
    expect(Config.Labels).toMatchObject({
      'org.opencontainers.image.title': `service-${program}`,
      'org.opencontainers.image.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    expect(Math.round(Size / 1e6)).toBeLessThan(MOST_MB);
  });

  it('holds one Node, and neither npm, sources, tests nor a compiler', async () => {
    const found = await shell(
      'find / -xdev \\( -name "*.ts" -o -name npm -o -name npx -o -name vitest -o -name typescript -o -size +100000k \\) -not -path "/proc/*" 2>/dev/null | sort',
    );
    expect(found).toBe('/usr/local/bin/node');
  });

  it('answers --version and --help without any configuration', async () => {
    const version = await docker('run', '--rm', '--network=host', '--read-only', image, '--version');
    expect(version).toMatch(new RegExp(`^service-${program} \\d+\\.\\d+\\.\\d+$`));
    expect(await docker('run', '--rm', '--network=host', '--read-only', image, '--help')).toContain(
      `Usage: service-${program}`,
    );
  });
});

describe('the two images together, on a real API server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'service-images-'));
  const token = mintToken('svcadm', randomBytes).expose();
  let url = '';
  let probes = '';
  let cluster: RealCluster;
  let plane: Container;
  let operator: Container;
  const call = async (method: string, path: string, body: unknown): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    const said = await answer.text();
    expect([answer.status, said.slice(0, 300)]).toEqual([
      expect.toSatisfy((status) => status < 300),
      expect.anything(),
    ]);
    return JSON.parse(said) as Record<string, unknown>;
  };

  beforeAll(async () => {
    const [port = 0, probesPort = 0] = await freePorts(2);
    url = `http://127.0.0.1:${port}`;
    probes = `http://127.0.0.1:${probesPort}`;
    plane = await Container.start({
      image: 'service-control-plane:test',
      env: {
        SERVICE_LISTEN: `127.0.0.1:${port}`,
        SERVICE_BASE_URL: url,
        SERVICE_ADMIN_TOKEN: token,
      },
      writable: ['/var/lib/service', '/tmp'],
    });
    cluster = await startRealCluster();
    const kubeconfig = join(folder, 'kubeconfig');
    copyFileSync(cluster.kubeconfigPath, kubeconfig);
    // The container's user is another than this one's.
    chmodSync(folder, 0o755);
    chmodSync(kubeconfig, 0o644);
    operator = await Container.start({
      image: 'service-operator:test',
      env: { SERVICE_OPERATOR_LISTEN: `127.0.0.1:${probesPort}`, SERVICE_OPERATOR_KUBECONFIG: '/kube/kubeconfig' },
      writable: ['/var/lib/service-operator', '/tmp'],
      mounts: { '/kube': folder },
    });
  }, START_TIMEOUT_MS + 60_000);
  afterAll(async () => {
    await operator?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  it('serves the probes of the control plane on a read-only root', async () => {
    await vi.waitFor(async () => expect(await text(`${url}/healthz`)).toMatch(/^200 /), PATIENCE);
    await vi.waitFor(async () => expect(await text(`${url}/readyz`)).toMatch(/^200 /), PATIENCE);
    expect(await plane.exec('id', '-u')).toBe('65532');
    await expect(plane.exec('touch', '/app/x')).rejects.toThrow('Read-only file system');
    expect(await plane.exec('servicectl', '--version')).toMatch(/^servicectl \d+\.\d+\.\d+$/);
  });

  it('answers the probes of the operator: alive at once, ready when the definitions are there', async () => {
    await vi.waitFor(async () => expect(await text(`${probes}/healthz`)).toBe('200 ok'), PATIENCE);
    expect(await operator.exec('service-operator', '--version')).toMatch(/^service-operator \d+\.\d+\.\d+$/);
    expect(await text(`${probes}/readyz`)).toMatch(/^503 \S/);
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'images-test',
      clock: systemClock,
      random: Math.random,
    });
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'service-system' } }, 'test');
    await installDefinitions(api);
    await vi.waitFor(async () => expect(await text(`${probes}/readyz`)).toBe('200 ok'), PATIENCE);

    const { registrationToken } = await call('POST', '/clusters', {
      slug: 'eu',
      displayName: 'Europe',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: [],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
    });
    await api.create(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'eu', namespace: 'service-system' },
        spec: { controlPlaneBaseUrl: url, registration: { token: registrationToken } },
      },
      'test',
    );
    await vi.waitFor(
      async () => expect(await call('GET', '/clusters/eu', undefined)).toMatchObject({ status: 'Active' }),
      PATIENCE,
    );
  });

  it("serves Git from the image's own git, and leaves no dead process behind", async () => {
    const credential = (await call('POST', '/repositories/fleet/read-credential', {})) as {
      readonly username: string;
      readonly password: string;
    };
    const refs = await run('git', ['ls-remote', `${url}/git/fleet.git`], { env: gitEnv(credential), timeout: 20_000 });
    expect(refs.stdout).toMatch(/^[0-9a-f]{40}\t/);
    // A process whose parent has ended falls to the first process of the container, which must take note of its end.
    await plane.exec('/bin/sh', '-c', 'sleep 0.1 & exit 0');
    const states = ['/bin/sh', '-c', 'for p in /proc/[0-9]*; do cat $p/stat 2>/dev/null; done | cut -d" " -f2,3'];
    await vi.waitFor(async () => {
      const processes = (await plane.exec(...states)).split('\n');
      expect(processes).toContain('(tini) S');
      expect(processes.filter((line) => line.startsWith('(sleep)') || line.endsWith(' Z'))).toEqual([]);
    }, PATIENCE);
  });

  it('can use an SSH client as the user that it runs as', async () => {
    // Without an entry for the user it would end with "No user exists for uid 65532".
    expect(await plane.exec('/bin/sh', '-c', 'ssh -T -G git.example.test 2>&1 | head -n 1')).toMatch(/^(host|user) /);
  });

  it('ends both in order at SIGTERM', async () => {
    for (const container of [operator, plane]) {
      const code = await container.stop();
      expect({ code, log: code === 0 ? '' : await container.logs() }).toEqual({ code: 0, log: '' });
    }
  });
});
