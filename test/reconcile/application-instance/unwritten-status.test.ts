import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KubeError } from '../../../src/kube/cluster-api.ts';
import type { HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { anInstance } from '../manifests.ts';
import type { Recorded } from '../recording-api.ts';
import { conditionsOf, instance, release, setStage, type Stage } from './stage.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const SENTENCE = 'taken out of service on the wish of the shop team, see the ticket that they wrote; '.repeat(3);

function refuseStatus({ about }: Recorded): void {
  if (about !== 'ApplicationInstance shop/podinfo#status') return;
  throw new KubeError('status.release.appVersion: Too long', { status: 422, reason: 'Invalid' });
}

describe('what a status cannot hold', () => {
  it('a sentence as tombstone ends the instance, and is no intent', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.uninstall(SENTENCE);
    await stage.untilGone(release);
    await stage.untilGone(instance);
    expect(stage.operator.story.at(-1)).toMatch(/^\?: Ready=False\/Uninstalled/);
  });

  it('an intent id of 5,000 characters is left out of status and reports, and the release runs', async () => {
    await stage.deliver({ intentId: 'i'.repeat(5000) });
    await vi.waitFor(async () => {
      expect(conditionsOf(await stage.read())).toMatchObject({ Ready: 'True HelmReleaseReady' });
    }, 30_000);
    expect((await stage.read()).status?.source?.intentId).toBeUndefined();
    expect(new Set(stage.operator.reported.map(({ source }) => source.intentId))).toEqual(new Set([undefined]));
  });

  it('what a chart and Flux say is cut to what fits', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.flux[Symbol.asyncDispose]();
    const made = await stage.cluster.api.get<HelmRelease>(release);
    const [latest] = made?.status?.history ?? [];
    const generation = made?.metadata.generation ?? 0;
    const failed = {
      history: [{ ...latest, appVersion: 'v'.repeat(400) }],
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'RollbackSucceeded',
          message: 'no '.repeat(10_922),
          observedGeneration: generation,
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
        {
          type: 'Released',
          status: 'False',
          reason: 'UpgradeFailed',
          message: 'because '.repeat(4000),
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    };
    await stage.cluster.api.mergePatch(release, { status: failed }, { subresource: 'status' });
    const live = await stage.until('int-1', 'Degraded', 'HelmReleaseRolledBack');
    expect(findCondition(live.status?.conditions, 'Degraded')?.message).toHaveLength(32_768);
    expect(live.status?.release?.appVersion).toBe(`${'v'.repeat(255)}…`);
  });
});

describe('a status that the server does not take', () => {
  it('does not keep the instance: it is uninstalled, told of once, and let go', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.restart({ beforeWrite: refuseStatus });
    await stage.uninstall();
    await stage.untilGone(release);
    await stage.untilGone(instance);
    const ends = stage.operator.story.filter((line) => line.includes('Ready=False/Uninstalled'));
    expect(ends).toHaveLength(1);
    expect(ends[0]).toMatch(/^int-9: /);
  });

  it('does not keep it either when the server breaks over the status alone', async () => {
    await stage.cluster.api.apply(anInstance(), { fieldManager: 'service-operator' });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.restart({
      beforeWrite: ({ about }) => {
        if (!about.endsWith('#status')) return;
        throw new KubeError('failed calling webhook "status.example.com"', { status: 500, reason: 'InternalError' });
      },
    });
    await stage.uninstall();
    await stage.untilGone(instance);
    expect(stage.operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Uninstalled/);
  });

  it('is tried again later each time, and written once the server takes it', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    let refusals = 0;
    await stage.restart({
      beforeWrite: (write) => {
        if (refusals < 1 && write.about.endsWith('#status')) {
          refusals += 1;
          refuseStatus(write);
        }
      },
    });
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1' });
    await stage.until('int-2', 'Ready', 'HelmReleaseUpgraded');
    expect(refusals).toBe(1);
  });
});
