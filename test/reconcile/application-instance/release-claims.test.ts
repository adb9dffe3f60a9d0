import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApplicationInstance } from '../../../src/resources/application-instance.ts';
import { findCondition } from '../../../src/resources/conditions.ts';
import { HELM_RELEASE, type HelmRelease } from '../../../src/resources/flux-helm-release.ts';
import { refOf } from '../../../src/resources/kube-object.ts';
import { anInstance } from '../manifests.ts';
import { setStage, type Stage } from './stage.ts';

let stage: Stage;

beforeEach(async () => {
  stage = await setStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const WAIT = { timeout: 30_000, interval: 5 };
const spec = { releaseName: 'web' };
const second = refOf(anInstance({ name: 'a-second' }));

async function said(name: string, type: string): Promise<string | undefined> {
  const live = await stage.cluster.api.get<ApplicationInstance>({ ...second, name });
  const condition = findCondition(live?.status?.conditions, type);
  return condition === undefined ? undefined : `${condition.status} ${condition.reason}: ${condition.message}`;
}

async function until(name: string, type: string, words: string): Promise<void> {
  await vi.waitFor(async () => expect(await said(name, type)).toContain(words), WAIT);
}

async function releases(): Promise<readonly string[]> {
  const { items } = await stage.cluster.api.list<HelmRelease>(HELM_RELEASE, { namespace: 'shop' });
  return items.map(({ metadata }) => metadata.name).sort();
}

describe('two instances that ask for one Helm release', () => {
  it('the later one is Stalled, names the other and makes nothing; when that is uninstalled it goes on', async () => {
    await stage.deliver({ spec });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    // First by name, but later: also in the same second.
    await stage.deliver({ name: 'a-second', spec });
    await until('a-second', 'Stalled', 'True ReleaseNotOwned');
    expect(await said('a-second', 'Stalled')).toBe(
      'True ReleaseNotOwned: Helm release web in namespace shop is that of ApplicationInstance shop/podinfo; nothing is ' +
        'made for it twice: uninstall one of the two, or make this resource anew with another spec.releaseName',
    );
    const made = stage.operator.recording.writes.filter((write) => write.includes('shop/a-second'));
    expect(new Set(made)).toEqual(
      new Set(['mergePatch ApplicationInstance shop/a-second', 'apply ApplicationInstance shop/a-second#status']),
    );
    await stage.restart();
    await until('podinfo', 'Ready', 'True HelmReleaseReady');
    expect(await releases()).toEqual(['podinfo']);
    await stage.uninstall();
    await until('a-second', 'Ready', 'True HelmReleaseReady');
    expect(await said('a-second', 'Stalled')).toContain('False Stable');
    expect(await releases()).toEqual(['a-second']);
  });

  it('also by the default name, and by the age that the server gives', async () => {
    await stage.operator[Symbol.asyncDispose]();
    await stage.deliver({ name: 'b-later', spec: { releaseName: 'podinfo', targetNamespace: 'shop' } });
    await stage.deliver({ name: 'c-other' });
    await stage.deliver();
    await stage.restart();
    await until('c-other', 'Ready', 'True HelmReleaseReady');
    const names = ['b-later', 'podinfo'];
    await vi.waitFor(async () => {
      const stalled = await Promise.all(names.map((name) => said(name, 'Stalled')));
      expect(stalled.filter((text) => text?.startsWith('True ReleaseNotOwned'))).toHaveLength(1);
    }, WAIT);
    expect((await releases()).filter((name) => names.includes(name))).toHaveLength(1);
  });

  it('waits for the HelmRelease that stays of one that was deleted by hand', async () => {
    await stage.deliver({ spec });
    await stage.until('int-1', 'Ready', 'HelmReleaseReady');
    await stage.cluster.api.delete(refOf(anInstance()));
    await stage.untilGone(refOf(anInstance()));
    await stage.deliver({ name: 'a-second', spec });
    await until('a-second', 'Stalled', 'True ReleaseNotOwned');
    expect(await said('a-second', 'Stalled')).toContain(
      'is that of HelmRelease shop/podinfo, which stayed when its ApplicationInstance was deleted; uninstall it with: ' +
        'kubectl delete helmrelease podinfo -n shop',
    );
    expect(await releases()).toEqual(['podinfo']);
  });
});
