import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HELM_REPOSITORY } from '../../../src/resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../../../src/resources/flux-oci-repository.ts';
import { demoCharts } from '../../../src/sandbox/release-controller/chart-shelf.ts';
import { conditionsOf, FluxStage, messageOf, PODINFO_URL } from './flux-stage.ts';

let stage: FluxStage;

beforeEach(async () => {
  stage = await FluxStage.set();
  await stage.start();
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const MISSING =
  'failed to determine artifact digest: GET https://ghcr.io/v2/stefanprodan/charts/podinfo/manifests/6.9.9: MANIFEST_UNKNOWN: manifest unknown';

function publishNewTag(): void {
  const [podinfo] = demoCharts();
  if (podinfo === undefined) throw new Error('the shelf is empty');
  stage.charts.publish({ ...podinfo, version: '6.9.9', appVersion: '6.9.9' });
}

describe('an OCIRepository', () => {
  it('fetches its tag, with the status that source-controller writes', async () => {
    await stage.ociRepository({ tag: '6.6.1' });
    const source = await stage.until('OCIRepository', 'Ready', 'Succeeded');
    const revision = expect.stringMatching(/^6\.6\.1@sha256:[0-9a-f]{64}$/) as string;
    expect(conditionsOf(source)).toEqual(['Ready: True Succeeded', 'ArtifactInStorage: True Succeeded']);
    expect(source.status).toMatchObject({ observedGeneration: 1, artifact: { revision } });
    const artifact = (source.status as { artifact: { revision: string } }).artifact.revision;
    expect(messageOf(source, 'Ready')).toBe(`stored artifact for digest '${artifact}'`);
    expect(source.metadata.finalizers).toEqual(['finalizers.fluxcd.io']);
  });

  it('resolves a range to the newest tag, and a digest to its chart', async () => {
    await stage.ociRepository({ semver: '>=6.5.0 <6.6.2' });
    const ranged = await stage.until('OCIRepository', 'Ready', 'Succeeded');
    const { revision, digest } = (ranged.status as { artifact: { revision: string; digest: string } }).artifact;
    expect(revision).toBe(`6.6.1@${digest}`);
    await stage.api.apply(
      {
        ...OCI_REPOSITORY,
        metadata: { name: 'pinned', namespace: 'shop' },
        spec: { url: PODINFO_URL, interval: '1m', ref: { digest } },
      },
      { fieldManager: 'test' },
    );
    const pinned = await stage.until('OCIRepository', 'Ready', 'Succeeded', 'pinned');
    expect(pinned.status).toMatchObject({ artifact: { revision: digest } });
  });

  it('says what the registry says when the tag is not there, keeps the old artifact, and heals by itself', async () => {
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.until('OCIRepository', 'Ready', 'Succeeded');
    await stage.ociRepository({ tag: '6.9.9' });
    const failed = await stage.until('OCIRepository', 'Ready', 'OCIArtifactPullFailed');
    expect(conditionsOf(failed)).toEqual([
      'Ready: False OCIArtifactPullFailed',
      'ArtifactInStorage: True Succeeded',
      'FetchFailed: True OCIArtifactPullFailed',
      'Reconciling: True ProgressingWithRetry',
    ]);
    expect(messageOf(failed, 'Ready')).toBe(MISSING);
    expect(failed.status).toMatchObject({
      observedGeneration: 1,
      artifact: { revision: expect.stringMatching(/^6\.5\.0@/) as string },
    });
    publishNewTag();
    const healed = await stage.until('OCIRepository', 'Ready', 'Succeeded');
    expect(conditionsOf(healed)).toEqual(['Ready: True Succeeded', 'ArtifactInStorage: True Succeeded']);
  });

  it('stalls at a URL that is none of a registry', async () => {
    await stage.ociRepository({ tag: '6.5.0' }, { url: 'https://ghcr.io/x' });
    const stalled = await stage.until('OCIRepository', 'Stalled', 'URLInvalid');
    expect(messageOf(stalled, 'Ready')).toBe(
      "URL validation failed for 'https://ghcr.io/x': URL must be in format 'oci://<domain>/<org>/<repo>'",
    );
  });

  it('goes when it is deleted', async () => {
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.until('OCIRepository', 'Ready', 'Succeeded');
    await stage.api.delete({ ...OCI_REPOSITORY, namespace: 'shop', name: 'podinfo' });
    await stage.find('OCIRepository', 'podinfo', (object) => object === undefined);
  });
});

describe('a HelmRelease waits', () => {
  it('for a source that is not there', async () => {
    await stage.helmRelease();
    const release = await stage.untilRelease('Ready', 'ArtifactFailed');
    expect(messageOf(release, 'Ready')).toBe(
      'could not get Source object: OCIRepository.source.toolkit.fluxcd.io "podinfo" not found',
    );
    // A server that defaults shows Flux' -1.
    expect(release.status?.observedGeneration ?? -1).toBe(-1);
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.untilRelease('Ready', 'InstallSucceeded');
  });

  it('for a source that has not fetched, with its words, and is installed as soon as it has', async () => {
    await stage.ociRepository({ tag: '6.9.9' });
    await stage.until('OCIRepository', 'Ready', 'OCIArtifactPullFailed');
    await stage.helmRelease();
    const release = await stage.untilRelease('Ready', 'SourceNotReady');
    expect(conditionsOf(release)).toEqual(['Ready: False SourceNotReady', 'Reconciling: True Progressing']);
    expect(messageOf(release, 'Ready')).toBe(`OCIRepository 'shop/podinfo' is not ready: ${MISSING}`);
    publishNewTag();
    await stage.untilRelease('Ready', 'InstallSucceeded');
  });

  it('but stays Ready with the old chart while its source fails to fetch a new tag', async () => {
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.helmRelease();
    await stage.untilRelease('Ready', 'InstallSucceeded');
    // One more pass, so that none is still on its way.
    await stage.controller?.detectDrift();
    await stage.ociRepository({ tag: '6.9.9' });
    await stage.until('OCIRepository', 'Ready', 'OCIArtifactPullFailed');
    expect(conditionsOf(await stage.release())).toContain('Ready: True InstallSucceeded');
  });

  it('for its dependency, and follows it at once', async () => {
    await stage.ociRepository({ tag: '6.5.0' });
    await stage.helmRelease({ dependsOn: [{ name: 'database' }] });
    const absent = await stage.untilRelease('Ready', 'DependencyNotReady');
    expect(messageOf(absent, 'Ready')).toBe(
      `unable to get 'shop/database' dependency: HelmRelease.helm.toolkit.fluxcd.io "database" not found`,
    );
    await stage.helmRelease({ values: { replicaCount: -1 } }, 'database');
    await stage.untilRelease('Stalled', 'RetriesExceeded', 'database');
    await stage.annotate({ 'reconcile.fluxcd.io/requestedAt': 'now' });
    await stage.find(
      'HelmRelease',
      'podinfo',
      (object) => object !== undefined && messageOf(object, 'Ready') === "dependency 'shop/database' is not ready",
    );
    await stage.helmRelease({ values: { replicaCount: 1 } }, 'database');
    await stage.untilRelease('Ready', 'InstallSucceeded');
  });

  it('for the Secret that holds its values, without a word of what other Secrets hold', async () => {
    await stage.ociRepository({ tag: '6.5.0' });
    const valuesFrom = [
      { kind: 'ConfigMap', name: 'defaults' },
      { kind: 'Secret', name: 'sealed', valuesKey: 'v' },
      { kind: 'Secret', name: 'maybe', optional: true },
    ] as const;
    const data = { 'values.yaml': 'replicaCount: 7\nimage: {repository: r, tag: t}\n' };
    await stage.api.create(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'defaults', namespace: 'shop' }, data },
      'test',
    );
    await stage.helmRelease({ valuesFrom: [...valuesFrom], values: { image: { tag: 'inline' } } });
    const waiting = await stage.untilRelease('Ready', 'ValuesError');
    const where = "Secret chart values reference 'shop/sealed' with key 'v'";
    expect(messageOf(waiting, 'Ready')).toBe(`could not resolve ${where}: Secret not found`);

    const sealed = (text: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'sealed', namespace: 'shop' },
      data: { v: Buffer.from(text).toString('base64') },
    });
    await stage.api.apply(sealed('{pa55word'), { fieldManager: 'test' });
    await stage.annotate({ 'reconcile.fluxcd.io/requestedAt': '1' });
    const broken = await stage.find(
      'HelmRelease',
      'podinfo',
      (object) => object?.status?.lastHandledReconcileAt === '1',
    );
    expect(JSON.stringify(broken)).not.toContain('pa55word');
    expect(broken && messageOf(broken, 'Ready')).toBe(`unable to read values from ${where}: not YAML`);

    await stage.api.apply(sealed('replicaCount: 9'), { fieldManager: 'test' });
    await stage.annotate({ 'reconcile.fluxcd.io/requestedAt': '2' });
    await stage.untilRelease('Ready', 'InstallSucceeded');
    expect(await stage.deployment()).toMatchObject({
      spec: { replicas: 9, template: { spec: { containers: [{ image: 'r:inline' }] } } },
    });
  });
});

describe('a chart of a Helm repository', () => {
  const repository = async (url: string): Promise<void> => {
    const metadata = { name: 'stable', namespace: 'shop' };
    await stage.api.apply({ ...HELM_REPOSITORY, metadata, spec: { interval: '5m', url } }, { fieldManager: 'test' });
  };
  const chart = (version: string) => ({
    chart: { spec: { chart: 'web-server', version, sourceRef: { kind: 'HelmRepository' as const, name: 'stable' } } },
  });

  it('is installed at the newest version of its range, which has no digest', async () => {
    await repository('https://charts.example.org/stable/');
    await stage.helmRelease(chart('2.x'));
    const release = await stage.untilRelease('Ready', 'InstallSucceeded');
    expect(release.status).toMatchObject({ lastAttemptedRevision: '2.2.0', history: [{ chartVersion: '2.2.0' }] });
    expect(release.status?.history?.[0]).not.toHaveProperty('ociDigest');
  });

  it('is upgraded when the repository gets a newer version in the range', async () => {
    await repository('https://charts.example.org/stable');
    await stage.helmRelease(chart('2.x'));
    await stage.untilRelease('Ready', 'InstallSucceeded');
    const web = demoCharts().find((each) => each.name === 'web-server');
    if (web !== undefined) stage.charts.publish({ ...web, version: '2.3.0' });
    const release = await stage.untilRelease('Ready', 'UpgradeSucceeded');
    expect(release.status?.lastAttemptedRevision).toBe('2.3.0');
  });

  it('waits for a version that is not there', async () => {
    await repository('https://charts.example.org/stable');
    await stage.until('HelmRepository', 'Ready', 'Succeeded', 'stable');
    await stage.helmRelease(chart('9.9.9'));
    const release = await stage.untilRelease('Ready', 'SourceNotReady');
    expect(messageOf(release, 'Ready')).toBe(
      "HelmChart 'shop/shop-podinfo' is not ready: invalid chart reference: failed to get chart version for remote reference: no 'web-server' chart with version matching '9.9.9' found",
    );
  });

  it('waits for a repository that cannot be fetched', async () => {
    await repository('https://charts.example.org/other');
    const failed = await stage.until('HelmRepository', 'Ready', 'IndexationFailed', 'stable');
    await stage.helmRelease(chart('2.x'));
    const release = await stage.untilRelease('Ready', 'SourceNotReady');
    expect(messageOf(release, 'Ready')).toBe(
      `HelmRepository 'shop/stable' is not ready: ${messageOf(failed, 'Ready')}`,
    );
  });
});
