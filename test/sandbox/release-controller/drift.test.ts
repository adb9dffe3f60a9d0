import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conditionsOf, FluxStage } from './flux-stage.ts';

let stage: FluxStage;

beforeEach(async () => {
  stage = await FluxStage.set();
  await stage.start();
  await stage.ociRepository({ tag: '6.5.0' });
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'podinfo' };

async function install(mode: 'enabled' | 'warn' | 'disabled'): Promise<void> {
  await stage.helmRelease({ values: { replicaCount: 2 }, driftDetection: { mode } });
  await stage.untilRelease('Ready', 'InstallSucceeded');
}

async function driftEvents(): Promise<string[]> {
  return (await stage.events()).filter((event) => event.startsWith('Drift'));
}

describe('drift', () => {
  it('is reported and put right in mode enabled', async () => {
    await install('enabled');
    await stage.api.mergePatch(deployment, { spec: { replicas: 9 } });
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 2 } });
    expect(await driftEvents()).toEqual([
      'DriftDetected: Cluster state of release shop/podinfo.v1 has drifted from the desired state:\nDeployment/shop/podinfo changed (0 additions, 1 changes, 0 removals)',
      'DriftCorrected: Cluster state of release shop/podinfo.v1 has been corrected:\nDeployment/shop/podinfo configured',
    ]);
    expect(conditionsOf(await stage.release())).toEqual([
      'Ready: True InstallSucceeded',
      'Released: True InstallSucceeded',
    ]);
  });

  it('by a deletion is put right too', async () => {
    await install('enabled');
    await stage.api.delete(deployment);
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 2 } });
    expect((await driftEvents())[0]).toContain('Deployment/shop/podinfo removed');
  });

  it('is only reported in mode warn', async () => {
    await install('warn');
    await stage.api.mergePatch(deployment, { spec: { replicas: 9 } });
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 9 } });
    expect(await driftEvents()).toHaveLength(1);
  });

  it('is not looked for when disabled', async () => {
    await install('disabled');
    await stage.api.mergePatch(deployment, { spec: { replicas: 9 } });
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 9 } });
    expect(await driftEvents()).toEqual([]);
  });

  const hpa = {
    paths: ['/spec/replicas'],
    target: { group: 'apps', kind: 'Deploy.*', labelSelector: 'helm.sh/chart' },
  };

  it('of what a rule leaves alone is none, and stays as others set it when something else is put right', async () => {
    await stage.helmRelease({ values: { replicaCount: 2 }, driftDetection: { mode: 'enabled', ignore: [hpa] } });
    await stage.untilRelease('Ready', 'InstallSucceeded');
    await stage.api.mergePatch(deployment, { spec: { replicas: 9 } });
    await stage.controller?.detectDrift();
    expect(await driftEvents()).toEqual([]);
    await stage.api.mergePatch(deployment, { metadata: { labels: { 'app.kubernetes.io/name': 'other', mine: 'x' } } });
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({
      metadata: { labels: { 'app.kubernetes.io/name': 'podinfo', mine: 'x' } },
      spec: { replicas: 9 },
    });
    expect(await driftEvents()).toHaveLength(2);
  });

  it.each([
    { ...hpa.target, kind: 'Deploy' },
    { ...hpa.target, group: '', version: 'v2' },
    { name: 'podinf' },
    { namespace: 'blog' },
    { labelSelector: 'helm.sh/chart=other' },
    { annotationSelector: '!meta.helm.sh/release-name' },
  ])('is found where a rule is about something else: %j', async (target) => {
    const ignore = [{ paths: ['/spec/replicas'], target }];
    await stage.helmRelease({ values: { replicaCount: 2 }, driftDetection: { mode: 'enabled', ignore } });
    await stage.untilRelease('Ready', 'InstallSucceeded');
    await stage.api.mergePatch(deployment, { spec: { replicas: 9 } });
    await stage.controller?.detectDrift();
    expect(await stage.deployment()).toMatchObject({ spec: { replicas: 2 } });
  });

  it('is none when nothing changed, and then nothing is written', async () => {
    await install('enabled');
    const before = await stage.release();
    await stage.controller?.detectDrift();
    await stage.controller?.detectDrift();
    expect(await driftEvents()).toEqual([]);
    expect((await stage.release()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });
});
