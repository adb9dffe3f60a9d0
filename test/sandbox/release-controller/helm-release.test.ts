import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HELM_RELEASE } from '../../../src/resources/flux-helm-release.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { conditionsOf, FluxStage, historyOf, messageOf } from './flux-stage.ts';

let stage: FluxStage;

beforeEach(async () => {
  stage = await FluxStage.set();
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const WAIT = { timeout: 30_000, interval: 5 };
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const BAD =
  'Deployment.apps "podinfo" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0';

async function install(values: Record<string, unknown> = { replicaCount: 2 }): Promise<void> {
  await stage.start();
  await stage.ociRepository({ tag: '6.5.0' });
  await stage.helmRelease({ values });
  await stage.untilRelease('Ready', 'InstallSucceeded');
}

describe('a HelmRelease', () => {
  it('is installed, with the status that helm-controller writes', async () => {
    await stage.start({ clock: new ManualClock('2026-03-01T10:00:00.123Z') });
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.helmRelease({ values: { replicaCount: 2 }, serviceAccountName: 'service-applications' });
    const release = await stage.untilRelease('Ready', 'InstallSucceeded');
    const version = expect.stringMatching(/^6\.5\.0\+[0-9a-f]{12}$/) as string;
    const digest = expect.stringMatching(DIGEST) as string;
    const condition = {
      status: 'True',
      reason: 'InstallSucceeded',
      message: `Helm install succeeded for release shop/podinfo.v1 with chart podinfo@${release.status?.lastAttemptedRevision}`,
      observedGeneration: 1,
      lastTransitionTime: '2026-03-01T10:00:00Z',
    };
    expect(release.metadata.finalizers).toEqual(['finalizers.fluxcd.io']);
    expect(release.status).toEqual({
      observedGeneration: 1,
      storageNamespace: 'shop',
      lastAttemptedGeneration: 1,
      lastAttemptedRevision: version,
      lastAttemptedRevisionDigest: digest,
      lastAttemptedConfigDigest: digest,
      lastAttemptedReleaseAction: 'install',
      lastAttemptedReleaseActionDuration: '0s',
      conditions: [
        { type: 'Ready', ...condition },
        { type: 'Released', ...condition },
      ],
      history: [
        {
          name: 'podinfo',
          namespace: 'shop',
          version: 1,
          status: 'deployed',
          chartName: 'podinfo',
          chartVersion: version,
          appVersion: '6.5.0',
          configDigest: digest,
          digest,
          ociDigest: digest,
          firstDeployed: '2026-03-01T10:00:00Z',
          lastDeployed: '2026-03-01T10:00:00Z',
        },
      ],
    });
    expect(await stage.deployment()).toMatchObject({
      metadata: { annotations: { 'sandbox.service.io/applied-as': 'system:serviceaccount:shop:service-applications' } },
      spec: { replicas: 2, template: { spec: { containers: [{ image: 'example.org/podinfo:6.5.0' }] } } },
    });
    expect(await stage.events()).toContain(`InstallSucceeded: ${condition.message}`);
  });

  it('shows what is running while it runs', async () => {
    const clock = new ManualClock();
    await stage.start({ clock, timing: { installMs: 5_000 } });
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.helmRelease({ timeout: '90s' });
    const running = await stage.untilRelease('Ready', 'Progressing');
    expect(conditionsOf(running)).toEqual(['Ready: Unknown Progressing', 'Reconciling: True Progressing']);
    expect(messageOf(running, 'Ready')).toBe("Running 'install' action with timeout of 1m30s");
    expect(running.status).not.toHaveProperty('history');
    // The write is seen before the controller has come to its wait.
    await vi.waitFor(() => {
      clock.advance(5_000);
      expect(stage.seen('podinfo')?.status?.history).toHaveLength(1);
    }, WAIT);
    expect(historyOf(await stage.release())).toEqual(['v1 deployed 6.5.0']);
  });

  it('is upgraded when its source has another tag, although it did not change itself', async () => {
    await install();
    await stage.ociRepository({ tag: '6.6.1' });
    const release = await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(release.metadata.generation).toBe(1);
    expect(historyOf(release)).toEqual(['v2 deployed 6.6.1', 'v1 superseded 6.5.0']);
    expect(messageOf(release, 'Ready')).toBe(
      `Helm upgrade succeeded for release shop/podinfo.v2 with chart podinfo@${release.status?.lastAttemptedRevision}`,
    );
    expect(release.status?.history?.[0]).toMatchObject({ appVersion: '6.6.1' });
  });

  it('keeps one release to roll back to', async () => {
    await install();
    for (const tag of ['6.6.0', '6.6.1', '6.6.2']) {
      await stage.ociRepository({ tag });
      await stage.find('HelmRelease', 'podinfo', (object) => {
        const latest = object?.status as { history?: { appVersion?: string }[]; conditions?: { status: string }[] };
        return latest.history?.[0]?.appVersion === tag && latest.conditions?.[0]?.status === 'True';
      });
    }
    expect(historyOf(await stage.release())).toEqual(['v4 deployed 6.6.2', 'v3 superseded 6.6.1']);
  });

  it('stalls at values that the API server refuses, and comes back with good ones', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: -1 } });
    const failed = await stage.untilRelease('Stalled', 'RetriesExceeded');
    const revision = failed.status?.lastAttemptedRevision;
    expect(conditionsOf(failed)).toEqual([
      'Ready: False UpgradeFailed',
      'Released: False UpgradeFailed',
      'Stalled: True RetriesExceeded',
    ]);
    expect(messageOf(failed, 'Ready')).toBe(
      `Helm upgrade failed for release shop/podinfo with chart podinfo@${revision}: ${BAD}`,
    );
    expect(messageOf(failed, 'Stalled')).toBe('Failed to upgrade after 1 attempt(s)');
    expect(failed.status).toMatchObject({ observedGeneration: 2, failures: 1, upgradeFailures: 1 });
    expect(historyOf(failed)).toEqual(['v2 failed 6.5.0', 'v1 deployed 6.5.0']);
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 2 } });

    await stage.helmRelease({ values: { replicaCount: 3 } });
    const healed = await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(conditionsOf(healed)).toEqual(['Ready: True UpgradeSucceeded', 'Released: True UpgradeSucceeded']);
    expect(healed.status).not.toHaveProperty('upgradeFailures');
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 3 } });
  });

  it('is rolled back to the release before, with the values it had, after its last retry', async () => {
    await install();
    const upgrade = { remediation: { retries: 2, strategy: 'rollback' } } as const;
    await stage.helmRelease({ values: { replicaCount: -1 }, upgrade });
    const failed = await stage.untilRelease('Stalled', 'RetriesExceeded');
    expect(conditionsOf(failed)).toEqual([
      'Ready: False RollbackSucceeded',
      'Released: False UpgradeFailed',
      'Remediated: True RollbackSucceeded',
      'Stalled: True RetriesExceeded',
    ]);
    expect(messageOf(failed, 'Stalled')).toBe('Failed to upgrade after 3 attempt(s)');
    expect(messageOf(failed, 'Ready')).toMatch(
      /^Helm rollback to previous release shop\/podinfo\.v\d with chart podinfo@6\.5\.0\+\w{12} succeeded$/,
    );
    expect(failed.status).toMatchObject({ upgradeFailures: 3 });
    expect(historyOf(failed)[0]).toBe('v7 deployed 6.5.0');
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 2 } });

    // Back to what it was rolled back to: nothing is released, and all is well again.
    await stage.helmRelease({ values: { replicaCount: 2 }, upgrade });
    const healed = await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(historyOf(healed)[0]).toBe('v7 deployed 6.5.0');
    expect(conditionsOf(healed)).toEqual(['Ready: True UpgradeSucceeded', 'Released: True UpgradeSucceeded']);
  });

  it('is taken out again when its installation fails and retries are left, then stalls', async () => {
    await stage.start();
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.helmRelease({
      values: { replicaCount: -1 },
      install: { remediation: { retries: 1, remediateLastFailure: true } },
    });
    const failed = await stage.untilRelease('Stalled', 'RetriesExceeded');
    expect(conditionsOf(failed)).toEqual([
      'Ready: False UninstallSucceeded',
      'Released: False InstallFailed',
      'Remediated: True UninstallSucceeded',
      'Stalled: True RetriesExceeded',
    ]);
    expect(failed.status).toMatchObject({ installFailures: 2, observedGeneration: 1 });
    expect(await stage.deployment()).toBeUndefined();
  });

  it('is tried once more for a reset, and once for a force', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: -1 } });
    await stage.untilRelease('Stalled', 'RetriesExceeded');
    const at = { 'reconcile.fluxcd.io/requestedAt': '1', 'reconcile.fluxcd.io/forceAt': '1' };
    await stage.annotate(at);
    await stage.find('HelmRelease', 'podinfo', (object) => object?.status?.lastHandledReconcileAt === '1');
    await stage.find('HelmRelease', 'podinfo', (object) =>
      conditionsOf(object).includes('Stalled: True RetriesExceeded'),
    );
    expect((await stage.release()).status).toMatchObject({ upgradeFailures: 2, lastHandledForceAt: '1' });
    await stage.annotate({ 'reconcile.fluxcd.io/requestedAt': '2', 'reconcile.fluxcd.io/resetAt': '2' });
    await stage.find('HelmRelease', 'podinfo', (object) => object?.status?.lastHandledReconcileAt === '2');
    await stage.find('HelmRelease', 'podinfo', (object) =>
      conditionsOf(object).includes('Stalled: True RetriesExceeded'),
    );
    expect((await stage.release()).status).toMatchObject({ upgradeFailures: 1, lastHandledResetAt: '2' });
  });

  it('takes a reset or a force for one only with the request that carries its token', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: -1 } });
    await stage.untilRelease('Stalled', 'RetriesExceeded');
    const at = { 'reconcile.fluxcd.io/requestedAt': '1' };
    await stage.annotate({ ...at, 'reconcile.fluxcd.io/forceAt': '0', 'reconcile.fluxcd.io/resetAt': '0' });
    await stage.find('HelmRelease', 'podinfo', (object) => object?.status?.lastHandledReconcileAt === '1');
    const { status } = await stage.release();
    expect(status).toMatchObject({ upgradeFailures: 1, lastHandledForceAt: '0', lastHandledResetAt: '0' });
    expect(historyOf(await stage.release())).toHaveLength(2);
  });

  it('answers a request while suspended, and does nothing else', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: 5 }, suspend: true });
    await stage.annotate({ 'reconcile.fluxcd.io/requestedAt': '1' });
    await stage.find('HelmRelease', 'podinfo', (object) => object?.status?.lastHandledReconcileAt === '1');
    expect(historyOf(await stage.release())).toHaveLength(1);
  });

  it('is left alone while suspended', async () => {
    await install();
    const before = await stage.release();
    await stage.helmRelease({ values: { replicaCount: 5 }, suspend: true });
    await stage.ociRepository({ tag: '6.6.1' });
    await stage.until('OCIRepository', 'Ready', 'Succeeded');
    expect((await stage.release()).status).toEqual(before.status);
    await stage.helmRelease({ values: { replicaCount: 5 } });
    await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(historyOf(await stage.release())).toEqual(['v2 deployed 6.6.1', 'v1 superseded 6.5.0']);
  });

  it('is uninstalled before it goes', async () => {
    await install();
    await stage.api.delete({ ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' });
    await stage.untilGone();
    expect(await stage.deployment()).toBeUndefined();
  });

  it('leaves what it installed when it is deleted while suspended', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: 2 }, suspend: true });
    await stage.api.delete({ ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' });
    await stage.untilGone();
    expect(await stage.deployment()).toBeDefined();
  });

  it('goes even if it was never installed', async () => {
    await stage.start();
    await stage.helmRelease();
    await stage.untilRelease('Ready', 'ArtifactFailed');
    await stage.api.delete({ ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' });
    await stage.untilGone();
    expect(await stage.deployment()).toBeUndefined();
  });

  it('is not written again by a restarted controller when all is in sync', async () => {
    await install();
    const before = await stage.release();
    await stage.halt();
    await stage.start();
    await stage.controller?.detectDrift();
    expect((await stage.release()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('recovers when its controller was killed in the middle of an upgrade', async () => {
    await install();
    await stage.halt();
    const clock = new ManualClock();
    await stage.start({ clock, timing: { upgradeMs: 60_000 } });
    await stage.helmRelease({ values: { replicaCount: 4 } });
    await stage.untilRelease('Ready', 'Progressing');
    await stage.halt();
    await stage.start();
    const release = await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(historyOf(release)).toEqual(['v2 deployed 6.5.0', 'v1 superseded 6.5.0']);
  });

  it('takes its old release out when it is given another name', async () => {
    await install();
    await stage.helmRelease({ values: { replicaCount: 2 }, releaseName: 'web' });
    await stage.untilRelease('Ready', 'InstallSucceeded');
    await stage.find('HelmRelease', 'podinfo', (object) => object?.status?.observedGeneration === 2);
    expect(await stage.deployment()).toBeUndefined();
    expect(await stage.deployment('web')).toBeDefined();
    expect(historyOf(await stage.release())).toEqual(['v1 deployed 6.5.0']);
  });
});
