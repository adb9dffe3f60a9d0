import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KubeError } from '../../src/kube/cluster-api.ts';
import { connectCluster, type ClusterConnection } from '../../src/kube/connect-cluster.ts';
import { moveOwnership, ownershipPatch } from '../../src/kube/move-ownership.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { refOf } from '../../src/resources/kube-object.ts';
import {
  FIELD_MANAGER,
  META_FIELD_MANAGER,
  PUSH_FIELD_MANAGER,
  STATUS_FIELD_MANAGER,
} from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { installDefinitions } from '../support/install-definitions.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';

const TO_PUSH = { from: FIELD_MANAGER, to: PUSH_FIELD_MANAGER };
const BACK = { from: PUSH_FIELD_MANAGER, to: FIELD_MANAGER };

interface Started extends AsyncDisposable {
  readonly kubeconfig: string;
}

describe('moving ownership on the sandbox', () => {
  movesOwnership(async () => {
    const sandbox = await startSandbox();
    return {
      kubeconfig: sandbox.kubeconfig(),
      [Symbol.asyncDispose]: async () => await sandbox[Symbol.asyncDispose](),
    };
  });
});

describeRealCluster('moving ownership on a real API server', (start) => {
  movesOwnership(async () => await start());
});

/** By `manager operation[/subresource]`, without times. */
function owners({ metadata }: KubeObject): Record<string, unknown> {
  return Object.fromEntries(
    (metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager} ${operation}${subresource === undefined ? '' : `/${subresource}`}`,
      fieldsV1,
    ]),
  );
}

function others(object: KubeObject): unknown {
  return (object.metadata.managedFields ?? []).filter(
    ({ manager }) => manager !== FIELD_MANAGER && manager !== PUSH_FIELD_MANAGER,
  );
}

function movesOwnership(start: () => Promise<Started>): void {
  let cluster: Started;
  let api: ClusterConnection;
  beforeAll(async () => {
    cluster = await start();
    api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.kubeconfig },
      userAgent: 'test',
      clock: systemClock,
      random: Math.random,
    });
    await installDefinitions(api);
    await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }, 'test');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const manifest = (name: string, values: Record<string, unknown>, labels = {}): KubeObject => ({
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    metadata: { name, namespace: 'shop', labels },
    spec: {
      catalogEntry: 'podinfo',
      chart: { type: 'oci', url: 'oci://charts.example', name: 'podinfo', version: '6.5.0' },
      values,
    },
  });
  const apply = async (object: KubeObject, fieldManager: string): Promise<KubeObject> =>
    (await api.apply<KubeObject>(object, { fieldManager })).object;

  /** As it stands after a while in pull mode: payload, a status, a finalizer, and what people did. */
  const lived = async (name: string): Promise<KubeObject> => {
    const payload = manifest(name, { replicas: 1, color: 'red' }, { team: 'a' });
    await apply(payload, FIELD_MANAGER);
    const ref = refOf(payload);
    await api.mergePatch(
      ref,
      { metadata: { finalizers: ['app.service.io/release'] } },
      { fieldManager: META_FIELD_MANAGER },
    );
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'Stable', message: 'ready', lastTransitionTime: '2026-11-28T00:00:00Z' },
    ];
    await api.mergePatch(
      ref,
      { status: { observedGeneration: 1, conditions } },
      { fieldManager: STATUS_FIELD_MANAGER, subresource: 'status' },
    );
    await api.mergePatch(ref, { metadata: { annotations: { note: 'mine' } } }, { fieldManager: 'kubectl-annotate' });
    return await apply(manifest(name, { replicas: 1, color: 'red' }, { team: 'a' }), FIELD_MANAGER);
  };
  const release = async (object: KubeObject): Promise<void> => {
    await api.mergePatch(refOf(object), { metadata: { finalizers: null } }, { fieldManager: META_FIELD_MANAGER });
    await api.delete(refOf(object));
  };

  it('renames the payload entry and leaves every other as it is', async () => {
    const before = await lived('renamed');
    const moved = await moveOwnership(api, before, TO_PUSH);
    const was = owners(before);
    const { [`${FIELD_MANAGER} Apply`]: payload, ...rest } = was;
    expect(Object.keys(rest).toSorted()).toEqual(
      Object.keys(owners(before))
        .filter((name) => name !== `${FIELD_MANAGER} Apply`)
        .toSorted(),
    );
    expect(payload).toBeDefined();
    expect(owners(moved as KubeObject)).toEqual({ ...rest, [`${PUSH_FIELD_MANAGER} Apply`]: payload });
    expect(others(moved as KubeObject)).toEqual(others(before));
    expect(others(before)).toHaveLength(3);
    const { uid, generation } = before.metadata;
    expect(moved?.metadata).toMatchObject({ uid, generation });
    expect([moved?.['spec'], moved?.['status']]).toEqual([before['spec'], before['status']]);
    await release(before);
  });

  it('leaves nothing owned by both: what the new writer leaves out goes', async () => {
    const before = await lived('handed');
    const moved = await moveOwnership(api, before, TO_PUSH);
    const next = await apply(manifest('handed', { replicas: 1 }), PUSH_FIELD_MANAGER);
    expect((next['spec'] as { values: unknown }).values).toEqual({ replicas: 1 });
    expect(next.metadata.labels ?? {}).toEqual({});
    expect(Object.keys(owners(next))).not.toContain(`${FIELD_MANAGER} Apply`);
    expect(others(next)).toEqual(others(moved as KubeObject));

    const back = await moveOwnership(api, next, BACK);
    const again = await apply(manifest('handed', { size: 'S' }), FIELD_MANAGER);
    expect((again['spec'] as { values: unknown }).values).toEqual({ size: 'S' });
    expect(Object.keys(owners(again))).not.toContain(`${PUSH_FIELD_MANAGER} Apply`);
    expect(again.metadata.uid).toBe(before.metadata.uid);
    expect(others(again)).toEqual(others(back as KubeObject));
    await release(before);
  });

  it('without it the old writer keeps what the new one leaves out', async () => {
    const before = await lived('kept');
    const next = await apply(manifest('kept', { replicas: 1 }), PUSH_FIELD_MANAGER);
    expect((next['spec'] as { values: unknown }).values).toEqual({ replicas: 1, color: 'red' });
    await release(before);
  });

  it('joins the two entries of an object that both have applied', async () => {
    const before = await lived('joined');
    const both = await apply(manifest('joined', { replicas: 1, size: 'L' }), PUSH_FIELD_MANAGER);
    const moved = await moveOwnership(api, both, TO_PUSH);
    const values = { 'f:replicas': {}, 'f:color': {}, 'f:size': {} };
    expect(owners(moved as KubeObject)[`${PUSH_FIELD_MANAGER} Apply`]).toMatchObject({
      'f:metadata': { 'f:labels': { 'f:team': {} } },
      'f:spec': { 'f:values': values },
    });
    expect(Object.keys(owners(moved as KubeObject))).not.toContain(`${FIELD_MANAGER} Apply`);
    expect(others(moved as KubeObject)).toEqual(others(both));
    const next = await apply(manifest('joined', { size: 'L' }), PUSH_FIELD_MANAGER);
    expect((next['spec'] as { values: unknown }).values).toEqual({ size: 'L' });
    await release(before);
  });

  it('is refused for an object that has changed since, and then moves the object as it is', async () => {
    const before = await lived('raced');
    const changed = await apply(manifest('raced', { replicas: 2 }), FIELD_MANAGER);
    const patch = ownershipPatch(before, TO_PUSH);
    const fault = await api.jsonPatch(refOf(before), patch ?? []).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(KubeError);
    expect((fault as KubeError).status).toBe(422);
    const moved = await moveOwnership(api, before, TO_PUSH);
    expect(owners(moved as KubeObject)[`${PUSH_FIELD_MANAGER} Apply`]).toEqual(
      owners(changed)[`${FIELD_MANAGER} Apply`],
    );
    expect(moved?.['spec']).toEqual(changed['spec']);
    await release(before);
  });

  it('writes nothing where the old writer has no entry, and answers nothing for an object that went', async () => {
    const before = await apply(manifest('plain', {}), PUSH_FIELD_MANAGER);
    expect(await moveOwnership(api, before, TO_PUSH)).toBe(before);
    expect((await api.get(refOf(before)))?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await api.delete(refOf(before));
    expect(await moveOwnership(api, before, BACK)).toBeUndefined();
  });
}
