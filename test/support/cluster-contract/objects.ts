import { expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';

/** Create, read, update, patch, list. */
export function describeObjects(context: () => ContractContext): void {
  it('creates an object with a UID, a creation time, a revision and generation 1', async () => {
    const { http, widgets, widget, namespace } = context();
    const { status, body } = await http.post(widgets(), widget('made', { spec: { size: 1 }, status: { phase: 'x' } }));
    expect(status).toBe(201);
    expect(body['metadata']).toMatchObject({
      name: 'made',
      namespace,
      generation: 1,
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      resourceVersion: expect.stringMatching(/^\d+$/),
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(body['status']).toBeUndefined();
    expect((await http.get(widgets('made'))).body).toEqual(body);
  });

  it('completes a generateName with five characters', async () => {
    const { http, configMaps } = context();
    const { status, body } = await http.post(configMaps(), { metadata: { generateName: 'gen-' } });
    expect(status).toBe(201);
    expect(body['metadata']).toMatchObject({ name: expect.stringMatching(/^gen-[a-z0-9]{5}$/), generateName: 'gen-' });
  });

  it('refuses a second object of the same name with AlreadyExists', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('twice'));
    expect(await http.post(widgets(), widget('twice'))).toMatchObject({
      status: 409,
      body: {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'AlreadyExists',
        code: 409,
        message: 'widgets.contract.example.com "twice" already exists',
        details: { name: 'twice', group: 'contract.example.com', kind: 'widgets' },
      },
    });
  });

  it('answers NotFound for an object and for a namespace that are not there', async () => {
    const { http, configMaps } = context();
    expect(await http.get(configMaps('absent'))).toMatchObject({
      status: 404,
      body: {
        reason: 'NotFound',
        message: 'configmaps "absent" not found',
        details: { name: 'absent', kind: 'configmaps' },
      },
    });
    const nowhere = '/api/v1/namespaces/nowhere/configmaps';
    expect(await http.post(nowhere, { metadata: { name: 'a' } })).toMatchObject({
      status: 404,
      body: { reason: 'NotFound', message: 'namespaces "nowhere" not found', details: { kind: 'namespaces' } },
    });
  });

  it('refuses a name that breaks the rules, naming the field', async () => {
    const { http, widgets, widget } = context();
    const { status, body } = await http.post(widgets(), widget('Not_a_name'));
    expect(status).toBe(422);
    expect(body).toMatchObject({
      reason: 'Invalid',
      code: 422,
      details: { name: 'Not_a_name', group: 'contract.example.com', kind: 'Widget' },
    });
    expect(body['details']['causes']).toMatchObject([{ reason: 'FieldValueInvalid', field: 'metadata.name' }]);
    expect(body['message']).toContain(
      'Widget.contract.example.com "Not_a_name" is invalid: metadata.name: Invalid value: "Not_a_name": a',
    );
  });

  it('refuses an object without a name and one with a bad label', async () => {
    const { http, widgets, widget } = context();
    const nameless = await http.post(widgets(), { ...widget('x'), metadata: {} });
    expect(nameless).toMatchObject({
      status: 422,
      body: { details: { causes: [{ reason: 'FieldValueRequired', field: 'metadata.name' }] } },
    });
    const labelled = await http.post(widgets(), widget('labelled', { metadata: { labels: { a: 'not ok' } } }));
    expect(labelled).toMatchObject({
      status: 422,
      body: { details: { causes: [{ reason: 'FieldValueInvalid', field: 'metadata.labels' }] } },
    });
  });

  it('refuses a body whose version, name or namespace is not the URL’s', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('here'));
    const live = (await http.get(widgets('here'))).body;
    const answers = [
      await http.post(widgets(), { ...widget('v'), apiVersion: 'contract.example.com/v2' }),
      await http.post(widgets(), widget('n', { metadata: { namespace: 'default' } })),
      await http.put(widgets('here'), { ...live, metadata: { ...live['metadata'], name: 'there' } }),
    ];
    expect(answers.map(({ status, body }) => [status, body['reason'], body['message']])).toEqual([
      [
        400,
        'BadRequest',
        'the API version in the data (contract.example.com/v2) does not match the expected API version (contract.example.com/v1)',
      ],
      [400, 'BadRequest', 'the namespace of the provided object does not match the namespace sent on the request'],
      [400, 'BadRequest', 'the name of the object (there) does not match the name on the URL (here)'],
    ]);
  });

  it('refuses a write that is based on an old revision', async () => {
    const { http, widgets, widget } = context();
    const first = (await http.post(widgets(), widget('locked', { spec: { size: 1 } }))).body;
    const second = await http.put(widgets('locked'), { ...first, spec: { size: 2 } });
    expect(second.body).toMatchObject({ spec: { size: 2 }, metadata: { generation: 2 } });
    expect(await http.put(widgets('locked'), { ...first, spec: { size: 3 } })).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on widgets.contract.example.com "locked": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: 'locked', group: 'contract.example.com', kind: 'widgets' },
      },
    });
    const stale = { metadata: { resourceVersion: first['metadata']['resourceVersion'] }, spec: { size: 4 } };
    expect((await http.patch(widgets('locked'), 'merge', stale)).status).toBe(409);
  });

  it('keeps the revision and the generation when a write changes nothing', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('still', { spec: { size: 1 } }));
    expect((await http.put(widgets('still'), body)).body).toEqual(body);
    expect((await http.patch(widgets('still'), 'merge', { spec: { size: 1 } })).body).toEqual(body);
  });

  it('counts generations for changes of the spec alone', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('counted', { spec: { size: 1 } }));
    const labelled = await http.patch(widgets('counted'), 'merge', { metadata: { labels: { a: 'b' } } });
    const status = await http.patch(widgets('counted', 'status'), 'merge', { status: { phase: 'up' } });
    const resized = await http.patch(widgets('counted'), 'merge', { spec: { size: 2 } });
    expect([labelled, status, resized].map(({ body }) => body['metadata']['generation'])).toEqual([1, 1, 2]);
  });

  it('writes status through its subresource only, and nothing else there', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('parts', { spec: { size: 1 } }));
    const viaMain = await http.patch(widgets('parts'), 'merge', { status: { phase: 'no' } });
    expect(viaMain.body['status']).toBeUndefined();
    const change = { metadata: { labels: { no: 'no' } }, spec: { size: 9 }, status: { phase: 'yes' } };
    const viaStatus = await http.patch(widgets('parts', 'status'), 'merge', change);
    expect(viaStatus.body).toMatchObject({ spec: { size: 1 }, status: { phase: 'yes' } });
    expect(viaStatus.body['metadata']['labels']).toBeUndefined();
    expect((await http.get(widgets('parts', 'status'))).body).toEqual(viaStatus.body);
  });

  it('carries out a JSON patch, and refuses it whole when a test fails', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('patched', { spec: { size: 1, list: ['a', 'b'] } }));
    const good = [
      { op: 'test', path: '/spec/size', value: 1 },
      { op: 'replace', path: '/spec/size', value: 2 },
      { op: 'add', path: '/spec/list/1', value: 'x' },
      { op: 'remove', path: '/spec/list/0' },
    ];
    const done = await http.patch(widgets('patched'), 'json', good);
    expect([done.status, done.body['spec']]).toEqual([200, { size: 2, list: ['x', 'b'] }]);
    const bad = [
      { op: 'replace', path: '/spec/size', value: 3 },
      { op: 'test', path: '/spec/list', value: [] },
    ];
    expect(await http.patch(widgets('patched'), 'json', bad)).toMatchObject({
      status: 422,
      body: { reason: 'Invalid', message: 'the server rejected our request due to an error in our request' },
    });
    expect((await http.get(widgets('patched'))).body).toEqual(done.body);
  });

  it('merges built-in objects strategically and refuses that for custom ones', async () => {
    const { http, configMaps, widgets, widget } = context();
    await http.post(configMaps(), {
      metadata: { name: 'merged', finalizers: ['a.example.com/x'] },
      data: { a: '1', b: '2' },
    });
    const patch = { metadata: { finalizers: ['b.example.com/y'] }, data: { a: null, c: '3' } };
    const { body } = await http.patch(configMaps('merged'), 'strategic', patch);
    expect(body['data']).toEqual({ b: '2', c: '3' });
    expect(new Set(body['metadata']['finalizers'])).toEqual(new Set(['a.example.com/x', 'b.example.com/y']));
    await http.patch(configMaps('merged'), 'merge', { metadata: { finalizers: null } });
    await http.post(widgets(), widget('plain'));
    expect(await http.patch(widgets('plain'), 'strategic', {})).toMatchObject({
      status: 415,
      body: { reason: 'UnsupportedMediaType' },
    });
  });

  it('turns a Secret’s stringData into data', async () => {
    const { http, namespace } = context();
    const secret = { metadata: { name: 'secret' }, stringData: { a: 'text' }, data: { b: 'Yg==' } };
    const { body } = await http.post(`/api/v1/namespaces/${namespace}/secrets`, secret);
    expect(body).toMatchObject({ type: 'Opaque', data: { a: 'dGV4dA==', b: 'Yg==' } });
    expect(body['stringData']).toBeUndefined();
  });

  it('refuses content that is no text, no base64 or too much', async () => {
    const { http, configMaps, namespace } = context();
    const number = await http.post(configMaps(), { metadata: { name: 'number' }, data: { a: 1 } });
    const secrets = `/api/v1/namespaces/${namespace}/secrets`;
    const bytes = await http.post(secrets, { metadata: { name: 'bytes' }, data: { a: '%' } });
    const big = await http.post(configMaps(), { metadata: { name: 'big' }, data: { a: 'x'.repeat(1024 * 1024 + 1) } });
    expect([number.status, bytes.status, big.status]).toEqual([400, 400, 422]);
  });

  it('takes an Event only beside what it is about', async () => {
    const { http, namespace } = context();
    const involvedObject = { kind: 'Widget', namespace: 'default', name: 'a' };
    const event = { metadata: { name: 'astray' }, involvedObject, reason: 'Made', type: 'Normal' };
    expect(await http.post(`/api/v1/namespaces/${namespace}/events`, event)).toMatchObject({
      status: 422,
      body: { details: { causes: [{ reason: 'FieldValueInvalid', field: 'involvedObject.namespace' }] } },
    });
  });

  it('tries a write without keeping it', async () => {
    const { http, widgets, widget } = context();
    const { status, body } = await http.post(`${widgets()}?dryRun=All`, widget('dry', { spec: { size: 1 } }));
    expect([status, body['spec']]).toEqual([201, { size: 1 }]);
    expect((await http.get(widgets('dry'))).status).toBe(404);
  });

  it('refuses a caller without a valid token', async () => {
    const { http, configMaps } = context();
    const wrong = { authorization: 'Bearer wrong' };
    expect(await http.send('GET', configMaps(), { headers: wrong })).toMatchObject({
      status: 401,
      body: { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized', code: 401 },
    });
  });
}
