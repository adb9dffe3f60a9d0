import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { releaseReconcileRunner } from '../../../../src/reconcile/operation/runners/release-reconcile.ts';
import type { OperationRun } from '../../../../src/reconcile/operation/template-runner.ts';
import type { HelmRelease } from '../../../../src/resources/flux-helm-release.ts';
import { instance, ociRepository, release, setStage, type Stage } from '../../application-instance/stage.ts';
import { startTestCluster } from '../../test-cluster.ts';
import { anInstance } from '../../manifests.ts';
import { aRun, RunStage, wordsOf, type RunOptions } from './run-stage.ts';

const REQUEST = 'reconcile.fluxcd.io/requestedAt';
const TOKEN = '2026-03-01T10:00:00.000Z op-uid';
let stage: Stage;
let reconcile: RunStage;

beforeEach(async () => {
  stage = await setStage();
  reconcile = new RunStage(releaseReconcileRunner, stage.cluster.api);
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

function toLook(options: RunOptions = {}): OperationRun {
  const { parameters, ...rest } = options;
  return aRun({ name: 'look', ...rest, parameters: { application: 'podinfo', ...parameters } });
}

async function installed(): Promise<void> {
  await stage.deliver();
  await stage.until('int-1', 'Ready', 'HelmReleaseReady');
}

async function flux(): Promise<HelmRelease> {
  const found = await stage.cluster.api.get<HelmRelease>(release);
  if (found === undefined) throw new Error('there is no HelmRelease');
  return found;
}

describe('a reconcile of a release', () => {
  it('has Flux look at chart and release, once, and says what it found', async () => {
    await installed();
    const run = toLook();
    await expect(reconcile.outcome(run)).resolves.toMatch(
      /^succeeded ReleaseReconciled: HelmRelease shop\/podinfo: Helm install succeeded for release shop\/podinfo\.v1/,
    );
    const { metadata, status } = await flux();
    expect(metadata.annotations).toMatchObject({ [REQUEST]: TOKEN, 'ops.service.io/last-reconcile': TOKEN });
    expect(metadata.annotations).not.toHaveProperty('reconcile.fluxcd.io/forceAt');
    expect(status).toMatchObject({ lastHandledReconcileAt: TOKEN });
    expect(status?.history).toHaveLength(1);
    expect((await stage.cluster.api.get(ociRepository))?.metadata.annotations?.[REQUEST]).toBe(TOKEN);
    await reconcile.start(run);
    expect((await flux()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it('makes one upgrade where it is forced, however often it is begun', async () => {
    await installed();
    const run = toLook({ parameters: { force: true } });
    for (let time = 0; time < 3; time += 1)
      await expect(reconcile.outcome(run)).resolves.toContain('ReleaseReconciled');
    expect((await flux()).status).toMatchObject({
      lastHandledForceAt: TOKEN,
      history: [{ version: 2 }, { version: 1 }],
    });
  });

  it('forgets failures where it is told to, and fails where the release fails again', async () => {
    await installed();
    await stage.deliver({ source: '1.2', intentId: 'int-2', spec: { values: { replicaCount: -1 } } });
    await stage.until('int-2', 'Degraded', 'HelmReleaseUpgradeFailed');
    await expect(reconcile.outcome(toLook({ parameters: { reset: true } }))).resolves.toMatch(
      /^failed ReleaseNotReconciled \(final\): HelmRelease shop\/podinfo: Helm upgrade failed .*must be greater than or equal to 0/,
    );
    expect((await flux()).status).toMatchObject({
      upgradeFailures: 1,
      lastHandledResetAt: TOKEN,
      history: [{ version: 3 }, {}, {}],
    });
  });

  it('waits until Flux has answered, and takes the answer to a later request for one', async () => {
    await installed();
    await stage.flux[Symbol.asyncDispose]();
    const run = toLook();
    await reconcile.start(run);
    expect(wordsOf(await reconcile.observe(run))).toBe('running: waits until Flux looks at HelmRelease shop/podinfo');
    await stage.cluster.api.mergePatch(release, { metadata: { annotations: { [REQUEST]: 'by flux' } } });
    const answered = { subresource: 'status' } as const;
    await stage.cluster.api.mergePatch(release, { status: { lastHandledReconcileAt: 'by flux' } }, answered);
    await expect(reconcile.observe(run)).resolves.toMatchObject({ state: 'succeeded' });
  });

  it('keeps its mark through a pass of the operator', async () => {
    await installed();
    await reconcile.outcome(toLook());
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect((await flux()).metadata.annotations).toMatchObject({ 'ops.service.io/last-reconcile': TOKEN });
    await expect(reconcile.observe(toLook())).resolves.toMatchObject({ state: 'succeeded' });
  });

  it.for([
    [
      'by its spec',
      'ApplicationInstance shop/podinfo is suspended (spec.suspend); send an update intent with suspend: false first',
    ],
    ['at Flux', 'HelmRelease shop/podinfo is suspended; resume it with: flux resume helmrelease podinfo -n shop'],
  ])('is not asked of an application that is suspended %s', async ([where, said]) => {
    await installed();
    if (where === 'at Flux') {
      await stage.operator[Symbol.asyncDispose]();
      await stage.cluster.api.mergePatch(release, { spec: { suspend: true } });
    } else {
      await stage.deliver({ source: '1.2', intentId: 'int-2', spec: { suspend: true } });
      await stage.until('int-2', 'Ready', 'Suspended');
    }
    await expect(reconcile.outcome(toLook())).resolves.toBe(`failed ReleaseNotReconciled (final): ${said}`);
    expect((await flux()).metadata.annotations).not.toHaveProperty([REQUEST]);
  });

  it('says of an application that it is not there, or that nothing of it runs', async () => {
    await expect(reconcile.outcome(toLook())).resolves.toBe(
      'failed TargetNotFound (final): ApplicationInstance shop/podinfo is not there',
    );
    await stage.operator[Symbol.asyncDispose]();
    await stage.deliver();
    await expect(reconcile.outcome(toLook())).resolves.toBe(
      'failed ReleaseNotReconciled (final): ApplicationInstance shop/podinfo has no HelmRelease yet: nothing of it runs',
    );
  });

  it('writes nothing to an application that is paused', async () => {
    await installed();
    await stage.cluster.api.mergePatch(instance, { metadata: { annotations: { 'ops.service.io/paused': 'true' } } });
    const before = (await stage.read()).metadata.annotations;
    await expect(reconcile.start(toLook())).resolves.toMatch(/^failed Paused \(final\): .*ops\.service\.io\/paused/);
    expect((await stage.read()).metadata.annotations).toEqual(before);
  });

  it("leaves a HelmRelease of somebody else's alone", async () => {
    await stage.operator[Symbol.asyncDispose]();
    await stage.deliver();
    const theirs = {
      apiVersion: release.apiVersion,
      kind: release.kind,
      metadata: { namespace: 'shop', name: 'podinfo' },
    };
    await stage.cluster.api.create({ ...theirs, spec: { interval: '1m' } }, 'test');
    await expect(reconcile.outcome(toLook())).resolves.toMatch(
      /^failed ReleaseNotOwned \(final\): HelmRelease shop\/podinfo was not made/,
    );
  });
});

it('a reconcile where Flux is not installed says so', async () => {
  await using cluster = await startTestCluster();
  for (const name of ['helmreleases.helm.toolkit.fluxcd.io']) {
    await cluster.api.delete({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name });
  }
  await cluster.api.create(anInstance(), 'test');
  await vi.waitFor(
    async () =>
      expect(await new RunStage(releaseReconcileRunner, cluster.api).start(toLook())).toMatch(
        /^failed ReleaseControllerMissing \(final\): the cluster does not serve Flux' kinds; install Flux/,
      ),
    30_000,
  );
});
