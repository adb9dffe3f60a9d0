import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.call('PUT', '/catalog/strict', {
    chart: { type: 'helm', url: 'https://charts.example.com', name: 'strict' },
    versions: '1.x',
    valuesSchema: {
      type: 'object',
      required: ['host'],
      properties: { host: { type: 'string' }, replicas: { type: 'integer' } },
    },
    approval: { count: 2 },
  });
  const operations = ['scale', 'velero-restore', 'nightly', 'missing'];
  await plane.newCluster('prod', {
    allowedNamespaces: ['shop', 'yard'],
    allowedCatalogEntries: ['podinfo', 'strict'],
    allowedOperationTemplates: operations,
  });
  await plane.newCluster('pulling', { connectivityMode: undefined });
  await plane.newCluster('stopped');
  await plane.call('POST', '/clusters/stopped/disable');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** A dry run, which must answer 200 and leave nothing behind, whatever it finds. */
async function dryRun(intent: object, cluster = 'prod'): Promise<Record<string, unknown>> {
  const before = await plane.traces();
  const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
  const answer = await plane.call('POST', `/clusters/${cluster}/intents`, { ...intent, dryRun: true }, { headers });
  expect([answer.status, answer.body['dryRun']]).toEqual([200, true]);
  expect(await plane.traces()).toEqual(before);
  return answer.body;
}

async function violations(intent: object, cluster = 'prod'): Promise<readonly string[]> {
  const { violations: found } = (await dryRun(intent, cluster)) as {
    violations: { readonly at: string; readonly path: string; readonly message: string }[];
  };
  return found.map(({ at, path, message }) => `${at} ${path}: ${message}`);
}

async function accept(intent: object): Promise<string> {
  const answer = await plane.call('POST', '/clusters/prod/intents', intent);
  expect([answer.status, answer.body]).toEqual([202, expect.anything()]);
  const id = String(answer.body['id']);
  await plane.until(id, 'delivered');
  return id;
}

const SCALE = {
  action: 'operate',
  namespace: 'shop',
  name: 'more',
  operationTemplate: 'scale',
  parameters: { name: 'web', replicas: 3 },
};

describe('a dry run', () => {
  it('of what would be accepted says so, with the manifest, and uses no number', async () => {
    const body = await dryRun(INSTALL);
    expect(body).toEqual({ dryRun: true, violations: [], manifest: expect.any(String), diff: expect.any(String) });
    const added = String(body['diff']).split('\n').slice(3);
    expect(added.join('\n')).toBe(String(body['manifest']).replaceAll(/^(?=.)/gm, '+'));
    expect(body['manifest']).toContain('app.service.io/intent-id: int-dry-run');
    expect(body['manifest']).toContain('message: hello');
    const operation = await dryRun(SCALE);
    expect(operation['violations']).toEqual([]);
    expect(operation['manifest']).toContain('replicas: 3');
    const id = await accept({ ...INSTALL, name: 'first', dryRun: false });
    expect((await plane.call('GET', `/intents/${id}`)).body['generation']).toBe(1);
    const stored = plane.query('SELECT record FROM intents WHERE id = ?', id);
    expect(String(stored[0]?.['record'])).not.toContain('dryRun');
  });

  it('works for update and uninstall, by what stands', async () => {
    await accept({ ...INSTALL, name: 'standing', values: { replicas: 2 } });
    const update = await dryRun({ action: 'update', namespace: 'shop', name: 'standing', chartVersion: '6.6.0' });
    expect(update['violations']).toEqual([]);
    expect(update['manifest']).toContain('version: 6.6.0');
    expect(update['manifest']).toContain('replicas: 2');
    const uninstall = await dryRun({ action: 'uninstall', namespace: 'shop', name: 'standing' });
    expect(uninstall['violations']).toEqual([]);
    expect(JSON.parse(String(uninstall['manifest']))).toMatchObject({ name: 'standing', intentId: 'int-dry-run' });
    expect(await violations({ ...INSTALL, name: 'standing' })).toEqual([
      'api /action: shop/standing is installed already; use update to change it',
    ]);
    expect(await violations({ action: 'update', namespace: 'shop', name: 'absent', expectedGeneration: 4 })).toEqual([
      'api /expectedGeneration: the newest intent about this object has generation 0, not 4',
      'api /action: shop/absent is not installed on this cluster; use install first',
    ]);
  });

  it('lists everything at once: fields, what is allowed, values by their schema, and what the cluster would say', async () => {
    const found = await violations({
      ...INSTALL,
      namespace: 'bank',
      catalogEntry: 'strict',
      chartVersion: '2.0.0',
      values: { replicas: 'three' },
      parameters: {},
    });
    expect(found).toEqual([
      'api /namespace: namespace bank is not allowed on this cluster; allowed: shop, yard',
      expect.stringContaining('api /parameters: does not belong to action install'),
      'api /chartVersion: chart version 2.0.0 is outside the range of catalog entry strict; allowed: 1.x',
      'api /values/host: is required',
      'api /values/replicas: must be an integer',
    ]);
  });

  it('names every fault of the parameters of an operation, with its place', async () => {
    expect(await violations({ ...SCALE, parameters: { replicas: -1, kind: 'Pod', speed: 9 } })).toEqual([
      'api /parameters/speed: is not known; the known fields are kind, name, replicas',
      'api /parameters/kind: must be one of Deployment, StatefulSet, DaemonSet',
      'api /parameters/replicas: must be from 0 to 10000',
      'api /parameters/name: is required, or a targetRef',
    ]);
    const [missing = '', ...more] = await violations({ ...SCALE, operationTemplate: 'missing' });
    expect([missing, more]).toEqual([expect.stringMatching(/^api \/operationTemplate: .*missing/), []]);
  });

  it('tells what only the checks of the cluster know', async () => {
    const restore = {
      ...SCALE,
      operationTemplate: 'velero-restore',
      parameters: { backup: 'b', includedNamespaces: ['shop'], namespaceMapping: { shop: 'kube-system' } },
    };
    const { violations: found } = await dryRun(restore);
    expect(found).toEqual([
      {
        at: 'cluster',
        reason: 'NamespaceNotAllowed',
        path: '/parameters/namespaceMapping/shop',
        message: 'namespace kube-system is not allowed on this cluster; allowed: shop, yard',
        allowed: ['shop', 'yard'],
      },
    ]);
    const before = await plane.traces();
    const { status, body } = await plane.call('POST', '/clusters/prod/intents', restore);
    expect([status, body['error'], body['faults'][0].path]).toEqual([
      403,
      'forbidden',
      '/parameters/namespaceMapping/shop',
    ]);
    expect(await plane.traces()).toEqual(before);
  });

  it('says that it would wait for an approval, and for how many', async () => {
    const body = await dryRun({ ...INSTALL, catalogEntry: 'strict', chartVersion: '1.2.0', values: { host: 'a' } });
    expect(body).toEqual({
      dryRun: true,
      violations: [],
      approval: { required: expect.objectContaining({ count: 2 }), via: 'approval' },
      manifest: expect.any(String),
      diff: expect.stringContaining('+++ b/shop/podinfo.yaml'),
    });
  });

  it('of what cannot be delivered, is too large or cannot be sealed says that beside the rest', async () => {
    expect(await violations({ ...INSTALL, namespace: 'bank' }, 'stopped')).toEqual([
      'api : cluster stopped is disabled; enable it first',
      expect.stringContaining('api /namespace: '),
    ]);
    const text = 'x'.repeat(600 * 1024);
    expect(await violations({ ...INSTALL, chartVersion: '7.0.0', values: { text } })).toEqual([
      expect.stringContaining('api /chartVersion: '),
      expect.stringContaining('api /values: the manifest is '),
    ]);
    expect(await violations({ ...INSTALL, secretValues: { password: 'hunter2' } })).toEqual([
      expect.stringContaining('api /secretValues: '),
    ]);
  });

  it('is refused as an intent is where it is none', async () => {
    for (const body of [
      { ...INSTALL, dryRun: 'yes' },
      { action: 'deploy', dryRun: true },
    ]) {
      const { status } = await plane.call('POST', '/clusters/prod/intents', body);
      expect(status).toBe(400);
    }
    const other = plane.addOrganization('other');
    const { status } = await plane.call(
      'POST',
      '/clusters/prod/intents',
      { ...INSTALL, dryRun: true },
      { token: other },
    );
    expect(status).toBe(404);
  });
});
