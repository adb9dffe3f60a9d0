import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { createKubeEventRecorder } from '../../src/kube/kube-event-recorder.ts';
import { faultOfAnswer } from '../../src/kube/kube-fault.ts';
import { listPages } from '../../src/kube/list-pages.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';

const logger = createLogger('test', 'silent');
let sandbox: Sandbox;
let api: ClusterApi & AsyncDisposable;

beforeAll(async () => {
  sandbox = await startSandbox({ tls: false });
  const kubeconfig = { kind: 'text', yaml: sandbox.kubeconfig() } as const;
  api = connectCluster({ kubeconfig, userAgent: 'test', clock: systemClock, random: () => 0 });
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

const KIND = { apiVersion: 'v1', kind: 'ConfigMap' } as const;
const at = (name: string) => ({ ...KIND, namespace: 'default', name });
const configMap = (name: string, data: Record<string, string>): KubeObject => ({
  ...KIND,
  metadata: { name, namespace: 'default' },
  data,
});

describe('the cluster API', () => {
  it('proves that the server is there', async () => {
    expect((await api.version()).gitVersion).toMatch(/^v1\.\d+/);
  });

  it('tells made from changed when it applies', async () => {
    const options = { fieldManager: 'one' };
    expect(await api.apply(configMap('apply', { a: '1' }), options)).toMatchObject({ created: true });
    const again = await api.apply(configMap('apply', { a: '2' }), options);
    expect(again).toMatchObject({ created: false, object: { data: { a: '2' } } });
  });

  it('names the manager and the field of a conflict, and takes over by force', async () => {
    await api.apply(configMap('conflict', { a: '1' }), { fieldManager: 'one' });
    const contested = api.apply(configMap('conflict', { a: '2' }), { fieldManager: 'two' });
    await expect(contested).rejects.toMatchObject({
      status: 409,
      reason: 'Conflict',
      causes: [
        { reason: 'FieldManagerConflict', field: '.data.a', message: expect.stringContaining('"one"') as string },
      ],
    });
    const dry = await api.apply(configMap('conflict', { a: '2' }), { fieldManager: 'two', force: true, dryRun: true });
    expect(dry.object['data']).toEqual({ a: '2' });
    expect((await api.get(at('conflict')))?.['data']).toEqual({ a: '1' });
    await api.apply(configMap('conflict', { a: '2' }), { fieldManager: 'two', force: true });
    expect((await api.get(at('conflict')))?.['data']).toEqual({ a: '2' });
  });

  it('deletes only the incarnation that it is told', async () => {
    const made = await api.create(configMap('delete', {}), 'test');
    await expect(api.delete(at('delete'), { uid: 'another' })).rejects.toMatchObject({
      status: 409,
      reason: 'Conflict',
    });
    await expect(api.delete(at('delete'), { resourceVersion: '1' })).rejects.toMatchObject({ status: 409 });
    const { uid, resourceVersion } = made.metadata;
    expect(await api.delete(at('delete'), { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) })).toBe(
      true,
    );
    expect(await api.delete(at('delete'))).toBe(false);
    expect(await api.get(at('delete'))).toBeUndefined();
  });

  it('patches, and refuses a patch whose test fails', async () => {
    await api.create(configMap('patch', { a: '1', b: '1' }), 'test');
    const merged = await api.mergePatch(at('patch'), { data: { a: null, c: '3' } }, { fieldManager: 'test' });
    expect(merged['data']).toEqual({ b: '1', c: '3' });
    const patched = await api.jsonPatch(at('patch'), [{ op: 'replace', path: '/data/b', value: '2' }]);
    expect(patched['data']).toEqual({ b: '2', c: '3' });
    const stale = api.jsonPatch(at('patch'), [{ op: 'test', path: '/data/b', value: '1' }]);
    await expect(stale).rejects.toMatchObject({ status: 422 });
    await expect(api.mergePatch(at('nowhere'), {})).rejects.toMatchObject({ status: 404, reason: 'NotFound' });
  });

  it('refuses to make an object twice, or in a namespace that is not there', async () => {
    await api.create(configMap('twice', {}), 'test');
    await expect(api.create(configMap('twice', {}), 'test')).rejects.toMatchObject({
      status: 409,
      reason: 'AlreadyExists',
    });
    const astray = { ...KIND, metadata: { name: 'a', namespace: 'nowhere' } };
    await expect(api.create(astray, 'test')).rejects.toMatchObject({ status: 404, reason: 'NotFound' });
  });

  it('reads a list in pages, also when the snapshot behind them is dropped midway', async () => {
    const labels = { set: 'pages' };
    for (let index = 0; index < 25; index += 1) {
      await api.create({ ...KIND, metadata: { name: `page-${index}`, namespace: 'default', labels } }, 'test');
    }
    const options = { namespace: 'default', labelSelector: 'set=pages', limit: 10 };
    const whole = await api.list(KIND, options);
    expect(whole.items).toHaveLength(25);
    expect(whole.items[0]).toMatchObject(KIND);

    const asked: (string | undefined)[] = [];
    const again = await listPages(KIND, 10, async (limit, token) => {
      asked.push(token === undefined ? 'first' : 'next');
      if (asked.length === 2) {
        await api.create(configMap('meanwhile', {}), 'test');
        sandbox.compact();
      }
      const query = new URLSearchParams({ labelSelector: 'set=pages', limit: String(limit) });
      if (token !== undefined) query.set('continue', token);
      const headers = { authorization: `Bearer ${sandbox.token.expose()}` };
      const answer = await fetch(`${sandbox.url}/api/v1/namespaces/default/configmaps?${query.toString()}`, {
        headers,
      });
      const body = await answer.text();
      if (answer.ok) return JSON.parse(body) as unknown;
      throw faultOfAnswer({ status: answer.status, contentType: '', body, where: 'GET' });
    });
    expect(again.items).toHaveLength(25);
    expect(asked).toEqual(['first', 'next', 'first', 'next', 'next']);
  });

  it('says which API is missing', async () => {
    const ref = { apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease', namespace: 'default', name: 'a' };
    await expect(api.get(ref)).rejects.toMatchObject({ status: 404, reason: 'KindNotFound' });
  });
});

describe('the event recorder', () => {
  const events = async (): Promise<readonly KubeObject[]> =>
    (await api.list({ apiVersion: 'v1', kind: 'Event' })).items;

  it('records an event beside its object, and counts the same one', async () => {
    const about = await api.create(configMap('events', {}), 'test');
    await using recorder = createKubeEventRecorder({ api, component: 'tester', clock: systemClock, logger });
    const event = { type: 'Normal', reason: 'ReleaseReady', message: 'it is up' } as const;
    recorder.record(about, event);
    recorder.record(about, event);
    recorder.record(about, { ...event, message: 'x'.repeat(5_000) });
    await recorder.flush();
    const found = (await events()).filter((each) => (each['involvedObject'] as { name: string }).name === 'events');
    expect(found).toHaveLength(2);
    expect(found.find((each) => each['message'] === 'it is up')).toMatchObject({
      metadata: { namespace: 'default' },
      type: 'Normal',
      reason: 'ReleaseReady',
      count: 2,
      source: { component: 'tester' },
      involvedObject: { ...at('events'), uid: about.metadata.uid },
    });
    expect(found.map((each) => String(each['message']).length).sort((a, b) => a - b)).toEqual([8, 1_024]);
    expect(recorder.dropped).toBe(0);
  });

  it('never throws, keeps a bound, and counts what it gave up', async () => {
    await using recorder = createKubeEventRecorder({ api, component: 'tester', clock: systemClock, logger });
    const remove = sandbox.faults.add({
      match: ({ path, method }) => method === 'POST' && path.endsWith('/events'),
      respond: { status: 403, body: 'no' },
    });
    const event = { type: 'Warning', reason: 'Flood' } as const;
    for (let index = 0; index < 300; index += 1)
      recorder.record(configMap('flood', {}), { ...event, message: `${index}` });
    await recorder.flush();
    remove();
    expect(recorder.dropped).toBe(300);
    recorder.record(configMap('flood', {}), { ...event, message: 'after' });
    await recorder.flush();
    expect((await events()).filter((each) => each['reason'] === 'Flood')).toHaveLength(1);
  });
});
