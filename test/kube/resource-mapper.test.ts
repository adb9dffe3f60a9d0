import { describe, expect, it } from 'vitest';
import { ResourceMapper } from '../../src/kube/resource-mapper.ts';
import { ManualClock } from '../support/manual-clock.ts';

const FLUX = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' };

function stage(documents: Record<string, unknown>) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const discover = async (path: string): Promise<unknown> => {
    asked.push(path);
    return documents[path];
  };
  return { clock, asked, documents, mapper: new ResourceMapper({ discover, server: 'https://c', clock }) };
}

const core = {
  resources: [
    { name: 'pods', kind: 'Pod', namespaced: true },
    { name: 'pods/eviction', kind: 'Eviction', namespaced: true },
    { name: 'nodes', kind: 'Node', namespaced: false },
    { name: 5, kind: 'Broken' },
  ],
};
const helm = { resources: [{ name: 'helmreleases', kind: 'HelmRelease', namespaced: true }] };

describe('the resource mapper', () => {
  it('maps a kind by its discovery document, read once', async () => {
    const { mapper, asked } = stage({ '/api/v1': core, '/apis/helm.toolkit.fluxcd.io/v2': helm });
    const all = await Promise.all([
      mapper.map({ apiVersion: 'v1', kind: 'Pod' }),
      mapper.map({ apiVersion: 'v1', kind: 'Node' }),
    ]);
    expect(all).toEqual([
      { root: '/api/v1', plural: 'pods', namespaced: true },
      { root: '/api/v1', plural: 'nodes', namespaced: false },
    ]);
    expect(await mapper.map(FLUX)).toEqual({
      root: '/apis/helm.toolkit.fluxcd.io/v2',
      plural: 'helmreleases',
      namespaced: true,
    });
    expect(asked).toEqual(['/api/v1', '/apis/helm.toolkit.fluxcd.io/v2']);
  });

  it('ends no process by an answer that nobody waits for any more', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const discover = async (): Promise<unknown> => await Promise.reject(new Error('disposed of'));
    const mapper = new ResourceMapper({ discover, server: 'https://c', clock: new ManualClock() });
    await expect(mapper.map(FLUX, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('does not take a subresource for a kind', async () => {
    const { mapper } = stage({ '/api/v1': core });
    await expect(mapper.map({ apiVersion: 'v1', kind: 'Eviction' })).rejects.toMatchObject({
      status: 404,
      reason: 'KindNotFound',
      message: 'https://c does not serve Eviction of v1: it serves v1, but no kind Eviction',
    });
  });

  it('names the API that is missing, asks for it at most every 10 seconds, and finds it once it is there', async () => {
    const { mapper, asked, clock, documents } = stage({});
    const message =
      'https://c does not serve HelmRelease of helm.toolkit.fluxcd.io/v2: the API helm.toolkit.fluxcd.io/v2 is missing: install its CustomResourceDefinition';
    await expect(mapper.map(FLUX)).rejects.toMatchObject({ reason: 'KindNotFound', message });
    documents['/apis/helm.toolkit.fluxcd.io/v2'] = helm;
    clock.advance(9_999);
    await expect(mapper.map(FLUX)).rejects.toMatchObject({ reason: 'KindNotFound' });
    expect(asked).toHaveLength(1);
    clock.advance(1);
    expect((await mapper.map(FLUX)).plural).toBe('helmreleases');
    expect(asked).toHaveLength(2);
  });

  it('looks again for a kind that it was told to forget', async () => {
    const { mapper, asked } = stage({ '/api/v1': core });
    await mapper.map({ apiVersion: 'v1', kind: 'Pod' });
    mapper.forget('v1');
    await mapper.map({ apiVersion: 'v1', kind: 'Pod' });
    expect(asked).toHaveLength(2);
  });

  it('does not remember a server that failed', async () => {
    let failing = true;
    const discover = async (): Promise<unknown> => {
      if (failing) throw new Error('away');
      return core;
    };
    const mapper = new ResourceMapper({ discover, server: 'https://c', clock: new ManualClock() });
    await expect(mapper.map({ apiVersion: 'v1', kind: 'Pod' })).rejects.toThrow('away');
    failing = false;
    expect((await mapper.map({ apiVersion: 'v1', kind: 'Pod' })).plural).toBe('pods');
  });

  it('lets one caller go without failing the other', async () => {
    const document = Promise.withResolvers<unknown>();
    const discover = async (): Promise<unknown> => document.promise;
    const mapper = new ResourceMapper({ discover, server: 'https://c', clock: new ManualClock() });
    const stop = new AbortController();
    const impatient = mapper.map({ apiVersion: 'v1', kind: 'Pod' }, stop.signal);
    const patient = mapper.map({ apiVersion: 'v1', kind: 'Pod' });
    stop.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    document.resolve(core);
    expect((await patient).plural).toBe('pods');
  });
});
