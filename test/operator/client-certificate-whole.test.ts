import { X509Certificate } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { describe, expect, it } from 'vitest';
import { RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { issuePrivateChain } from '../support/private-authority.ts';
import { decoded, NAMESPACE, OperatorWorld } from './operator-world.ts';

const NAME = 'service-operator-credentials';
const SECRET = { apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name: NAME };

/** A control plane over TLS by a private root, and a cluster that is about to join it. */
async function staged(owned: AsyncDisposableStack): Promise<{
  readonly world: OperatorWorld;
  readonly url: string;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any
}> {
  const chain = await issuePrivateChain('private');
  const folder = owned.use(await mkdtempDisposable(join(tmpdir(), 'client-certificate-')));
  const [cert, key] = [join(folder.path, 'tls.crt'), join(folder.path, 'tls.key')];
  await writeFile(cert, chain.leaf + chain.intermediate + chain.root);
  await writeFile(key, chain.key);
  const plane = owned.use(await RunningControlPlane.start(undefined, { SERVICE_TLS_CERT: cert, SERVICE_TLS_KEY: key }));
  const dispatcher = owned.adopt(new Agent({ connect: { ca: chain.root } }), async (agent) => await agent.close());
  const world = owned.use(await OperatorWorld.start());
  const data = { 'ca.crt': Buffer.from(chain.root).toString('base64') };
  await world.cluster.api.create(
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: NAME, namespace: NAMESPACE }, data },
    'kubectl',
  );
  return {
    world,
    url: plane.url,
    call: async (method, path, body) => {
      const answer = await fetch(`${plane.url}/api/v1${path}`, {
        dispatcher,
        method,
        headers: { authorization: `Bearer ${plane.token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Record<string, unknown>;
    },
  };
}

const CLUSTER = {
  slug: 'eu',
  displayName: 'Europe',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: [],
};

describe('a client certificate', () => {
  it('is asked for when mTLS is turned on, replaced with the credential, and gone when it is turned off', async () => {
    await using owned = new AsyncDisposableStack();
    const { world, url, call } = await staged(owned);
    const { cluster, registrationToken } = await call('POST', '/clusters', CLUSTER);
    await world.start();
    await world.join(url, String(registrationToken));
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    expect((await world.secret(NAME))?.data?.['tls.crt']).toBeUndefined();

    await world.setSpec({ security: { mtls: { enabled: true } } });
    await world.until('Authenticated', 'True', 'CredentialRotated');
    const secret = await world.secret(NAME);
    const leaf = new X509Certificate(decoded(secret, 'tls.crt'));
    expect(leaf.subject).toBe(`CN=${cluster.id}`);
    expect(decoded(secret, 'tls.key')).toContain('BEGIN PRIVATE KEY');
    // It is shown, and it is taken: nothing of this cluster goes without it from here on.
    await expect
      .poll(async () => (await call('GET', '/clusters/eu'))['credential'].certified, { timeout: 10_000 })
      .toBe(true);
    await call('PATCH', '/clusters/eu', { requireClientCertificate: true, allowedNamespaces: ['shop', 'pay'] });
    await expect
      .poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 10_000 })
      .toEqual(['shop', 'pay']);
    const reported = async (): Promise<unknown> =>
      ((await call('GET', '/clusters/eu/events'))['items'] as { kind: string }[]).length;
    const before = await reported();
    await call('PATCH', '/clusters/eu', { operatorVersion: '0.2.0' });
    await expect.poll(reported, { timeout: 10_000 }).not.toBe(before);
    await call('PATCH', '/clusters/eu', { requireClientCertificate: false });

    await world.setSpec({ security: { mtls: { enabled: false } } });
    await expect
      .poll(async () => Object.keys((await world.secret(NAME))?.data ?? {}).sort(), { timeout: 10_000 })
      .toEqual(['ca.crt', 'token']);
  });

  it('comes with the registration where mTLS is on from the start', async () => {
    await using owned = new AsyncDisposableStack();
    const { world, url, call } = await staged(owned);
    const { cluster, registrationToken } = await call('POST', '/clusters', CLUSTER);
    await world.start();
    await world.cluster.api.create(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'eu', namespace: NAMESPACE },
        spec: {
          controlPlaneBaseUrl: url,
          registration: { token: String(registrationToken) },
          security: { mtls: { enabled: true } },
        },
      },
      'test',
    );
    await world.until('Authenticated', 'True', 'Registered');
    expect(new X509Certificate(decoded(await world.secret(NAME), 'tls.crt')).subject).toBe(`CN=${cluster.id}`);
    expect(JSON.stringify(await world.read())).not.toContain('PRIVATE KEY');
  });

  it('of an admin is shown as it is, and stays through a rotation and after mTLS is turned off', async () => {
    await using owned = new AsyncDisposableStack();
    const { world, url, call } = await staged(owned);
    const { registrationToken } = await call('POST', '/clusters', CLUSTER);
    await world.start();
    await world.join(url, String(registrationToken));
    await world.until('Connected', 'True', 'ControlPlaneReachable');
    const own = await issuePrivateChain('admin');
    const data = {
      'tls.crt': Buffer.from(own.leaf).toString('base64'),
      'tls.key': Buffer.from(own.key).toString('base64'),
    };
    await world.cluster.api.mergePatch(SECRET, { data });
    await world.setSpec({ security: { mtls: { enabled: true } } });
    await call('POST', '/clusters/eu/rotate', {});
    await world.until('Authenticated', 'True', 'CredentialRotated');
    await world.setSpec({ security: { mtls: { enabled: false } } });
    await call('PATCH', '/clusters/eu', { allowedNamespaces: ['shop', 'pay'] });
    await expect
      .poll(async () => (await world.read()).status?.allowedNamespaces, { timeout: 10_000 })
      .toEqual(['shop', 'pay']);
    expect((await world.secret(NAME))?.data).toMatchObject(data);
  });
});
