import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { ApplicationInstance } from '../../src/resources/application-instance.ts';
import { findCondition } from '../../src/resources/conditions.ts';
import type { ObjectRef } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { instance, release, setStage, type Stage } from './application-instance/stage.ts';
import { anInstance, aPolicy } from './manifests.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe('the controller', () => {
  it('writes nothing when looked at again with nothing new, nor after a restart', async () => {
    await stage.deliver();
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    for (const turn of ['again', 'restarted']) {
      await stage.restart();
      await stage.operator.reconciler.synced();
      stage.operator.allow(aPolicy());
      // A second instance goes all the way through behind it in the queue.
      await stage.cluster.api.apply(anInstance({ name: `behind-${turn}` }), { fieldManager: 'service-operator' });
      await vi.waitFor(
        () => expect(stage.operator.story.filter((line) => line.includes('Ready=True'))).toHaveLength(1),
        30_000,
      );
      expect(stage.operator.recording.writes.filter((write) => write.includes('shop/podinfo'))).toEqual([]);
    }
    const snapshot = stage.operator.reconciler
      .snapshot()
      .map(({ ref, before, source }) => [ref.name, before, source.intentId]);
    expect(snapshot).toContainEqual(['podinfo', [], 'int-1']);
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
      await stage.restart({ beforeWrite });
      return await vi.waitFor(
        async () => {
          if (died) return true;
          const live = await stage.cluster.api.get<ApplicationInstance>(instance);
          const isDone =
            live === undefined ||
            (findCondition(live.status?.conditions, 'Ready')?.status === 'True' &&
              live.status?.observedGeneration === live.metadata.generation);
          expect(isDone).toBe(true);
          return false;
        },
        { timeout: 30_000, interval: 2 },
      );
    };
    const live = async (): Promise<void> => {
      for (let after = 0; await lifeOf(after); after += 1) expect(after).toBeLessThan(30);
    };
    await stage.deliver();
    await live();
    const uid = (await stage.cluster.api.get(release))?.metadata.uid;
    await stage.deliver({ source: '1.2', intentId: 'int-2', version: '6.6.1', spec: { values: { a: 1 } } });
    await live();
    expect((await stage.read()).status?.release?.chartVersion).toBe('6.6.1');
    expect((await stage.cluster.api.get(release))?.metadata.uid).toBe(uid);
    await stage.uninstall();
    await live();
    expect(await stage.cluster.api.get(release)).toBeUndefined();
    expect(await stage.cluster.api.get(instance)).toBeUndefined();
    expect(stage.operator.story.at(-1)).toMatch(/^int-9: Ready=False\/Uninstalled/);
  });

  it('says that Flux is missing, goes on once it is there, and never waits for it to let go of an instance', async () => {
    await stage.operator[Symbol.asyncDispose]();
    await stage.flux[Symbol.asyncDispose]();
    const crd = (name: string): ObjectRef => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      name,
    });
    await stage.cluster.api.delete(crd('helmreleases.helm.toolkit.fluxcd.io'));
    await stage.untilGone(crd('helmreleases.helm.toolkit.fluxcd.io'));
    // Which kinds a server has is asked again after a while only; this clock lets that while pass at once.
    let skew = 0;
    await using api = connectCluster({
      kubeconfig: { kind: 'text', yaml: stage.cluster.sandbox.kubeconfig() },
      userAgent: 'test',
      clock: { ...systemClock, now: () => new Date(Date.now() + skew) },
      random: Math.random,
    });
    await stage.restart({ api });
    await stage.deliver();
    const live = await stage.until('int-1', 'Stalled', 'ReleaseControllerMissing');
    expect(findCondition(live.status?.conditions, 'Stalled')?.message).toContain('install Flux');
    for (const definition of fluxCrds()) await stage.cluster.api.apply(definition, { fieldManager: 'flux' });
    skew = 3_600_000;
    await stage.until('int-1', 'Ready', 'HelmReleaseInstalling');
    await stage.cluster.api.delete(crd('helmreleases.helm.toolkit.fluxcd.io'));
    await stage.uninstall();
    await stage.untilGone(instance);
    await stage.operator[Symbol.asyncDispose]();
  });
});

describe('an Operation', () => {
  it('of a template that is allowed and that nobody knows is told so at once', async () => {
    stage.operator.allow(aPolicy({ operationTemplates: ['mystery'] }));
    await stage.cluster.api.apply(
      {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        metadata: { ...anInstance({ name: 'restart' }).metadata },
        spec: { template: 'mystery' },
      },
      { fieldManager: 'service-operator' },
    );
    await vi.waitFor(
      () =>
        expect(stage.operator.story).toEqual([
          'int-1: Accepted=False/TemplateNotSupported Blocked=True/TemplateNotSupported Running=False/NotStarted ' +
            'Succeeded=False/NotReached Failed=False/NotReached Cancelled=False/NotReached',
        ]),
      30_000,
    );
  });
});
