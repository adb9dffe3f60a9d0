import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { registerCommand } from '../../src/operator/register-command.ts';
import type { Cluster } from '../../src/resources/cluster.ts';
import type { KubeObject, ObjectRef } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { GrantedCluster, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

type SecretObject = KubeObject & { readonly data?: Record<string, string> };

const CLUSTER: ObjectRef = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster', namespace: SYSTEM, name: 'eu' };
const CREDENTIALS: ObjectRef = {
  apiVersion: 'v1',
  kind: 'Secret',
  namespace: SYSTEM,
  name: 'service-operator-credentials',
};
const KEYPAIR: ObjectRef = { ...CREDENTIALS, name: 'service-operator-keypair' };

describeRealCluster('the identity of a cluster, by the rights of the manifest on a real API server', (start) => {
  let world: GrantedCluster;

  beforeAll(async () => {
    world = await GrantedCluster.start(start);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const text = (secret: SecretObject | undefined, key: string): string =>
    Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');

  it('is registered by the command in the operator’s own account, rotates, and turns its keys over', async () => {
    await world.join({ withToken: false });
    await world.startOperator();
    await world.untilCluster('Authenticated', 'False NotRegistered');
    const issued = await world.plane.call('POST', `/clusters/${world.clusterId}/registration-token`);
    const said: string[] = [];
    const code = await registerCommand(['--token-file=-'], {
      config: {
        namespace: SYSTEM,
        kubeconfig: { kind: 'file', path: world.operatorKubeconfig },
        stateDir: '/nonexistent',
        logLevel: 'silent',
      },
      clock: systemClock,
      random: () => 0,
      out: (line) => void said.push(line),
      err: (line) => void said.push(line),
      stdin: (async function* () {
        yield String(issued.body['registrationToken']);
      })(),
    });
    expect({ code, said }).toEqual({
      code: 0,
      said: [`Cluster service-system/eu is registered as ${world.clusterId}.\n`],
    });

    const first = text(await world.admin.get<SecretObject>(CREDENTIALS), 'token');
    await world.plane.call('POST', `/clusters/${world.clusterId}/rotate`);
    await world.untilCluster('Authenticated', 'True CredentialRotated');
    const rotated = await world.admin.get<SecretObject>(CREDENTIALS);
    expect(text(rotated, 'token')).not.toBe(first);
    expect(rotated?.metadata.annotations?.['ops.service.io/rotated-at']).toMatch(/^\d{4}-/);

    const before = JSON.parse(text(await world.admin.get<SecretObject>(KEYPAIR), 'current')) as { kid: string };
    const metadata = { annotations: { 'ops.service.io/rotate-keypair': 'now' } };
    await world.admin.mergePatch(CLUSTER, { metadata });
    // The second rotation waits out the minute between two; the ring is there before.
    await vi.waitFor(
      async () => {
        const ring = await world.admin.get<SecretObject>(KEYPAIR);
        const [retired] = JSON.parse(text(ring, 'retired')) as { kid: string }[];
        expect(retired?.kid).toBe(before.kid);
      },
      { timeout: 20_000, interval: 100 },
    );
    const { status } = (await world.admin.get<Cluster>(CLUSTER)) ?? {};
    expect(status?.registration).toMatchObject({ state: 'registered' });
    expect(status?.signingKeys?.accepted).toEqual([status?.odooPublicKey]);

    await world.plane.call('POST', `/clusters/${world.clusterId}/disable`);
    await world.untilCluster('Authenticated', 'False ClusterDisabled');
    await world.stopOperator();
  }, 120_000);
});
