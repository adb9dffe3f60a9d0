import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../src/protocol/condition.ts';
import { releaseVerdict } from '../../../src/reconcile/application-instance/release-verdict.ts';
import type { HelmRelease, HelmReleaseSnapshot, HelmReleaseStatus } from '../../../src/resources/flux-helm-release.ts';
import type { OciRepository } from '../../../src/resources/flux-oci-repository.ts';
import { anInstance } from '../manifests.ts';

const NOW = '2026-01-01T00:00:00Z';

function condition(type: string, status: 'True' | 'False' | 'Unknown', reason: string, message = reason): Condition {
  return { type, status, reason, message, lastTransitionTime: NOW };
}

function history(version: number, chartVersion: string, status = 'deployed'): HelmReleaseSnapshot {
  return {
    name: 'podinfo',
    namespace: 'shop',
    version,
    status,
    chartName: 'podinfo',
    chartVersion,
    appVersion: chartVersion.split('+')[0] ?? '',
    digest: 'sha256:1',
    configDigest: 'sha256:2',
    firstDeployed: NOW,
    lastDeployed: NOW,
  };
}

function aSource(status: OciRepository['status'] = {}, generation = 2): OciRepository {
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'OCIRepository',
    metadata: { name: 'podinfo', namespace: 'shop', generation },
    spec: { url: 'oci://registry.test/charts/podinfo', interval: '10m' },
    status: { observedGeneration: 2, conditions: [condition('Ready', 'True', 'Succeeded')], ...status },
  };
}

function aRelease(status: HelmReleaseStatus, spec: Partial<HelmRelease['spec']> = {}): HelmRelease {
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: { name: 'podinfo', namespace: 'shop', generation: 3 },
    spec: { interval: '10m', ...spec },
    status: { observedGeneration: 3, ...status },
  };
}

/** Short form of a verdict: what each condition would say. */
function judge(release: HelmRelease, source = aSource(), version = '6.6.1') {
  const { ready, reconciling, degraded, stalled } = releaseVerdict(anInstance({ version }), source, release);
  return {
    ready: `${ready.status} ${ready.reason}`,
    reconciling: `${reconciling.status} ${reconciling.reason}`,
    ...(degraded === undefined ? {} : { degraded: `${degraded.status} ${degraded.reason}` }),
    ...(stalled === undefined ? {} : { stalled: `${stalled.status} ${stalled.reason}` }),
    message: ready.message,
  };
}

const installing = {
  ready: 'False HelmReleaseInstalling',
  reconciling: 'True HelmReleaseInstalling',
  message: 'installing podinfo 6.6.1',
};
const upgrading = {
  ready: 'False HelmReleaseUpgrading',
  reconciling: 'True HelmReleaseUpgrading',
  message: 'upgrading 6.5.0 to podinfo 6.6.1',
};
const isReady = condition('Ready', 'True', 'UpgradeSucceeded');

describe('releaseVerdict', () => {
  it('is installing while Flux has said nothing', () => {
    const { status: _, ...bare } = aRelease({});
    expect(judge(bare)).toEqual(installing);
    const { status: __, ...source } = aSource();
    expect(judge(bare, source)).toEqual(installing);
  });

  it('is Ready after the first installation', () => {
    expect(judge(aRelease({ conditions: [isReady], history: [history(1, '6.6.1+0cc9a8446c95')] }))).toEqual({
      ready: 'True HelmReleaseReady',
      reconciling: 'False Stable',
      degraded: 'False Healthy',
      message: 'podinfo 6.6.1 runs as shop/podinfo, Helm revision 1',
    });
  });

  it('is Ready after an upgrade, with the reason of an upgrade and what runs', () => {
    const release = aRelease({
      conditions: [isReady],
      history: [history(2, '6.6.1'), history(1, '6.5.0', 'superseded')],
    });
    expect(judge(release).ready).toBe('True HelmReleaseUpgraded');
    expect(releaseVerdict(anInstance({ version: '6.6.1' }), aSource(), release).release).toEqual({
      chartVersion: '6.6.1',
      appVersion: '6.6.1',
      revision: 2,
    });
  });

  it('does not take the readiness of the version before for that of the wanted one', () => {
    expect(judge(aRelease({ conditions: [isReady], history: [history(1, '6.5.0')] }))).toEqual(upgrading);
  });

  it('does not believe a release that Flux has not looked at since it changed', () => {
    const behind = aRelease({ observedGeneration: 2, conditions: [isReady], history: [history(1, '6.6.1')] });
    expect(judge(behind)).toEqual({ ...upgrading, message: 'upgrading podinfo 6.6.1 to new settings' });
  });

  it('does not believe a source that Flux has not looked at since its tag changed', () => {
    const release = aRelease({ conditions: [isReady], history: [history(1, '6.5.0')] });
    expect(judge(release, aSource({}, 3))).toEqual(upgrading);
  });

  it('is Degraded with the words of the source when the chart is not there', () => {
    const message = 'failed to get artifact: MANIFEST_UNKNOWN: 6.6.1';
    const source = aSource({ conditions: [condition('Ready', 'False', 'OCIArtifactPullFailed', message)] });
    expect(judge(aRelease({ conditions: [isReady], history: [history(1, '6.5.0')] }), source)).toEqual({
      ready: 'False SourceUnavailable',
      reconciling: 'False SourceUnavailable',
      degraded: 'True SourceUnavailable',
      message: `the chart cannot be fetched: ${message}`,
    });
  });

  it('does not blame the wanted version for the missing tag before it', () => {
    const source = aSource({ conditions: [condition('Ready', 'False', 'OCIArtifactPullFailed')] }, 3);
    expect(judge(aRelease({ history: [history(1, '6.5.0')] }), source)).toEqual(upgrading);
  });

  it('reads a missing chart of a Helm repository off the release', () => {
    const message =
      "HelmChart 'shop/shop-podinfo' is not ready: no 'podinfo' chart with version matching '6.6.1' found";
    const release = aRelease({ conditions: [condition('Ready', 'False', 'SourceNotReady', message)] });
    expect(judge(release).degraded).toBe('True SourceUnavailable');
    const young = "HelmChart 'shop/shop-podinfo' is not ready: latest generation of object has not been reconciled";
    expect(judge(aRelease({ conditions: [condition('Ready', 'False', 'SourceNotReady', young)] }))).toEqual(installing);
  });

  it('is Degraded with Flux’ words when an upgrade failed, and Stalled when Flux has given up', () => {
    const message = 'Helm upgrade failed for release shop/podinfo: context deadline exceeded';
    const failed = {
      conditions: [condition('Ready', 'False', 'UpgradeFailed', message)],
      history: [history(2, '6.6.1', 'failed'), history(1, '6.5.0')],
      lastAttemptedRevision: '6.6.1+0cc9a8446c95',
      lastAttemptedReleaseAction: 'upgrade' as const,
    };
    const expected = {
      ready: 'False HelmReleaseUpgradeFailed',
      reconciling: 'False HelmReleaseUpgradeFailed',
      degraded: 'True HelmReleaseUpgradeFailed',
      message,
    };
    expect(judge(aRelease(failed))).toEqual(expected);
    const givenUp = [...failed.conditions, condition('Stalled', 'True', 'RetriesExceeded')];
    expect(judge(aRelease({ ...failed, conditions: givenUp }))).toEqual({
      ...expected,
      reconciling: 'False RetriesExhausted',
      stalled: 'True HelmReleaseUpgradeFailed',
    });
  });

  it('goes on Reconciling while Flux tries again, and believes the condition of the present generation', () => {
    const retrying = aRelease({
      observedGeneration: 2,
      conditions: [
        { ...condition('Ready', 'False', 'InstallFailed', 'no image'), observedGeneration: 3 },
        condition('Reconciling', 'True', 'ProgressingWithRetry'),
      ],
      lastAttemptedReleaseAction: 'install',
    });
    expect(judge(retrying)).toEqual({
      ready: 'False HelmReleaseInstallFailed',
      reconciling: 'True HelmReleaseInstalling',
      degraded: 'True HelmReleaseInstallFailed',
      message: 'no image',
    });
  });

  it('does not blame the wanted version for the failure of the one before', () => {
    const release = aRelease({
      conditions: [condition('Ready', 'False', 'UpgradeFailed', 'crash loop')],
      history: [history(2, '6.6.0', 'failed'), history(1, '6.5.0', 'superseded')],
      lastAttemptedRevision: '6.6.0',
    });
    expect(judge(release)).toEqual({ ...upgrading, message: 'upgrading 6.6.0 to podinfo 6.6.1' });
  });

  it('says why an upgrade was rolled back, not only that it was', () => {
    const release = aRelease({
      conditions: [
        condition('Ready', 'False', 'RollbackSucceeded', 'Helm rollback to 6.5.0 succeeded'),
        condition('Released', 'False', 'UpgradeFailed', 'crash loop'),
      ],
      history: [history(3, '6.5.0'), history(2, '6.6.1', 'failed')],
      lastAttemptedRevision: '6.6.1',
      lastAttemptedReleaseAction: 'upgrade',
    });
    expect(judge(release)).toMatchObject({
      ready: 'False HelmReleaseUpgradeFailed',
      degraded: 'True HelmReleaseRolledBack',
      message: 'crash loop',
    });
    expect(releaseVerdict(anInstance({ version: '6.6.1' }), aSource(), release).degraded?.message).toBe(
      'crash loop; then: Helm rollback to 6.5.0 succeeded',
    );
  });

  it('waits for a dependency without being Degraded', () => {
    const message = "dependency 'shop/db' is not ready";
    expect(judge(aRelease({ conditions: [condition('Ready', 'False', 'DependencyNotReady', message)] }))).toEqual({
      ready: 'False DependencyNotReady',
      reconciling: 'True HelmReleaseInstalling',
      message,
    });
  });

  it('keeps to why it failed while the next try is under way, and says of a remedy that failed', () => {
    const live = anInstance({ version: '6.6.1' });
    const before = condition('Ready', 'False', 'HelmReleaseUpgradeFailed', 'crash loop');
    live.metadata.generation = 4;
    live.status = { observedGeneration: 4, conditions: [before] };
    const trying = aRelease({
      conditions: [condition('Ready', 'Unknown', 'Progressing')],
      history: [history(3, '6.5.0')],
      failures: 1,
    });
    const { ready, reconciling } = releaseVerdict(live, aSource(), trying);
    expect(ready).toEqual({ status: 'False', reason: 'HelmReleaseUpgradeFailed', message: 'crash loop' });
    expect(reconciling).toMatchObject({ status: 'True', reason: 'HelmReleaseUpgrading' });
    live.status = { observedGeneration: 3, conditions: [before] };
    expect(releaseVerdict(live, aSource(), trying).ready.reason).toBe('HelmReleaseUpgrading');

    const stuck = aRelease({
      conditions: [
        condition('Ready', 'False', 'RollbackFailed', 'no rights'),
        condition('Released', 'False', 'UpgradeFailed', 'crash loop'),
      ],
      lastAttemptedRevision: '6.6.1',
      lastAttemptedReleaseAction: 'upgrade',
    });
    expect(releaseVerdict(live, aSource(), stuck).degraded).toEqual({
      status: 'True',
      reason: 'HelmReleaseFailed',
      message: 'crash loop; then: no rights',
    });
  });

  it('calls a failed test neither install nor upgrade', () => {
    const release = aRelease({
      conditions: [condition('Ready', 'False', 'TestFailed')],
      history: [history(1, '6.6.1')],
    });
    expect(judge(release).degraded).toBe('True HelmReleaseFailed');
  });

  it('is held by spec.suspend, and by a suspension that someone made in Flux', () => {
    const instance = anInstance({ version: '6.6.1', spec: { suspend: true } });
    expect(releaseVerdict(instance, aSource(), aRelease({})).reconciling).toEqual({
      status: 'False',
      reason: 'Suspended',
      message: 'spec.suspend is true; what runs keeps running',
    });
    const byHand = aRelease({}, { suspend: true });
    byHand.metadata.managedFields = [
      { manager: 'flux', operation: 'Update', apiVersion: 'v2', fieldsV1: { 'f:spec': { 'f:suspend': {} } } },
    ];
    expect(judge(byHand)).toEqual({
      ready: 'False HelmReleaseSuspended',
      reconciling: 'False HelmReleaseSuspended',
      message:
        'HelmRelease podinfo is suspended by flux, and not by spec.suspend; resume it with: flux resume helmrelease podinfo -n shop',
    });
  });

  it('knows a version by what it is, not by its build metadata', () => {
    const release = aRelease({ conditions: [isReady], history: [history(1, '1.0.0+abc')] });
    expect(judge(release, aSource(), '1.0.0+build.7').ready).toBe('True HelmReleaseReady');
  });
});
