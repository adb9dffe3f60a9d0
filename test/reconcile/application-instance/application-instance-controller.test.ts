import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectCluster } from '../../../src/kube/connect-cluster.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import { HELM_RELEASE, type HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { HELM_REPOSITORY, type HelmRepository } from '../../../src/resources/flux-helm-repository.ts';
import { OCI_REPOSITORY, type OciRepository } from '../../../src/resources/flux-oci-repository.ts';
import { refOf, type KubeObject, type ObjectRef } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { fluxCrds } from '../../../src/sandbox/flux-crds.ts';
import { ChartShelf, replicaCountIsNotNatural } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import {
  startReleaseController,
  type ReleaseController,
} from '../../../src/sandbox/release-controller/start-release-controller.ts';
import { anInstance, aNamespace, aPolicy, CHART_URL, CLUSTER_ID, type InstanceOptions } from '../manifests.ts';
import { logger, startTestCluster, type TestCluster } from '../test-cluster.ts';
import { startOperator, type Operator } from './operator.ts';

const HELM_URL = 'https://charts.test/stable';
const names = { namespace: 'shop', name: 'podinfo' };
const release: ObjectRef = { ...HELM_RELEASE, ...names };
const ociRepository: ObjectRef = { ...OCI_REPOSITORY, ...names };
const helmRepository: ObjectRef = { ...HELM_REPOSITORY, ...names };

let cluster: TestCluster;
let flux: ReleaseController;
let operator: Operator;

beforeEach(async () => {
  cluster = await startTestCluster();
  const chart = (url: string, version: string) => ({
    ...{ url, version, name: 'podinfo', appVersion: version, validate: replicaCountIsNotNatural },
  });
  const charts = ['6.5.0', '6.6.0', '6.6.1'].map((version) => chart(CHART_URL, version));
  flux = startReleaseController({
    api: cluster.api,
    clock: systemClock,
    logger,
    charts: new ChartShelf([...charts, chart(HELM_URL, '6.6.1')]),
    timing: { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 },
  });
  operator = await startOperator(cluster.api);
});
afterEach(async () => {
  await operator[Symbol.asyncDispose]();
  await flux[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** As the apply loop delivers. */
async function deliver(options: InstanceOptions = {}): Promise<void> {
  await cluster.api.apply(anInstance(options), { fieldManager: 'service-operator' });
}

async function read(): Promise<ApplicationInstance> {
  const live = await cluster.api.get<ApplicationInstance>(refOf(anInstance()));
  if (live === undefined) throw new Error('there is no instance');
  return live;
}

/** Waits until the status is about this intent and its condition says so. */
async function until(intentId: string, type: string, reason: string): Promise<ApplicationInstance> {
  return await vi.waitFor(
    async () => {
      const live = await read();
      expect([live.status?.source?.intentId, findCondition(live.status?.conditions, type)?.reason]).toEqual([
        intentId,
        reason,
      ]);
      return live;
    },
    { timeout: 8000, interval: 5 },
  );
}

async function untilGone(ref: ObjectRef): Promise<void> {
  await vi.waitFor(async () => expect(await cluster.api.get(ref)).toBeUndefined(), { timeout: 8000, interval: 5 });
}

function conditionsOf(live: ApplicationInstance): Record<string, string> {
  return Object.fromEntries(
    (live.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
}

async function uninstall(intentId = 'int-9'): Promise<void> {
  await cluster.api.mergePatch(refOf(anInstance()), {
    metadata: { annotations: { 'app.service.io/tombstone': intentId } },
  });
  await cluster.api.delete(refOf(anInstance()));
}

const installed = { Ready: 'True HelmReleaseReady', Reconciling: 'False Stable', Degraded: 'False Healthy' };

describe('an ApplicationInstance', () => {
  it('is installed: Flux objects with its label and no owner, then Ready, reported and told as a cluster event', async () => {
    await deliver({ spec: { values: { replicaCount: 2 } } });
    const live = await until('int-1', 'Ready', 'HelmReleaseReady');
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
    const made = await cluster.api.get<HelmRelease>(release);
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
    const source = await cluster.api.get<OciRepository>(ociRepository);
    expect(source?.metadata.labels).toEqual(labels);
    expect(source?.spec).toMatchObject({ url: CHART_URL, ref: { tag: '6.5.0' } });
    expect(operator.story[0]).toBe(
      'int-1: Ready=False/HelmReleaseInstalling Reconciling=True/HelmReleaseInstalling Degraded=False/Healthy',
    );
    expect(operator.story.at(-1)).toBe(
      'int-1: Ready=True/HelmReleaseReady Reconciling=False/Stable Degraded=False/Healthy',
    );
    expect(operator.reported.at(-1)?.ref).toEqual({
      ...refOf(live),
      uid: live.metadata.uid,
      generation: live.metadata.generation,
    });
    expect(operator.events).toEqual(['Normal ReleaseReady: podinfo 6.5.0 runs as shop/podinfo, Helm revision 1']);
  });

  it('is upgraded by the tag of its source alone, and not Ready of the new intent before it runs', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    const before = await cluster.api.get(release);
    operator.recording.forget();
    await deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    const live = await until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect(live.status?.release).toEqual({ chartVersion: '6.6.1', appVersion: '6.6.1', revision: 2 });
    const after = await cluster.api.get(release);
    expect([after?.metadata.uid, after?.metadata.generation]).toEqual([
      before?.metadata.uid,
      before?.metadata.generation,
    ]);
    expect(new Set(operator.recording.writes)).toEqual(
      new Set(['apply OCIRepository shop/podinfo', 'apply ApplicationInstance shop/podinfo#status']),
    );
    const ofSecond = operator.story.filter((line) => line.startsWith('int-2'));
    expect(ofSecond[0]).toMatch(/Ready=False\/HelmReleaseUpgrading/);
    expect(ofSecond.at(-1)).toMatch(/Ready=True\/HelmReleaseUpgraded/);
  });

  it('is Degraded by a failing upgrade with Flux’ words, and recovers by the next intent', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { replicaCount: -1 } } });
    const failed = await until('int-2', 'Degraded', 'HelmReleaseUpgradeFailed');
    expect(conditionsOf(failed)).toMatchObject({
      Ready: 'False HelmReleaseUpgradeFailed',
      Degraded: 'True HelmReleaseUpgradeFailed',
    });
    expect(findCondition(failed.status?.conditions, 'Degraded')?.message).toContain(
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
    expect(operator.events.at(-1)).toMatch(/^Warning HelmReleaseUpgradeFailed: /);
    await deliver({ source: '1.3', intentId: 'int-3', version: '6.6.1', spec: { values: { replicaCount: 1 } } });
    const mended = await until('int-3', 'Ready', 'HelmReleaseUpgraded');
    expect(conditionsOf(mended)).toMatchObject({ Reconciling: 'False Stable', Degraded: 'False Healthy' });
  });

  it('takes new values to the release', async () => {
    await deliver({ spec: { values: { replicaCount: 1 } } });
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await deliver({ source: '1.2', intentId: 'int-2', spec: { values: { ui: { color: 'blue' } } } });
    await until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect((await cluster.api.get<HelmRelease>(release))?.spec.values).toEqual({ ui: { color: 'blue' } });
  });

  it('reports an intent that changes nothing visible, by its source alone', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await deliver({ source: '1.2', intentId: 'int-2' });
    await until('int-2', 'Ready', 'HelmReleaseReady');
    const last = operator.reported.at(-1);
    expect(last?.after).toEqual(last?.before);
    expect(last?.source).toMatchObject({ intentId: 'int-2', generation: 2 });
    expect(last?.sourceBefore).toMatchObject({ intentId: 'int-1' });
  });

  it('is Degraded with the words of the source when the version is in no registry', async () => {
    await deliver({ version: '6.9.9' });
    const live = await until('int-1', 'Degraded', 'SourceUnavailable');
    expect(conditionsOf(live)).toMatchObject({ Ready: 'False SourceUnavailable', Degraded: 'True SourceUnavailable' });
    expect(findCondition(live.status?.conditions, 'Degraded')?.message).toMatch(
      /^the chart cannot be fetched: .*6\.9\.9/,
    );
    await deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    expect(conditionsOf(await until('int-2', 'Ready', 'HelmReleaseReady'))).toEqual(installed);
  });

  it('is Stalled when the catalog does not allow it, writes nothing downstream, and goes on once it does', async () => {
    await deliver({ version: '7.0.0' });
    await until('int-1', 'Stalled', 'ChartNotAllowed');
    expect(await cluster.api.get(release)).toBeUndefined();
    expect(await cluster.api.get(ociRepository)).toBeUndefined();
    const [entry] = aPolicy().catalogEntries;
    if (entry === undefined) throw new Error('no entry');
    operator.allow(aPolicy({ catalogEntries: [{ ...entry, versions: '*' }] }));
    await until('int-1', 'Degraded', 'SourceUnavailable');
    expect(findCondition((await read()).status?.conditions, 'Stalled')).toMatchObject({ status: 'False' });
  });

  it('moves to another kind of source without losing the release, and cleans up the old source', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    const uid = (await cluster.api.get(release))?.metadata.uid;
    const chart = { type: 'helm', url: HELM_URL, name: 'podinfo' } as const;
    operator.allow(aPolicy({ catalogEntries: [{ entry: 'podinfo', chart, versions: '*' }] }));
    await deliver({ source: '1.2', intentId: 'int-2', spec: { chart: { ...chart, version: '6.6.1' } } });
    await until('int-2', 'Ready', 'HelmReleaseUpgraded');
    await untilGone(ociRepository);
    expect((await cluster.api.get<HelmRepository>(helmRepository))?.spec.url).toBe(HELM_URL);
    const moved = await cluster.api.get<HelmRelease>(release);
    expect(moved?.metadata.uid).toBe(uid);
    expect(moved?.spec.chartRef).toBeUndefined();
    expect(moved?.spec.chart?.spec).toMatchObject({ chart: 'podinfo', version: '6.6.1' });
  });

  it('takes back an edit by hand of the release it made', async () => {
    await deliver({ spec: { values: { replicaCount: 2 } } });
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await cluster.api.mergePatch(release, { spec: { values: { replicaCount: 50 }, serviceAccountName: 'admin' } });
    await vi.waitFor(async () => {
      const { values, serviceAccountName } = (await cluster.api.get<HelmRelease>(release))?.spec ?? {};
      expect({ values, serviceAccountName }).toEqual({
        values: { replicaCount: 2 },
        serviceAccountName: 'service-applications',
      });
    });
  });

  it('does not touch a release of its name that someone else made', async () => {
    const theirs = { ...release, metadata: { ...names }, spec: { interval: '1h', suspend: true } };
    await cluster.api.create<KubeObject>(theirs, 'someone');
    const before = await cluster.api.get(release);
    await deliver();
    const live = await until('int-1', 'Stalled', 'ReleaseNotOwned');
    expect(findCondition(live.status?.conditions, 'Stalled')?.message).toContain('HelmRelease shop/podinfo exists');
    await uninstall();
    await untilGone(refOf(anInstance()));
    const after = await cluster.api.get<HelmRelease>(release);
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
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await uninstall();
    await untilGone(refOf(anInstance()));
    expect(await cluster.api.get(release)).toBeUndefined();
    expect(await cluster.api.get({ apiVersion: 'apps/v1', kind: 'Deployment', ...names })).toBeUndefined();
    await untilGone(ociRepository);
    const ofEnd = operator.story.filter((line) => line.startsWith('int-9'));
    expect(ofEnd[0]).toMatch(/Ready=False\/Uninstalling Reconciling=True\/Uninstalling/);
    expect(ofEnd.at(-1)).toMatch(/Ready=False\/Uninstalled Reconciling=False\/Uninstalled/);
  });

  it('by hand keeps the release and says so, and the next delivery takes it up again', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    const uid = (await cluster.api.get(release))?.metadata.uid;
    await cluster.api.delete(refOf(anInstance()));
    await untilGone(refOf(anInstance()));
    expect((await cluster.api.get(release))?.metadata.uid).toBe(uid);
    expect(operator.story.at(-1)).toMatch(/^int-1: Ready=False\/Orphaned/);
    expect(operator.events.at(-1)).toMatch(/^Warning Orphaned: .*deleted by hand, without a tombstone/);
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    const kept = await cluster.api.get<HelmRelease>(release);
    expect([kept?.metadata.uid, kept?.status?.history?.[0]?.version]).toEqual([uid, 1]);
  });

  it('by tombstone with deletionPolicy Orphan keeps the release', async () => {
    await deliver({ spec: { deletionPolicy: 'Orphan' } });
    await until('int-1', 'Ready', 'HelmReleaseReady');
    await uninstall();
    await untilGone(refOf(anInstance()));
    expect(await cluster.api.get(release)).toBeDefined();
    expect(operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Orphaned/);
  });
});

describe('the controller', () => {
  it('writes nothing when looked at again with nothing new, nor after a restart', async () => {
    await deliver();
    await until('int-1', 'Ready', 'HelmReleaseReady');
    for (const turn of ['again', 'restarted']) {
      await operator[Symbol.asyncDispose]();
      operator = await startOperator(cluster.api);
      await operator.reconciler.synced();
      operator.allow(aPolicy());
      // A second instance goes all the way through behind it in the queue.
      await cluster.api.apply(anInstance({ name: `behind-${turn}` }), { fieldManager: 'service-operator' });
      await vi.waitFor(() => expect(operator.story.filter((line) => line.includes('Ready=True'))).toHaveLength(1));
      expect(operator.recording.writes.filter((write) => write.includes('shop/podinfo'))).toEqual([]);
    }
    const snapshot = operator.reconciler
      .snapshot()
      .map(({ ref, before, source }) => [ref.name, before, source.intentId]);
    expect(snapshot).toContainEqual(['podinfo', [], 'int-1']);
  });

  it('stops all writes while paused, that of the status included', async () => {
    await cluster.api.create(aNamespace('yard'), 'test');
    operator.allow(aPolicy({ allowedNamespaces: ['shop', 'yard'] }));
    const paused = (value: string | null) => ({ metadata: { annotations: { 'ops.service.io/paused': value } } });
    const shop = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
    await cluster.api.mergePatch(shop, paused('true'));
    await deliver();
    await cluster.api.apply(anInstance({ namespace: 'yard' }), { fieldManager: 'service-operator' });
    await vi.waitFor(() => expect(operator.story.at(-1)).toContain('Ready=True'), { timeout: 8000 });
    expect(operator.recording.writes.filter((write) => write.includes('shop/podinfo'))).toEqual([]);
    await cluster.api.mergePatch(shop, paused(null));
    await until('int-1', 'Ready', 'HelmReleaseReady');
  });

  it('ends up the same wherever it is killed: installed, upgraded, uninstalled, with the UIDs kept', async () => {
    const lifeOf = async (after: number): Promise<boolean> => {
      let died = false;
      let left = after;
      const beforeWrite = (): void => {
        left -= 1;
        died ||= left < 0;
        if (died) throw new Error('killed');
      };
      await operator[Symbol.asyncDispose]();
      operator = await startOperator(cluster.api, { beforeWrite });
      return await vi.waitFor(
        async () => {
          if (died) return true;
          const live = await cluster.api.get<ApplicationInstance>(refOf(anInstance()));
          const isDone =
            live === undefined ||
            (findCondition(live.status?.conditions, 'Ready')?.status === 'True' &&
              live.status?.observedGeneration === live.metadata.generation);
          expect(isDone).toBe(true);
          return false;
        },
        { timeout: 8000, interval: 2 },
      );
    };
    const live = async (): Promise<void> => {
      for (let after = 0; await lifeOf(after); after += 1) expect(after).toBeLessThan(30);
    };
    await deliver();
    await live();
    const uid = (await cluster.api.get(release))?.metadata.uid;
    await deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { a: 1 } } });
    await live();
    expect((await read()).status?.release?.chartVersion).toBe('6.6.1');
    expect((await cluster.api.get(release))?.metadata.uid).toBe(uid);
    await uninstall();
    await live();
    expect(await cluster.api.get(release)).toBeUndefined();
    expect(await cluster.api.get(refOf(anInstance()))).toBeUndefined();
    expect(operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Uninstalled/);
  });

  it('says that Flux is missing, goes on once it is there, and never waits for it to let go of an instance', async () => {
    await operator[Symbol.asyncDispose]();
    await flux[Symbol.asyncDispose]();
    const crd = (name: string): ObjectRef => ({
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      name,
    });
    await cluster.api.delete(crd('helmreleases.helm.toolkit.fluxcd.io'));
    await untilGone(crd('helmreleases.helm.toolkit.fluxcd.io'));
    // Which kinds a server has is asked again after a while only; this clock lets that while pass at once.
    let skew = 0;
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: cluster.sandbox.kubeconfig() },
      userAgent: 'test',
      clock: { ...systemClock, now: () => new Date(Date.now() + skew) },
      random: Math.random,
    });
    operator = await startOperator(api);
    await deliver();
    const live = await until('int-1', 'Stalled', 'ReleaseControllerMissing');
    expect(findCondition(live.status?.conditions, 'Stalled')?.message).toContain('install Flux');
    for (const definition of fluxCrds()) await cluster.api.apply(definition, { fieldManager: 'flux' });
    skew = 3_600_000;
    await until('int-1', 'Ready', 'HelmReleaseInstalling');
    await cluster.api.delete(crd('helmreleases.helm.toolkit.fluxcd.io'));
    await uninstall();
    await untilGone(refOf(anInstance()));
    await operator[Symbol.asyncDispose]();
  });
});

describe('an Operation', () => {
  it('is told at once that this version does not run it', async () => {
    await cluster.api.apply(
      {
        ...{ apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation' },
        metadata: { ...anInstance({ name: 'restart' }).metadata },
        spec: { template: 'rollout-restart' },
      },
      { fieldManager: 'service-operator' },
    );
    await vi.waitFor(() =>
      expect(operator.story).toEqual(['int-1: Accepted=False/TemplateNotSupported Blocked=True/TemplateNotSupported']),
    );
  });
});
