import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { sandboxCluster, type TransportCluster } from '../../support/transport-contract/transport-cluster.ts';
import { registerAgent } from '../admin/running-agent.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

const CLUSTER = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster' } as const;

let plane: RunningControlPlane;
let cluster: TransportCluster;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  cluster = await sandboxCluster();
});
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

/** A cluster in pull mode whose operator has applied one application of what it was given. */
async function pulled(slug: string): Promise<KubeObject> {
  await plane.newCluster(slug, { connectivityMode: 'pull' });
  const agent = await registerAgent(plane, slug);
  const object: KubeObject = {
    ...CLUSTER,
    metadata: { name: 'here', namespace: 'service-system' },
    spec: { controlPlaneBaseUrl: 'https://cp.example.com' },
  };
  await cluster.admin.apply(object, { fieldManager: 'test', force: true });
  const status = { ...CLUSTER, metadata: object.metadata, status: { clusterId: agent.id } };
  await cluster.admin.apply(status, { fieldManager: 'test', subresource: 'status', force: true });
  const { body: intent } = await plane.call('POST', `/clusters/${slug}/intents`, INSTALL);
  await plane.until(String(intent['id']), 'delivered');
  const [job] = plane.query('SELECT payload FROM jobs WHERE cluster_id = ?', agent.id);
  const manifest = parse(String(job?.['payload'])) as KubeObject;
  const labels = { ...manifest.metadata.labels, 'managed-by': 'service', 'app.service.io/cluster-id': agent.id };
  const applied = { ...manifest, metadata: { ...manifest.metadata, labels } };
  return (await cluster.admin.apply(applied, { fieldManager: 'service-operator', force: true })).object;
}

async function planOf(slug: string): Promise<{ readonly conflicts: unknown; readonly blockers: unknown }> {
  const body = { mode: 'push', dryRun: true, push: { kubeconfig: cluster.pushKubeconfig } };
  const { body: answer } = await plane.call('POST', `/clusters/${slug}/mode`, body);
  const { probes, plan } = answer['switch'] as {
    readonly probes: readonly { readonly name: string }[];
    readonly plan: { readonly blockers: unknown };
  };
  return { conflicts: probes.find(({ name }) => name === 'conflicts'), blockers: plan.blockers };
}

it('finds in a dry run the field of another manager that would refuse the switch, and no conflict with the operator', async () => {
  const { apiVersion, kind, metadata, ...live } = await pulled('moved');
  const before = await planOf('moved');
  expect(before).toEqual({
    conflicts: { name: 'conflicts', ok: true, message: 'an apply of 1 object meets no other field manager' },
    blockers: [],
  });
  const { name, namespace = '' } = metadata;
  const chart = (live['spec'] as { readonly chart: object }).chart;
  const edited = { apiVersion, kind, metadata: { name, namespace }, spec: { chart: { ...chart, version: '6.5.1' } } };
  await cluster.admin.apply(edited, { fieldManager: 'somebody', force: true });
  const { conflicts, blockers } = await planOf('moved');
  expect(conflicts).toMatchObject({
    ok: false,
    message: expect.stringMatching(
      /^the switch would be refused and go back: ApplicationInstance shop\/podinfo: field manager "somebody" owns \.spec\.chart\.version; .*: kubectl -n shop patch /,
    ),
  });
  expect(blockers).toEqual([expect.stringMatching(/^conflicts: /)]);
  const after = await cluster.admin.get<KubeObject>({ apiVersion, kind, namespace, name });
  expect(after?.['spec']).toMatchObject({ chart: { version: '6.5.1' } });
});
