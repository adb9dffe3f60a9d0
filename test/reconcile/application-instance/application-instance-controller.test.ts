import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { changedConditions, findCondition } from '../../../src/resources/conditions.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import type { HelmRepository } from '../../../src/resources/flux-helm-repository.ts';
import type { OciRepository } from '../../../src/resources/flux-oci-repository.ts';
import { refOf, type KubeObject } from '../../../src/resources/kube-object.ts';
import { aPolicy, CHART_URL, CLUSTER_ID } from '../manifests.ts';
import {
  conditionsOf,
  HELM_URL,
  helmRepository,
  instance,
  names,
  ociRepository,
  release,
  setStage,
  type Stage,
} from './stage.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const installed = { Ready: 'True HelmReleaseReady', Reconciling: 'False Stable', Degraded: 'False Healthy' };

describe('an ApplicationInstance', () => {
  it('is installed: Flux objects with its label and no owner, then Ready, reported and told as a cluster event', async () => {
    await stage.deliver({ spec: { values: { replicaCount: 2 } } });
    const live = await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    expect(conditionsOf(live)).toEqual(installed);
    expect(live.status).toMatchObject({
      observedGeneration: live.metadata.generation,
      source: { mode: 'gitops', intentId: 'int-1' },
      release: { chartVersion: '6.5.0', appVersion: '6.5.0', revision: 1 },
    });
    expect(live.metadata.finalizers).toEqual(['app.service.io/release']);
    const labels = {
      'app.service.io/managed-by': 'control-plane',
      'app.service.io/cluster-id': CLUSTER_ID,
      'app.service.io/application-instance': 'podinfo',
    };
    const made = await stage.cluster.api.get<HelmRelease>(release);
    expect(made?.metadata.labels).toEqual(labels);
    expect(made?.metadata.ownerReferences).toBeUndefined();
    expect(made?.spec).toEqual({
      interval: '10m',
      chartRef: { kind: 'OCIRepository', name: 'podinfo' },
      releaseName: 'podinfo',
      targetNamespace: 'shop',
      serviceAccountName: 'service-applications',
      values: { replicaCount: 2 },
    });
    const source = await stage.cluster.api.get<OciRepository>(ociRepository);
    expect(source?.metadata.labels).toEqual(labels);
    expect(source?.spec).toMatchObject({ url: CHART_URL, ref: { tag: '6.5.0' } });
    expect(stage.operator.story[0]).toBe(
      'int-1: Ready=False/HelmReleaseInstalling Reconciling=True/HelmReleaseInstalling Degraded=False/Healthy',
    );
    expect(stage.operator.story.at(-1)).toBe(
      'int-1: Ready=True/HelmReleaseReady Reconciling=False/Stable Degraded=False/Healthy',
    );
    expect(stage.operator.reported.at(-1)?.ref).toEqual({
      ...refOf(live),
      uid: live.metadata.uid,
      generation: live.metadata.generation,
    });
    expect(stage.operator.events).toEqual([
      expect.stringMatching(/^Warning SignatureMissing: it carries no signature .* it is taken all the same/),
      'Normal ReleaseReady: podinfo 6.5.0 runs as shop/podinfo, Helm revision 1',
    ]);
  });

  it('is upgraded by the tag of its source alone, and not Ready of the new intent before it runs', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const before = await stage.cluster.api.get(release);
    stage.operator.recording.forget();
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    const live = await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect(live.status?.release).toEqual({ chartVersion: '6.6.1', appVersion: '6.6.1', revision: 2 });
    const after = await stage.cluster.api.get(release);
    expect([after?.metadata.uid, after?.metadata.generation]).toEqual([
      before?.metadata.uid,
      before?.metadata.generation,
    ]);
    expect(new Set(stage.operator.recording.writes)).toEqual(
      new Set([
        'apply OCIRepository shop/podinfo',
        // What spec it is made of is noted there; its generation stays.
        'apply HelmRelease shop/podinfo',
        'apply ApplicationInstance shop/podinfo#status',
      ]),
    );
    const ofSecond = stage.operator.story.filter((line) => line.startsWith('int-2'));
    expect(ofSecond[0]).toMatch(/Ready=False\/HelmReleaseUpgrading/);
    expect(ofSecond.at(-1)).toMatch(/Ready=True\/HelmReleaseUpgraded/);
  });

  it('is Degraded by a failing upgrade with Flux’ words, and recovers by the next intent', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { replicaCount: -1 } } });
    const failed = await stage.until('int-2', 'Degraded', 'HelmReleaseUpgradeFailed');
    expect(conditionsOf(failed)).toMatchObject({
      Ready: 'False HelmReleaseUpgradeFailed',
      Degraded: 'True HelmReleaseUpgradeFailed',
    });
    expect(findCondition(failed.status?.conditions, 'Degraded')?.message).toContain(
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
    expect(stage.operator.events.at(-1)).toMatch(/^Warning HelmReleaseUpgradeFailed: /);
    await stage.deliver({ source: '1.3', intentId: 'int-3', version: '6.6.1', spec: { values: { replicaCount: 1 } } });
    const mended = await stage.until('int-3', 'Ready', 'HelmReleaseUpgraded');
    expect(conditionsOf(mended)).toMatchObject({ Reconciling: 'False Stable', Degraded: 'False Healthy' });
  });

  it('takes new values to the release', async () => {
    await stage.deliver({ spec: { values: { replicaCount: 1 } } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2', spec: { values: { ui: { color: 'blue' } } } });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect((await stage.cluster.api.get<HelmRelease>(release))?.spec.values).toEqual({ ui: { color: 'blue' } });
  });

  it('reports an intent that changes nothing visible, by its source alone', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.deliver({ source: '1.2', intentId: 'int-2' });
    await stage.until('int-2', 'Ready', 'HelmReleaseReady');
    const last = stage.operator.reported.at(-1);
    expect(last?.before).toEqual([]);
    expect(last?.after).toEqual(stage.operator.reported.at(-2)?.after);
    expect(last?.source).toMatchObject({ intentId: 'int-2', generation: 2 });
    expect(last?.sourceBefore).toMatchObject({ intentId: 'int-1' });
  });

  it('reports a failure again for the next intent, although nothing about it differs', async () => {
    await stage.deliver({ version: '6.9.9' });
    await stage.until('int-1', 'Degraded', 'SourceUnavailable');
    await stage.deliver({ version: '6.9.9', source: '1.2', intentId: 'int-2' });
    await stage.until('int-2', 'Degraded', 'SourceUnavailable');
    const last = stage.operator.reported.at(-1);
    expect(changedConditions(last?.before ?? [], last?.after ?? []).map(({ type }) => type)).toContain('Degraded');
  });

  it('is Degraded with the words of the source when the version is in no registry', async () => {
    await stage.deliver({ version: '6.9.9' });
    const live = await stage.until('int-1', 'Degraded', 'SourceUnavailable');
    expect(conditionsOf(live)).toMatchObject({ Ready: 'False SourceUnavailable', Degraded: 'True SourceUnavailable' });
    expect(findCondition(live.status?.conditions, 'Degraded')?.message).toMatch(
      /^the chart cannot be fetched: .*6\.9\.9/,
    );
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    expect(conditionsOf(await stage.until('int-2', 'Ready', 'HelmReleaseReady'))).toEqual(installed);
  });

  it('is Stalled when the catalog does not allow it, writes nothing downstream, and goes on once it does', async () => {
    await stage.deliver({ version: '7.0.0' });
    await stage.until('int-1', 'Stalled', 'ChartNotAllowed');
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    expect(await stage.cluster.api.get(ociRepository)).toBeUndefined();
    const [entry] = aPolicy().catalogEntries;
    if (entry === undefined) throw new Error('no entry');
    stage.operator.allow(aPolicy({ catalogEntries: [{ ...entry, versions: '*' }] }));
    await stage.until('int-1', 'Degraded', 'SourceUnavailable');
    expect(findCondition((await stage.read()).status?.conditions, 'Stalled')).toMatchObject({ status: 'False' });
  });

  it('moves to another kind of source without losing the release, and cleans up the old source', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const uid = (await stage.cluster.api.get(release))?.metadata.uid;
    const chart = { type: 'helm', url: HELM_URL, name: 'podinfo' } as const;
    stage.operator.allow(aPolicy({ catalogEntries: [{ entry: 'podinfo', chart, versions: '*' }] }));
    await stage.deliver({ source: '1.2', intentId: 'int-2', spec: { chart: { ...chart, version: '6.6.1' } } });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    await stage.untilGone(ociRepository);
    expect((await stage.cluster.api.get<HelmRepository>(helmRepository))?.spec.url).toBe(HELM_URL);
    const moved = await stage.cluster.api.get<HelmRelease>(release);
    expect(moved?.metadata.uid).toBe(uid);
    expect(moved?.spec.chartRef).toBeUndefined();
    expect(moved?.spec.chart?.spec).toMatchObject({ chart: 'podinfo', version: '6.6.1' });
  });

  it('takes back an edit by hand of the release it made', async () => {
    await stage.deliver({ spec: { values: { replicaCount: 2 } } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.cluster.api.mergePatch(release, {
      spec: { values: { replicaCount: 50 }, serviceAccountName: 'admin' },
    });
    await vi.waitFor(async () => {
      const { values, serviceAccountName } = (await stage.cluster.api.get<HelmRelease>(release))?.spec ?? {};
      expect({ values, serviceAccountName }).toEqual({
        values: { replicaCount: 2 },
        serviceAccountName: 'service-applications',
      });
    }, 30_000);
  });

  it('does not touch a release of its name that someone else made', async () => {
    const theirs = { ...release, metadata: { ...names }, spec: { interval: '1h', suspend: true } };
    await stage.cluster.api.create<KubeObject>(theirs, 'someone');
    const before = await stage.cluster.api.get(release);
    await stage.deliver();
    const live = await stage.until('int-1', 'Stalled', 'ReleaseNotOwned');
    expect(findCondition(live.status?.conditions, 'Stalled')?.message).toContain('HelmRelease shop/podinfo exists');
    await stage.uninstall();
    await stage.untilGone(instance);
    const after = await stage.cluster.api.get<HelmRelease>(release);
    expect([after?.metadata.uid, after?.metadata.labels, after?.spec]).toEqual([
      before?.metadata.uid,
      undefined,
      theirs.spec,
    ]);
    expect(after?.metadata.managedFields?.map(({ manager }) => manager)).not.toContain('service-operator-release');
  });
});

describe('the end of an ApplicationInstance', () => {
  it('by tombstone uninstalls the release, then the source, and reports it for the tombstone’s intent', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall();
    await stage.untilGone(instance);
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    expect(await stage.cluster.api.get({ apiVersion: 'apps/v1', kind: 'Deployment', ...names })).toBeUndefined();
    await stage.untilGone(ociRepository);
    const ofEnd = stage.operator.story.filter((line) => line.startsWith('int-9'));
    expect(ofEnd[0]).toMatch(/Ready=False\/Uninstalling Reconciling=True\/Uninstalling/);
    expect(ofEnd.at(-1)).toMatch(/Ready=False\/Uninstalled Reconciling=False\/Uninstalled/);
  });

  it('by the removal of its file from Git uninstalls the release and reports it for the intent that brought it', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall('pruned:467b38165e0d32c1adf679dc451c290d05a12385');
    await stage.untilGone(instance);
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    expect(stage.operator.story.at(-1)).toMatch(/^int-1: Ready=False\/Uninstalled/);
  });

  it('by hand keeps the release and says so, and the next delivery takes it up again', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const uid = (await stage.cluster.api.get(release))?.metadata.uid;
    await stage.cluster.api.delete(instance);
    await stage.untilGone(instance);
    expect((await stage.cluster.api.get(release))?.metadata.uid).toBe(uid);
    expect(stage.operator.story.at(-1)).toMatch(/^int-1: Ready=False\/Orphaned/);
    expect(stage.operator.events.at(-1)).toBe(
      'Warning Orphaned: what was made of it stays in the cluster (HelmRelease podinfo, OCIRepository podinfo): ' +
        'it was deleted by hand, without a tombstone of the control plane; to uninstall that too: ' +
        'kubectl -n shop delete helmrelease/podinfo ocirepository/podinfo',
    );
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    const kept = await stage.cluster.api.get<HelmRelease>(release);
    expect([kept?.metadata.uid, kept?.status?.history?.[0]?.version]).toEqual([uid, 1]);
  });

  it('by hand of one that was blocked and never released says that nothing stays', async () => {
    await stage.deliver({ version: '7.0.0' });
    await stage.until('int-1', 'Stalled', 'ChartNotAllowed');
    await stage.cluster.api.delete(instance);
    await stage.untilGone(instance);
    expect(stage.operator.events.at(-1)).toMatch(
      /^Warning Orphaned: nothing was released of it, so nothing stays in the cluster: it was deleted by hand/,
    );
  });

  it('by tombstone with deletionPolicy Orphan keeps the release', async () => {
    await stage.deliver({ spec: { deletionPolicy: 'Orphan' } });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall();
    await stage.untilGone(instance);
    expect(await stage.cluster.api.get(release)).toBeDefined();
    expect(stage.operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Orphaned/);
  });
});
