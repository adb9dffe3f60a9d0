import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES } from '../../../src/operation-templates/built-in-templates.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

const MIGRATE = {
  description: 'Migrates the database of the shop.',
  parameters: {
    type: 'object',
    properties: { target: { type: 'string', maxLength: 20 } },
    required: ['target'],
    additionalProperties: false,
  },
  run: { template: 'run-job', parameters: { image: 'shop/migrate:7', env: { TARGET: { $value: 'target' } } } },
  deadlineSeconds: 600,
  retries: 1,
  approval: { count: 2, roles: { dba: 1 } },
};
const BUILT_IN = Object.keys(BUILT_IN_TEMPLATES).toSorted();

let plane: RunningControlPlane;
let agent: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.newCluster('prod-eu', { allowedOperationTemplates: ['scale', 'migrate'] });
  await plane.newCluster('other', { allowedOperationTemplates: ['scale'] });
  const { body } = await plane.call('POST', '/clusters/prod-eu/registration-token');
  const register = { token: body['registrationToken'] };
  agent = String((await plane.call('POST', '/api/agent/register', register, { token: null })).body['token']);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const revisions = () => plane.query('SELECT slug, config_revision AS r FROM clusters ORDER BY slug');
const projected = async (): Promise<unknown> =>
  (await plane.call('GET', '/api/agent/config', undefined, { token: agent })).body['operation_template_definitions'];
const names = (body: Record<string, unknown>) => (body['items'] as { name: string }[]).map(({ name }) => name);

describe('operation templates', () => {
  it('lists those that are built in, each with all that is to be known of it', async () => {
    const { body } = await plane.call('GET', '/operation-templates');
    expect(names(body)).toEqual(BUILT_IN);
    expect((await plane.call('GET', '/operation-templates/run-job')).body).toMatchObject({
      name: 'run-job',
      isBuiltIn: true,
      runs: 'run-job',
      isRetryable: true,
      isCancellable: true,
      deadlineSeconds: 3600,
      retries: 0,
      parameters: { type: 'object', additionalProperties: false },
    });
  });

  it('takes one of an admin, gives it back, and tells the clusters that list it and no others', async () => {
    const before = revisions();
    const put = await plane.call('PUT', '/operation-templates/migrate', MIGRATE);
    expect(put).toMatchObject({
      status: 200,
      body: { ...MIGRATE, name: 'migrate', isBuiltIn: false, runs: 'run-job' },
    });
    expect((await plane.call('GET', '/operation-templates/migrate')).body).toEqual(put.body);
    expect(revisions()).toEqual(before.map(({ slug, r }) => ({ slug, r: Number(r) + (slug === 'prod-eu' ? 1 : 0) })));
    const { approval: _approval, ...definition } = MIGRATE;
    await expect(projected()).resolves.toEqual([{ name: 'migrate', ...definition }]);
    const after = revisions();
    await plane.call('PUT', '/operation-templates/migrate', MIGRATE);
    expect(revisions()).toEqual(after);
    const audit = await plane.call('GET', '/audit?kind=OperationTemplateUpdated');
    expect(audit.body['items']).toMatchObject([
      { summary: 'operation template migrate: runs run-job, within 600 s, retries 1, 2 to approve' },
    ]);
  });

  it('tells all that is wrong at once: form, schema, what is fixed, and what stands for a parameter', async () => {
    const { body } = await plane.call('PUT', '/operation-templates/refused', {
      descripton: 'x',
      parameters: { type: 'object', properties: { target: { type: 'text' } } },
      run: { template: 'run-job', parameters: { imag: 'x', backoff: 1, env: { A: { $value: 1 } } }, extra: true },
      deadlineSeconds: 0,
      retries: 99,
      approval: { count: -1 },
    });
    const paths = body['faults'].map((fault: { path: string }) => fault.path);
    expect(paths.toSorted()).toEqual([
      '/approval/count',
      '/deadlineSeconds',
      '/descripton',
      '/parameters/properties/target/type',
      '/retries',
      '/run/extra',
      '/run/parameters/backoff',
      '/run/parameters/env/A/$value',
      '/run/parameters/imag',
    ]);
    const other = await plane.call('PUT', '/operation-templates/refused', {
      parameters: [],
      run: { template: 'run-jobs', parameters: { image: { $value: 'x' } } },
    });
    const others = other.body['faults'].map((fault: { path: string }) => fault.path);
    expect(others).toEqual(['/parameters', '/run/template']);
    const none = await plane.call('PUT', '/operation-templates/refused', 'text');
    expect(none).toMatchObject({ status: 400 });
    expect((await plane.call('PUT', '/operation-templates/Not_A_Name', MIGRATE)).status).toBe(400);
    expect((await plane.call('PUT', '/operation-templates/refused?x=1', MIGRATE)).status).toBe(400);
    expect((await plane.call('GET', '/operation-templates/refused')).status).toBe(404);
  });

  it('sets what holds for a built-in one here, and takes it back', async () => {
    const put = await plane.call('PUT', '/operation-templates/scale', { deadlineSeconds: 60, approval: { count: 1 } });
    expect(put).toMatchObject({
      status: 200,
      body: {
        isBuiltIn: true,
        deadlineSeconds: 60,
        approval: { count: 1 },
        description: 'Set the number of replicas of a workload.',
      },
    });
    await expect(projected()).resolves.toMatchObject([{ name: 'migrate' }, { name: 'scale', deadlineSeconds: 60 }]);
    expect((await plane.call('DELETE', '/operation-templates/scale')).status).toBe(204);
    expect((await plane.call('GET', '/operation-templates/scale')).body).toMatchObject({ deadlineSeconds: 900 });
    expect(await plane.call('DELETE', '/operation-templates/scale')).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('is built in') },
    });
  });

  it('pages by name, those of an admin among the built-in ones', async () => {
    const seen: string[] = [];
    let query = '?limit=3';
    for (let pages = 0; pages < 10; pages += 1) {
      const { body } = await plane.call('GET', `/operation-templates${query}`);
      seen.push(...names(body));
      if (body['nextCursor'] === undefined) break;
      query = `?limit=3&cursor=${body['nextCursor']}`;
    }
    expect(seen).toEqual([...BUILT_IN, 'migrate'].toSorted());
  });

  it('deletes none that a cluster still lists', async () => {
    expect(await plane.call('DELETE', '/operation-templates/migrate')).toMatchObject({
      status: 409,
      body: { error: 'conflict', message: expect.stringContaining('of prod-eu'), clusters: ['prod-eu'] },
    });
    await plane.call('PUT', '/operation-templates/unused', {
      run: { template: 'run-job', parameters: { image: 'a' } },
    });
    expect((await plane.call('DELETE', '/operation-templates/unused')).status).toBe(204);
    expect((await plane.call('GET', '/operation-templates/unused')).status).toBe(404);
    expect((await plane.call('DELETE', '/operation-templates/unused')).status).toBe(404);
    const audit = await plane.call('GET', '/audit?kind=OperationTemplateDeleted');
    expect(audit.body['items']).toHaveLength(2);
  });

  it('warns of a list that names one which is not there yet', async () => {
    const list = ['migrate', 'later'];
    const { status, body } = await plane.call('PATCH', '/clusters/other', { allowedOperationTemplates: list });
    expect([status, body['warnings']]).toEqual([
      200,
      [expect.stringContaining('there is no operation template later')],
    ]);
    const plain = await plane.call('PATCH', '/clusters/other', { allowedOperationTemplates: ['scale'] });
    expect(plain.body['warnings']).toBeUndefined();
  });

  it('refuses what is more than a cluster can be told, at either end', async () => {
    const large = {
      ...MIGRATE,
      run: { template: 'run-job', parameters: { image: 'a', args: Array(8).fill('x'.repeat(3900)) } },
      parameters: { type: 'object' },
    };
    const list = Array.from({ length: 9 }, (_, index) => `large-${index}`);
    for (const name of list) expect((await plane.call('PUT', `/operation-templates/${name}`, large)).status).toBe(200);
    const all = await plane.call('PATCH', '/clusters/other', { allowedOperationTemplates: list });
    expect(all.body).toMatchObject({ error: 'constraint_violated', faults: [{ path: '/allowedOperationTemplates' }] });
    await plane.call('PATCH', '/clusters/other', { allowedOperationTemplates: [...list.slice(0, 8), 'later'] });
    expect(await plane.call('PUT', '/operation-templates/later', large)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('cluster other would be told') },
    });
  });

  it.for<[string, string, unknown, string[]]>([
    ['an unknown field', 'a', { ...MIGRATE, runs: 1 }, ['/runs']],
    ['a name of its own in the body', 'a', { ...MIGRATE, name: 'b' }, ['/name']],
    ['a deadline of nothing', 'a', { ...MIGRATE, deadlineSeconds: 0 }, ['/deadlineSeconds']],
    [
      'everything at once',
      'a',
      {
        parameters: { type: 'object', properties: { x: { type: 'string', pattern: '^a' } } },
        run: { template: 'scale' },
        retries: 2,
      },
      ['/parameters/properties/x/pattern', '/run/parameters/replicas', '/retries'],
    ],
    ['something of its own under a built-in name', 'scale', MIGRATE, ['/run', '/parameters', '/retries']],
  ])('refuses %s and stores nothing', async ([, name, body, paths]) => {
    const before = plane.query('SELECT * FROM operation_templates ORDER BY name');
    const answer = await plane.call('PUT', `/operation-templates/${name}`, body);
    expect(answer).toMatchObject({ status: 400, body: { error: 'constraint_violated' } });
    expect((answer.body['faults'] as { path: string }[]).map(({ path }) => path)).toEqual(paths);
    expect(plane.query('SELECT * FROM operation_templates ORDER BY name')).toEqual(before);
  });
});
