import { expect, it } from 'vitest';
import { GROUP, WIDGETS, widgetDefinition, type ContractContext } from './contract-context.ts';
import { causesOf, type HttpAnswer, type Json } from './kube-http.ts';

const gone = (answer: HttpAnswer): boolean => answer.status === 404;

/** Deletion, finalizers, owners, namespaces and definitions. */
export function describeLifecycle(context: () => ContractContext): void {
  function ownerReference(owner: Json, more: Json = {}): Json {
    const { name, uid } = owner['metadata'] as Json;
    return { apiVersion: owner['apiVersion'], kind: owner['kind'], name, uid, ...more };
  }

  it('deletes at once what nothing holds', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('short'));
    expect(await http.delete(widgets('short'))).toMatchObject({
      status: 200,
      body: {
        kind: 'Status',
        status: 'Success',
        details: { name: 'short', group: GROUP, kind: 'widgets', uid: body['metadata']['uid'] },
      },
    });
    expect((await http.delete(widgets('short'))).status).toBe(404);
  });

  it('keeps an object with finalizers until the last one is taken away', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('held', { metadata: { finalizers: ['example.com/hold'] }, spec: { size: 1 } }));
    const marked = await http.delete(widgets('held'));
    expect(marked).toMatchObject({
      status: 200,
      body: {
        kind: 'Widget',
        metadata: { deletionTimestamp: expect.any(String), deletionGracePeriodSeconds: 0, generation: 2 },
      },
    });
    expect((await http.delete(widgets('held'))).body['metadata']['deletionTimestamp']).toBe(
      marked.body['metadata']['deletionTimestamp'],
    );
    const more = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } };
    const refused = await http.patch(widgets('held'), 'merge', more);
    expect([refused.status, causesOf(refused)]).toEqual([
      422,
      [
        {
          reason: 'FieldValueForbidden',
          message:
            'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
          field: 'metadata.finalizers',
        },
      ],
    ]);
    expect((await http.patch(widgets('held'), 'merge', { metadata: { finalizers: null } })).status).toBe(200);
    expect((await http.get(widgets('held'))).status).toBe(404);
  });

  it('deletes only the incarnation and the revision that are named', async () => {
    const { http, widgets, widget } = context();
    const { body } = await http.post(widgets(), widget('exact'));
    const other = await http.delete(widgets('exact'), { preconditions: { uid: 'another' } });
    expect([other.status, other.body['reason']]).toEqual([409, 'Conflict']);
    expect(other.body['message']).toContain('the UID in the precondition (another) does not match the UID in record');
    const older = await http.delete(widgets('exact'), { preconditions: { resourceVersion: '1' } });
    expect([older.status, older.body['reason']]).toEqual([409, 'Conflict']);
    const { uid, resourceVersion } = body['metadata'] as Json;
    expect((await http.delete(widgets('exact'), { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  it('collects what has lost its last owner', { timeout: 90_000 }, async () => {
    const { http, configMaps } = context();
    const owner = (await http.post(configMaps(), { metadata: { name: 'parent' } })).body;
    const ownerReferences = [ownerReference(owner)];
    await http.post(configMaps(), { metadata: { name: 'child', ownerReferences } });
    await http.delete(configMaps('parent'));
    expect((await http.eventually(configMaps('child'), gone)).status).toBe(404);
  });

  it('leaves the dependents of an orphaning deletion without their reference', { timeout: 90_000 }, async () => {
    const { http, configMaps } = context();
    const owner = (await http.post(configMaps(), { metadata: { name: 'leaver' } })).body;
    await http.post(configMaps(), { metadata: { name: 'left', ownerReferences: [ownerReference(owner)] } });
    await http.delete(configMaps('leaver'), { propagationPolicy: 'Orphan' });
    expect((await http.eventually(configMaps('leaver'), gone)).status).toBe(404);
    const left = await http.get(configMaps('left'));
    expect([left.status, left.body['metadata']['ownerReferences']]).toEqual([200, undefined]);
  });

  it('keeps the owner of a foreground deletion until its dependents are gone', { timeout: 90_000 }, async () => {
    const { http, configMaps } = context();
    const owner = (await http.post(configMaps(), { metadata: { name: 'waiting' } })).body;
    const ownerReferences = [ownerReference(owner, { blockOwnerDeletion: true })];
    await http.post(configMaps(), { metadata: { name: 'slow', ownerReferences, finalizers: ['example.com/hold'] } });
    await http.delete(configMaps('waiting'), { propagationPolicy: 'Foreground' });
    await http.eventually(configMaps('slow'), ({ body }) => body['metadata']?.['deletionTimestamp'] !== undefined);
    expect((await http.get(configMaps('waiting'))).body['metadata']['finalizers']).toEqual(['foregroundDeletion']);
    await http.patch(configMaps('slow'), 'merge', { metadata: { finalizers: null } });
    expect((await http.eventually(configMaps('waiting'), gone)).status).toBe(404);
  });

  it('empties a namespace before it goes, and takes nothing new meanwhile', { timeout: 90_000 }, async () => {
    const { http } = context();
    const created = await http.post('/api/v1/namespaces', { metadata: { generateName: 'ending-' } });
    const name = String(created.body['metadata']['name']);
    expect(created.body).toMatchObject({ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } });
    const path = `/api/v1/namespaces/${name}`;
    await http.post(`${path}/configmaps`, { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
    await http.post(`${path}/configmaps`, { metadata: { name: 'free' } });
    expect((await http.delete(path)).body['status']).toMatchObject({ phase: 'Terminating' });
    expect(await http.post(`${path}/configmaps`, { metadata: { name: 'late' } })).toMatchObject({
      status: 403,
      body: {
        reason: 'Forbidden',
        message: `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
        details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
      },
    });
    expect((await http.eventually(`${path}/configmaps/free`, gone)).status).toBe(404);
    expect((await http.get(path)).status).toBe(200);
    await http.patch(`${path}/configmaps/held`, 'merge', { metadata: { finalizers: null } });
    expect((await http.eventually(path, gone)).status).toBe(404);
  });

  it('gives a namespace its name as a label, kube-system a UID, and protects default', async () => {
    const { http, namespace, cluster } = context();
    const { body } = await http.get(`/api/v1/namespaces/${namespace}`);
    if (cluster.namesSubresource !== false) {
      expect(body['metadata']['labels']).toEqual({ 'kubernetes.io/metadata.name': namespace });
    }
    const system = (await http.get('/api/v1/namespaces/kube-system')).body;
    expect(system['metadata']['uid']).toMatch(/^[0-9a-f-]{36}$/);
    expect(await http.delete('/api/v1/namespaces/default')).toMatchObject({
      status: 403,
      body: { reason: 'Forbidden', message: 'namespaces "default" is forbidden: this namespace may not be deleted' },
    });
  });

  it(
    'serves a definition’s kind once it is established, and deletes its objects with it',
    { timeout: 90_000 },
    async () => {
      const { http, namespace } = context();
      const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const group = 'short.example.com';
      const definition = structuredClone(widgetDefinition);
      definition['metadata'] = { name: `widgets.${group}` };
      definition['spec'].group = group;
      await http.post(definitions, definition);
      const path = `${definitions}/widgets.${group}`;
      const established = await http.eventually(path, ({ body }) =>
        ((body['status']?.['conditions'] ?? []) as Json[]).some(
          ({ type, status }) => type === 'Established' && status === 'True',
        ),
      );
      expect((established.body['status']['conditions'] as Json[]).map(({ type, status }) => [type, status])).toEqual([
        ['NamesAccepted', 'True'],
        ['Established', 'True'],
      ]);
      expect(established.body['status']['storedVersions']).toEqual(['v1']);
      const objects = `/apis/${group}/v1/namespaces/${namespace}/widgets`;
      await http.eventually(objects, ({ status }) => status === 200);
      const object = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'a' } };
      expect((await http.post(objects, object)).status).toBe(201);
      await http.delete(path);
      await http.eventually(path, gone);
      expect((await http.eventually(objects, gone)).status).toBe(404);
    },
  );

  it('refuses a definition whose name is not plural and group', async () => {
    const { http } = context();
    const definition = { ...widgetDefinition, metadata: { name: `gadgets.${GROUP}` } };
    const { status, body } = await http.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    expect([status, body['reason']]).toEqual([422, 'Invalid']);
    expect(body['details']['causes']).toMatchObject([{ field: 'metadata.name' }]);
    expect((await http.get(WIDGETS)).status).toBe(200);
  });

  it('refuses a body of more than 3 MiB', async () => {
    const { http, configMaps } = context();
    const data = { big: 'x'.repeat(3 * 1024 * 1024 + 1) };
    expect(await http.post(configMaps(), { metadata: { name: 'big' }, data })).toMatchObject({
      status: 413,
      body: { reason: 'RequestEntityTooLarge' },
    });
  });
}
