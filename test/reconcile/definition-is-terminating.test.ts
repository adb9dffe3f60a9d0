import { describe, expect, it, vi } from 'vitest';
import { findCondition } from '../../src/resources/conditions.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { syncConditions } from '../../src/reconcile/cluster/sync-conditions.ts';
import { setApplyStage } from './apply-stage.ts';
import { setStage } from './application-instance/stage.ts';
import { anInstance, file } from './manifests.ts';
import type { TestCluster } from './test-cluster.ts';

const HELD = ['example.com/held'];

/** Deletes the definition of a kind while an object of it is held. */
async function beginToDelete(cluster: TestCluster, definition: string, held: KubeObject): Promise<void> {
  const metadata = { ...held.metadata, name: 'held', finalizers: HELD };
  await cluster.api.create({ ...held, metadata }, 'kubectl');
  const ref = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: definition };
  await cluster.api.delete(ref);
  const { apiVersion, kind } = held;
  await vi.waitFor(async () => {
    const live = await cluster.api.get({ apiVersion, kind, namespace: 'shop', name: 'held' });
    expect(live?.metadata.deletionTimestamp).toBeDefined();
  }, 30_000);
}

describe('a definition that is being deleted', () => {
  it('gets no new instances by an apply, which is tried again, and Synced says what to do', async () => {
    await using stage = await setApplyStage();
    await beginToDelete(stage.cluster, 'applicationinstances.apps.service.io', anInstance());
    const report = await stage.apply({ objects: [file()] });
    const message =
      'the definition of ApplicationInstance (apps.service.io/v1alpha1) is being deleted, and nothing is made in it; when ' +
      'nothing holds it any more, apply it again: docs/install.md, "Deleted by mistake", has the commands';
    expect([...report.outcomes.values()]).toEqual([{ state: 'failed', reason: 'DefinitionTerminating', message }]);
    expect(report.retryable).toBe(true);
    expect(syncConditions(report)[0]).toMatchObject({ status: 'False', reason: 'DefinitionTerminating' });
    expect(await stage.read()).toBeUndefined();
    expect(stage.recording.writes).toEqual([]);
  });

  it('gets no HelmRelease back that it took away, and a first one costs no request more', async () => {
    await using stage = await setStage();
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    expect(stage.operator.recording.calls.filter(({ verb }) => verb === 'dryRun')).toEqual([]);
    stage.operator.recording.forget();
    const metadata = { name: 'held', namespace: 'shop' };
    const spec = { interval: '10m', chartRef: { kind: 'OCIRepository', name: 'held' } };
    await beginToDelete(stage.cluster, 'helmreleases.helm.toolkit.fluxcd.io', { ...HELM_RELEASE, metadata, spec });
    const live = await stage.until('int-1', 'Stalled', 'DefinitionTerminating');
    expect(findCondition(live.status?.conditions, 'Stalled')?.message).toContain('the definition of HelmRelease');
    expect(stage.operator.recording.writes.filter((write) => write.includes('HelmRelease'))).toEqual([]);
  });

  it('costs one more request for a new object, and none for one that is there', async () => {
    await using stage = await setApplyStage();
    const asked = (): readonly string[] =>
      stage.recording.calls.filter(({ verb }) => verb === 'dryRun').map(({ about }) => about);
    await stage.apply({ objects: [file()] });
    expect(asked()).toEqual(['ApplicationInstance shop/podinfo']);
    await stage.apply({ objects: [file({ source: '1.2', version: '6.6.1' })] });
    expect(asked()).toEqual(['ApplicationInstance shop/podinfo']);
  });
});
