import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { anInstance } from '../reconcile/manifests.ts';
import { anOperation } from '../policy/signed-approval.ts';
import { applyJob } from './jobs/job-stage.ts';
import { ModeStage } from './mode-stage.ts';

const wait = { timeout: 15_000, interval: 10 };
const READY = 'Ready=True HelmReleaseReady';
const RELEASE = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', namespace: 'shop', name: 'podinfo' };
const STALE = 'Stalled=True StaleSource';
const PERSON = { fieldManager: 'kubectl-client-side-apply' };

let stage: ModeStage;
beforeEach(async () => {
  stage = await ModeStage.start({ withReleases: true });
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const release = async () => await stage.jobs.world.cluster.api.get(RELEASE);

/** Brought by push and uninstalled again, as the operator remembers it. */
async function uninstalled(): Promise<void> {
  await stage.change('push', 2);
  await stage.push({ source: '2.1' });
  await stage.untilSaid(`${READY} push 2.1 int-1`);
  await stage.pushTombstone('2.2', 'int-9');
  await stage.untilSaid('Ready=False Uninstalled push 2.2 int-9');
  await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
}

async function clusterEvents(reason: string): Promise<readonly KubeObject[]> {
  const kind = { apiVersion: 'v1', kind: 'Event' };
  const { items } = await stage.jobs.world.cluster.api.list<KubeObject>(kind, { namespace: 'shop' });
  return items.filter((event) => event['reason'] === reason);
}

/** The object as a person brings it back from a copy. */
async function restore(source: string, metadata: Partial<KubeObject['metadata']> = {}): Promise<void> {
  const object = anInstance({ source });
  const restored = { ...object, metadata: { ...object.metadata, ...metadata } };
  await stage.jobs.world.cluster.api.apply(restored, PERSON);
}

async function said(text: string, name?: string): Promise<void> {
  await expect.poll(() => stage.said(name).some((one) => one.startsWith(text)), wait).toBe(true);
}

describe('a create that comes after the uninstall', () => {
  it('of the control plane is deleted again by its UID, and nothing is made of it', async () => {
    await uninstalled();
    const released: string[] = [];
    stage.jobs.world.cluster.sandbox.audit.listen(({ path, method }) => {
      if (method === 'PATCH' && path.includes('/helmreleases')) released.push(path);
    });
    const { metadata } = await stage.push({ source: '2.1' });
    await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
    await expect.poll(async () => (await clusterEvents('StaleSource')).length, wait).toBe(1);
    expect(released).toEqual([]);
    expect(await stage.inventory()).toEqual([expect.objectContaining({ generation: 2, reportedFor: 'int-9' })]);
    expect(metadata.uid).not.toBe((await stage.inventory())[0]?.['uid']);
  });

  it('is so under a newer epoch and in another mode, and after a restart', async () => {
    await uninstalled();
    await stage.change('pull', 3);
    await stage.push({ source: '2.1' });
    await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
    await stage.jobs.stop();
    await stage.push({ source: '2.1' });
    await stage.jobs.begin();
    await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
    expect(await release()).toBeUndefined();
    // Asked for anew it comes.
    stage.jobs.plane.queue.put(applyJob('j3', { source: '3.3', intentId: 'int-3' }));
    await stage.untilSaid(`${READY} pull 3.3 int-3`);
  });

  it('by a person from a backup stays, is reported with the way out, and is taken without the annotation', async () => {
    await uninstalled();
    await restore('2.1');
    await said(STALE);
    const stands = (await stage.jobs.instance()) as KubeObject & { readonly status: { conditions: unknown[] } };
    expect(stands.metadata.finalizers).toBeUndefined();
    expect(JSON.stringify(stands.status.conditions)).toContain('take the annotation app.service.io/source off');
    expect(await clusterEvents('StaleSource')).toHaveLength(1);
    expect(await release()).toBeUndefined();
    await stage.jobs.stop();
    await stage.jobs.begin();
    await stage.jobs.world.until('ControllersHealthy', 'True', 'ControllersRunning');
    expect((await stage.jobs.instance())?.metadata.uid).toBe(stands.metadata.uid);
    const off = { metadata: { annotations: { 'app.service.io/source': null } } };
    const ref = { ...RELEASE, apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    await stage.jobs.world.cluster.api.mergePatch(ref, off, PERSON);
    await expect.poll(release, wait).toBeDefined();
  });

  it('of an operation is blocked, and reported', async () => {
    await stage.change('push', 2);
    const { metadata, ...rest } = anOperation();
    const annotations = { 'app.service.io/source': '2.4', 'app.service.io/tombstone': 'int-9' };
    const operation: KubeObject = { ...rest, metadata: { ...anInstance().metadata, name: metadata.name, annotations } };
    const { api } = stage.jobs.world.cluster;
    const { object } = await api.apply<KubeObject>(operation, { fieldManager: 'service-control-plane' });
    await api.delete(
      { apiVersion: object.apiVersion, kind: object.kind, namespace: 'shop', name: metadata.name },
      { uid: object.metadata.uid ?? '' },
    );
    await expect
      .poll(async () => await stage.inventory(metadata.name), wait)
      .toMatchObject([{ at: expect.anything() }]);
    const late = { ...operation.metadata, annotations: { 'app.service.io/source': '2.3' } };
    await api.apply({ ...operation, metadata: late }, { fieldManager: 'service-control-plane' });
    await said('Blocked=True StaleSource', metadata.name);
  });

  it('of before a switch waits until it is delivered under its epoch, where nothing is known of it', async () => {
    await stage.change('push', 2);
    await stage.change('pull', 3);
    await stage.push({ source: '2.1' });
    await said('Ready=False StaleSource');
    expect(await release()).toBeUndefined();
    expect((await stage.jobs.instance())?.metadata.deletionTimestamp).toBeUndefined();
    stage.jobs.plane.queue.put(applyJob('j3', { source: '3.1' }));
    await stage.untilSaid(`${READY} pull 3.1 int-1`);
  });
});

describe('what stands by right of an older epoch', () => {
  /** A change of it reaches the release, so it is reconciled still. Answers what was said of it against that. */
  async function whileReconciled(): Promise<readonly string[]> {
    const spec = { suspend: true };
    const ref = { ...RELEASE, apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    await stage.jobs.world.cluster.api.mergePatch(ref, { spec }, PERSON);
    await expect.poll(async () => ((await release())?.['spec'] as { suspend?: boolean })?.suspend, wait).toBe(true);
    await stage.jobs.world.cluster.api.mergePatch(ref, { spec: { suspend: null } }, PERSON);
    await expect.poll(async () => ((await release())?.['spec'] as { suspend?: boolean })?.suspend, wait).not.toBe(true);
    return stage.said().filter((text) => text.includes('StaleSource'));
  }

  beforeEach(async () => {
    await stage.change('push', 2);
    await stage.push({ source: '2.1' });
    await stage.untilSaid(`${READY} push 2.1 int-1`);
    await stage.change('pull', 3);
  });

  it('and was left by a switch goes on', async () => {
    expect(await whileReconciled()).toEqual([]);
  });

  it('goes on after a restart, and after the inventory was lost', async () => {
    await stage.jobs.stop();
    await stage.jobs.begin();
    expect(await whileReconciled()).toEqual([]);
    await stage.jobs.stop();
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'service-system',
      name: 'service-operator-inventory',
    };
    await stage.jobs.world.cluster.api.delete(map);
    await stage.jobs.begin();
    expect(await whileReconciled()).toEqual([]);
  });

  it('and was restored with its namespace, under another UID, goes on', async () => {
    const before = await stage.jobs.instance();
    const { metadata, ...rest } = before as KubeObject;
    const ref = { ...RELEASE, apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance' };
    await stage.jobs.world.cluster.api.delete(ref, { uid: metadata.uid ?? '' });
    await expect.poll(async () => await stage.jobs.instance(), wait).toBeUndefined();
    const { name, namespace = '', labels = {}, annotations = {}, finalizers = [] } = metadata;
    const { status: _status, ...spec } = rest as KubeObject;
    const restored = { ...spec, metadata: { name, namespace, labels, annotations, finalizers } };
    await stage.jobs.world.cluster.api.apply(restored, { fieldManager: 'velero-server' });
    expect(await whileReconciled()).toEqual([]);
  });
});
