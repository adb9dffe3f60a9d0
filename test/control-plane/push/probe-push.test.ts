import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { probePush, type PushProbed } from '../../../src/control-plane/push/probe-push.ts';
import { readKubeconfig } from '../../../src/control-plane/push/read-kubeconfig.ts';
import { kubeconfigOf } from '../../../src/control-plane/push/push-access.ts';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../../support/real-cluster/real-cluster.ts';
import {
  realCluster,
  sandboxCluster,
  type TransportCluster,
} from '../../support/transport-contract/transport-cluster.ts';

const CLUSTER = { id: 'c-0123456789abcdef', slug: 'prod-eu' };
const NEVER = new AbortController().signal;
const OBJECT = { apiVersion: 'ops.service.io/v1alpha1', kind: 'Cluster' } as const;
const METADATA = { name: 'prod-eu', namespace: 'service-system' } as const;

/** @param allowed namespaces of the cluster */
async function probe(kubeconfig: string, allowed: readonly string[] = ['shop']): Promise<PushProbed> {
  const yaml = kubeconfigOf(readKubeconfig(kubeconfig, { path: '/kubeconfig', now: new Date() }));
  await using connection = connectCluster({
    kubeconfig: { kind: 'text', yaml },
    userAgent: 'test',
    clock: systemClock,
    random: Math.random,
  });
  return await probePush({ connection, clock: systemClock }, { ...CLUSTER, allowedNamespaces: allowed }, NEVER);
}

const outcome = ({ probe: { probes } }: PushProbed): readonly unknown[] =>
  probes.map(({ name, ok, warning }) => (warning === undefined ? [name, ok] : [name, ok, 'with a warning']));

const messageOf = ({ probe: { probes } }: PushProbed, name: string): string =>
  probes.find((one) => one.name === name)?.message ?? '';

function describeProbe(start: () => Promise<TransportCluster>): void {
  let cluster: TransportCluster;

  /** The operator's own record of who its cluster is; undefined: it has not registered. */
  const isKnownAs = async (clusterId: string | undefined): Promise<void> => {
    await cluster.admin.delete({ ...OBJECT, ...METADATA });
    const object: KubeObject = {
      ...OBJECT,
      metadata: METADATA,
      spec: { controlPlaneBaseUrl: 'https://cp.example.com' },
    };
    await cluster.admin.create(object, 'test');
    if (clusterId === undefined) return;
    const status = { ...OBJECT, metadata: METADATA, status: { clusterId } };
    await cluster.admin.apply(status, { fieldManager: 'test', subresource: 'status', force: true });
  };

  beforeAll(async () => {
    cluster = await start();
    await cluster.admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'unbound' } }, 'test');
  }, START_TIMEOUT_MS);
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  it('finds all as it must be with exactly the recommended account, and leaves no trace', async () => {
    await isKnownAs(CLUSTER.id);
    const probed = await probe(cluster.pushKubeconfig);
    expect(outcome(probed)).toEqual([
      ['reachable', true],
      ['same-cluster', true],
      ['rights', true],
      ['dry-run', true],
      ['nothing-else', true],
    ]);
    expect(probed).toMatchObject({ isOther: false, isUnknown: false, probe: { ok: true } });
    const kind = { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    expect((await cluster.admin.list(kind)).items).toEqual([]);
  });

  it('asks nothing more of an API server that is another cluster’s', async () => {
    await isKnownAs('c-zzzzzzzzzzzzzzzz');
    const probed = await probe(cluster.pushKubeconfig);
    expect(outcome(probed)).toEqual([
      ['reachable', true],
      ['same-cluster', false],
    ]);
    expect(probed.isOther).toBe(true);
    expect(messageOf(probed, 'same-cluster')).toContain(
      'another cluster: its Cluster resource in service-system has the id c-zzzz',
    );
  });

  it('tells a cluster whose operator has not registered from another one', async () => {
    await isKnownAs(undefined);
    const probed = await probe(cluster.pushKubeconfig);
    expect(probed).toMatchObject({ isOther: false, isUnknown: true, probe: { ok: false } });
    expect(messageOf(probed, 'same-cluster')).toContain('has not registered yet');
  });

  it('names each right that is missing, with its namespace, and the apply that is refused there', async () => {
    await isKnownAs(CLUSTER.id);
    const probed = await probe(cluster.pushKubeconfig, ['shop', 'unbound']);
    expect(messageOf(probed, 'rights')).toBe(
      'it may not create, get, list, watch, patch, update, delete applicationinstances.apps.service.io in unbound; ' +
        'create, get, list, watch, patch, update, delete operations.ops.service.io in unbound: bind the role in each of these namespaces (servicectl clusters push-access)',
    );
    expect(messageOf(probed, 'dry-run')).toMatch(/^an apply is refused: unbound: .*forbidden/);
    expect(probed.probe.ok).toBe(false);
  });

  it('warns of an account that may more', async () => {
    await isKnownAs(CLUSTER.id);
    const probed = await probe(cluster.kubeconfig);
    expect(outcome(probed).at(-1)).toEqual(['nothing-else', true, 'with a warning']);
    expect(probed.probe.ok).toBe(true);
    const warning = probed.probe.probes.at(-1)?.warning;
    expect(warning).toMatch(
      /^the account may also do everything in the cluster; read secrets in every namespace; grant/,
    );
  });

  it('says that the server does not take the credential', async () => {
    const probed = await probe(cluster.pushKubeconfig.replace(/token: .*/, 'token: a-token-of-nobody'));
    expect(probed.probe).toMatchObject({ ok: false, refused: true });
    expect(messageOf(probed, 'reachable')).toContain('does not take the credential (401)');
  });

  it('says which server does not answer', async () => {
    const probed = await probe(cluster.pushKubeconfig.replace(/server: .*/, 'server: https://127.0.0.1:1'));
    expect(probed.probe).toMatchObject({ ok: false, probes: [{ name: 'reachable', ok: false }] });
    expect(messageOf(probed, 'reachable')).toContain('https://127.0.0.1:1/version');
  }, 60_000);
}

describe('the probe of push mode on the sandbox', () => {
  describeProbe(sandboxCluster);
});

describeRealCluster('the probe of push mode on a real API server', (start) => {
  describeProbe(async () => await realCluster(start));
});
