import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/delivery/delivery.ts';
import { connectCluster, type ClusterConnection } from '../../src/kube/connect-cluster.ts';
import { markForDeletion, takeBackMark } from '../../src/delivery/push/push-mark.ts';
import { applyOver } from '../../src/kube/apply-over.ts';
import { moveOwnership } from '../../src/kube/move-ownership.ts';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { Inventory } from '../../src/reconcile/inventory.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { FIELD_MANAGER, PUSH_FIELD_MANAGER, STATUS_FIELD_MANAGER } from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { podinfo } from '../reconcile/apply-stage.ts';
import {
  aNamespace,
  anInstance,
  aPolicy,
  aTombstone,
  CLUSTER_ID,
  file,
  type InstanceOptions,
} from '../reconcile/manifests.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const logger = createLogger('test', 'silent');
const signal = new AbortController().signal;

interface Started extends AsyncDisposable {
  readonly kubeconfig: string;
}

describe('what push wrote, taken over by the operator on the sandbox', () => {
  takesOver(async () => {
    const sandbox = await startSandbox();
    return {
      kubeconfig: sandbox.kubeconfig(),
      [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
    };
  });
});

describeRealCluster('what push wrote, taken over by the operator on a real API server', (start) => {
  takesOver(async () => await start());
});

function takesOver(start: () => Promise<Started>): void {
  let cluster: Started;
  let api: ClusterConnection;
  beforeAll(async () => {
    cluster = await start();
    const kubeconfig = { kind: 'text', yaml: cluster.kubeconfig } as const;
    api = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: Math.random });
    await installDefinitions(api);
    for (const name of ['shop', 'service-system']) await api.create(aNamespace(name), 'test');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** One delivery by the operator, of a process that knows nothing yet. */
  async function deliver(mode: 'pull' | 'gitops', deliveryEpoch: number, options: InstanceOptions): Promise<unknown> {
    const inventory = new Inventory({ api, logger, clusterId: () => CLUSTER_ID });
    await inventory.load(signal);
    const policy = () => aPolicy({ mode, deliveryEpoch });
    const loop = createApplyLoop({ api, inventory, clock: systemClock, logger, policy });
    const set = { scope: 'partial', objects: [file(options)], removals: [], faults: [] } as const;
    const outcome: Outcome | undefined = (await loop.apply(set, signal)).outcomes.get('apps/shop/podinfo.yaml');
    return outcome?.state === 'conflict' ? outcome : outcome?.state;
  }

  async function push(options: InstanceOptions): Promise<void> {
    const live = await api.get<ApplicationInstance>(podinfo);
    if (live !== undefined) await moveOwnership(api, live, { from: FIELD_MANAGER, to: PUSH_FIELD_MANAGER });
    const now = await api.get<ApplicationInstance>(podinfo);
    await applyOver(api, anInstance(options), now, { fieldManager: PUSH_FIELD_MANAGER }, signal);
  }

  async function read(): Promise<{ uid: unknown; owners: readonly unknown[]; values: unknown; status: unknown }> {
    const object = await api.get<ApplicationInstance>(podinfo);
    const owners = (object?.metadata.managedFields ?? [])
      .filter(({ manager = '' }) => manager.startsWith('service-'))
      .map(({ manager, operation }) => `${manager} ${operation}`);
    return { uid: object?.metadata.uid, owners: owners.sort(), values: object?.spec.values, status: object?.status };
  }

  it('keeps its UID and its status, has one owner of the payload in each mode, and loses what the next way leaves out', async () => {
    const values = { replicas: 2 };
    expect(await deliver('pull', 1, { source: '1.1', spec: { values } })).toBe('applied');
    const status = { conditions: [], source: { mode: 'pull', intentId: 'int-1' } };
    const { apiVersion, kind, metadata } = anInstance();
    const withoutSpec = { apiVersion, kind, metadata: { name: metadata.name, namespace: 'shop' }, status };
    await api.apply(withoutSpec, {
      fieldManager: STATUS_FIELD_MANAGER,
      force: true,
      subresource: 'status',
    });
    const { uid } = await read();
    await push({ source: '2.1', spec: { values: { ...values, debug: true } } });
    expect((await read()).owners).toEqual([`${PUSH_FIELD_MANAGER} Apply`, `${STATUS_FIELD_MANAGER} Apply`].sort());
    expect(await deliver('gitops', 3, { source: '3.1', spec: { values } })).toBe('applied');
    const owners = [`${FIELD_MANAGER} Apply`, `${STATUS_FIELD_MANAGER} Apply`].sort();
    expect(await read()).toEqual({ uid, owners, values, status });
    const update = { version: '6.6.1', intentId: 'int-2' };
    await push({ source: '4.2', ...update, spec: { values: { replicas: 3, debug: false } } });
    const next = { source: '5.2', ...update, spec: { values: { replicas: 3 } } };
    expect(await deliver('pull', 5, next)).toBe('applied');
    expect(await read()).toEqual({ uid, owners, values: { replicas: 3 }, status });
    expect(await deliver('pull', 5, next)).toBe('unchanged');
  });

  it('drops the whole map of values, in each mode and after each move of the ownership', async () => {
    const values = { replicas: 2, nested: { debug: true } };
    await deliver('pull', 11, { source: '11.1', spec: { values } });
    expect(await deliver('pull', 11, { source: '11.2' })).toBe('applied');
    expect((await read()).values ?? {}).toEqual({});
    expect(await deliver('pull', 11, { source: '11.3', spec: { values } })).toBe('applied');
    await push({ source: '12.4' });
    expect((await read()).values ?? {}).toEqual({});
    await push({ source: '12.5', spec: { values } });
    await push({ source: '12.6' });
    expect((await read()).values ?? {}).toEqual({});
    await push({ source: '12.7', spec: { values } });
    expect(await deliver('gitops', 13, { source: '13.8' })).toBe('applied');
    expect((await read()).values ?? {}).toEqual({});
  });

  it('has no conflict with what is left of a delete of push that did not come about', async () => {
    await push({ source: '21.1' });
    const live = await api.get<ApplicationInstance>(podinfo);
    const tombstone = aTombstone({ epoch: 21, generation: 2, intentId: 'int-9' });
    if (live !== undefined) {
      const marked = await markForDeletion(api, live, tombstone, signal);
      await takeBackMark(api, marked, tombstone, signal);
    }
    expect(await deliver('pull', 22, { source: '22.3', version: '6.6.1' })).toBe('applied');
  });
}
