import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApplyLoop } from '../../src/reconcile/apply-loop.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { setApplyStage } from './apply-stage.ts';
import { instance, ociRepository, release, setStage, type Stage } from './application-instance/stage.ts';
import { aPolicy, file, stone } from './manifests.ts';
import { logger } from './test-cluster.ts';

const shop = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };

describe('an uninstall in a namespace that has lost its label', () => {
  it('writes nothing, says why, and goes on when the label is back', async () => {
    await using stage = await setApplyStage();
    await stage.apply({ objects: [file()] });
    await stage.cluster.api.mergePatch(shop, { metadata: { labels: { 'managed-by': null } } });
    stage.recording.forget();
    const report = await stage.apply({ removals: [stone()] });
    const said = [...report.outcomes.values()];
    expect(said).toMatchObject([{ state: 'refused', reason: 'NamespaceNotLabelled' }]);
    expect(said[0]).toHaveProperty(
      'message',
      expect.stringContaining('kubectl label namespace shop managed-by=service'),
    );
    expect(report.retryable).toBe(true);
    expect(stage.recording.writes).toEqual([]);
    expect(stage.reported).toEqual([]);
    const live = await stage.read();
    expect(live?.metadata.deletionTimestamp).toBeUndefined();
    expect(live?.metadata.annotations).not.toHaveProperty('app.service.io/tombstone');

    await stage.cluster.api.mergePatch(shop, { metadata: { labels: { 'managed-by': 'service' } } });
    const next = await stage.apply({ removals: [stone()] });
    expect([...next.outcomes.values()]).toMatchObject([{ state: 'deleted' }]);
    expect(await stage.read()).toBeUndefined();
  });
});

describe('an uninstall of an instance that was deleted by hand before it', () => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await setStage();
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
  });
  afterEach(async () => {
    await stage[Symbol.asyncDispose]();
  });

  /** A pass over the tombstone; answers what was reported of it. */
  async function pass(): Promise<readonly unknown[]> {
    const { inventory, recording } = stage.operator;
    const said: unknown[] = [];
    const loop = createApplyLoop({
      api: recording.api,
      inventory,
      clock: systemClock,
      logger,
      policy: () => aPolicy(),
      reporter: { statusChanged: ({ after, source }) => void said.push([source.intentId, after[0]]) },
    });
    const set = { revision: 'r', scope: 'complete', objects: [], removals: [stone()], faults: [] } as const;
    await loop.apply(set, new AbortController().signal);
    return said;
  }

  it('names what stays and how to end it, once, and leaves it alone', async () => {
    await stage.cluster.api.delete(instance);
    await stage.untilGone(instance);
    const message =
      'the object is not in the cluster any more; what was made of it stays: HelmRelease shop/podinfo, OCIRepository ' +
      'shop/podinfo; to uninstall that too: kubectl -n shop delete helmrelease/podinfo ocirepository/podinfo';
    expect(await pass()).toMatchObject([['int-9', { type: 'Ready', status: 'False', reason: 'Orphaned', message }]]);
    expect(await pass()).toEqual([]);
    expect(await stage.cluster.api.get(release)).toBeDefined();
    expect(await stage.cluster.api.get(ociRepository)).toBeDefined();
  });

  it('names a source that stayed alone, and nothing of other instances or of people', async () => {
    await stage.cluster.api.delete(instance);
    await stage.untilGone(instance);
    await stage.cluster.api.delete(release);
    await stage.untilGone(release);
    const spec = { interval: '10m', chartRef: { kind: 'OCIRepository', name: 'x' } };
    const byHand: KubeObject = { ...HELM_RELEASE, metadata: { name: 'podinfo', namespace: 'shop' }, spec };
    await stage.cluster.api.create(byHand, 'kubectl');
    const [said] = await pass();
    expect(said).toMatchObject([
      'int-9',
      {
        reason: 'Orphaned',
        message: expect.stringContaining('what was made of it stays: OCIRepository shop/podinfo; to'),
      },
    ]);
  });

  it('says Uninstalled where nothing is left', async () => {
    await stage.uninstall('int-8');
    await stage.untilGone(instance);
    expect(await pass()).toMatchObject([['int-9', { reason: 'Uninstalled' }]]);
  });

  it('says how to look where the operator may not', async () => {
    await stage.cluster.api.delete(instance);
    await stage.untilGone(instance);
    stage.cluster.sandbox.faults.add({
      match: ({ method, path }) => method === 'GET' && path.endsWith('/shop/helmreleases'),
      respond: {
        status: 403,
        body: JSON.stringify({
          kind: 'Status',
          code: 403,
          reason: 'Forbidden',
          message: 'helmreleases.helm.toolkit.fluxcd.io is forbidden: User "x" cannot list resource "helmreleases"',
        }),
      },
    });
    const [said] = await pass();
    expect(said).toMatchObject([
      'int-9',
      {
        reason: 'Orphaned',
        message: expect.stringContaining('-l app.service.io/application-instance=podinfo'),
      },
    ]);
  });
});
