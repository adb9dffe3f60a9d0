import { expect, it } from 'vitest';
import { GROUP, type ContractContext } from './contract-context.ts';
import { causesOf, type Json } from './kube-http.ts';

/** Managed fields without their times, by manager and operation. */
function owners(object: Json): Json {
  const entries = (object['metadata']['managedFields'] ?? []) as Json[];
  return Object.fromEntries(
    entries.map((entry) => {
      const subresource = entry['subresource'] === undefined ? '' : `/${String(entry['subresource'])}`;
      return [`${String(entry['manager'])} ${String(entry['operation'])}${subresource}`, entry['fieldsV1']];
    }),
  );
}

/** Server-side apply (KEP-555). */
export function describeApplying(context: () => ContractContext): void {
  it('creates with 201, applies again with 200 and changes nothing', async () => {
    const { http, widgets, widget } = context();
    const config = widget('applied', { metadata: { labels: { a: 'b' } }, spec: { size: 1 } });
    const first = await http.apply(widgets('applied'), 'one', config);
    expect(first.status).toBe(201);
    expect(owners(first.body)).toEqual({
      'one Apply': { 'f:metadata': { 'f:labels': { 'f:a': {} } }, 'f:spec': { 'f:size': {} } },
    });
    const [entry] = first.body['metadata']['managedFields'] as Json[];
    expect(entry).toEqual({
      manager: 'one',
      operation: 'Apply',
      apiVersion: `${GROUP}/v1`,
      time: expect.any(String),
      fieldsType: 'FieldsV1',
      fieldsV1: expect.any(Object),
    });
    const second = await http.apply(widgets('applied'), 'one', config);
    expect([second.status, second.body]).toEqual([200, first.body]);
  });

  it('refuses to change a field of another manager, naming manager and field', async () => {
    const { http, widgets, widget } = context();
    await http.apply(widgets('fought'), 'a', widget('fought', { spec: { size: 1, color: 'red' } }));
    const other = widget('fought', { spec: { size: 2 } });
    expect(await http.apply(widgets('fought'), 'b', other)).toMatchObject({
      status: 409,
      body: {
        kind: 'Status',
        reason: 'Conflict',
        code: 409,
        message: 'Apply failed with 1 conflict: conflict with "a": .spec.size',
        details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.spec.size' }] },
      },
    });
    const both = await http.apply(widgets('fought'), 'b', widget('fought', { spec: { size: 2, color: 'blue' } }));
    expect(both.body['message']).toBe(
      'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.color\n- .spec.size',
    );
    const forced = await http.apply(widgets('fought'), 'b', other, '&force=true');
    expect([forced.status, forced.body['spec']]).toEqual([200, { size: 2, color: 'red' }]);
    expect(owners(forced.body)).toEqual({
      'a Apply': { 'f:spec': { 'f:color': {} } },
      'b Apply': { 'f:spec': { 'f:size': {} } },
    });
  });

  it('shares a field between managers that agree on its value', async () => {
    const { http, widgets, widget } = context();
    const config = widget('shared', { spec: { size: 1 } });
    await http.apply(widgets('shared'), 'a', config);
    expect(owners((await http.apply(widgets('shared'), 'b', config)).body)).toEqual({
      'a Apply': { 'f:spec': { 'f:size': {} } },
      'b Apply': { 'f:spec': { 'f:size': {} } },
    });
    // Given up by one, it stays; given up by both, it goes.
    const kept = await http.apply(widgets('shared'), 'a', widget('shared', { spec: { color: 'red' } }));
    expect(kept.body['spec']).toEqual({ size: 1, color: 'red' });
    const gone = await http.apply(widgets('shared'), 'b', widget('shared'));
    expect(gone.body['spec']).toEqual({ color: 'red' });
  });

  it('removes what the applier no longer sends and leaves what it never owned', async () => {
    const { http, widgets, widget } = context();
    const labels = { mine: '1', also: '2' };
    await http.apply(
      widgets('pruned'),
      'a',
      widget('pruned', { metadata: { labels }, spec: { values: { x: { y: 1 } } } }),
    );
    await http.patch(`${widgets('pruned')}?fieldManager=hand`, 'merge', {
      metadata: { labels: { theirs: '3' } },
      spec: { values: { z: true } },
    });
    const { body } = await http.apply(
      widgets('pruned'),
      'a',
      widget('pruned', { metadata: { labels: { also: '2' } }, spec: { size: 1 } }),
    );
    expect(body['metadata']['labels']).toEqual({ also: '2', theirs: '3' });
    expect(body['spec']).toEqual({ size: 1, values: { z: true } });
  });

  it('owns items of a keyed list one by one', async () => {
    const { http, widgets, widget } = context();
    const ports = (...list: Json[]): Json => widget('ports', { spec: { ports: list } });
    await http.apply(widgets('ports'), 'a', ports({ port: 80, name: 'web' }, { port: 443, name: 'tls' }));
    const { body } = await http.apply(widgets('ports'), 'b', ports({ port: 90, name: 'admin' }));
    expect(body['spec']['ports']).toEqual([
      { port: 80, name: 'web' },
      { port: 443, name: 'tls' },
      { port: 90, name: 'admin' },
    ]);
    expect(owners(body)).toEqual({
      'a Apply': {
        'f:spec': {
          'f:ports': {
            'k:{"port":80}': { '.': {}, 'f:port': {}, 'f:name': {} },
            'k:{"port":443}': { '.': {}, 'f:port': {}, 'f:name': {} },
          },
        },
      },
      'b Apply': { 'f:spec': { 'f:ports': { 'k:{"port":90}': { '.': {}, 'f:port': {}, 'f:name': {} } } } },
    });
    const clash = await http.apply(widgets('ports'), 'b', ports({ port: 80, name: 'x' }, { port: 90, name: 'admin' }));
    expect(clash.body['details']['causes']).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.spec.ports[port=80].name' },
    ]);
    const fewer = await http.apply(widgets('ports'), 'a', ports({ port: 443, name: 'tls' }));
    expect(fewer.body['spec']['ports']).toEqual([
      { port: 443, name: 'tls' },
      { port: 90, name: 'admin' },
    ]);
  });

  it('owns members of a set one by one and other lists as a whole', async () => {
    const { http, widgets, widget } = context();
    await http.apply(widgets('lists'), 'a', widget('lists', { spec: { tags: ['x', 'y'], list: ['1'] } }));
    const { body } = await http.apply(widgets('lists'), 'b', widget('lists', { spec: { tags: ['z'] } }));
    expect(body['spec']['tags']).toEqual(['x', 'y', 'z']);
    expect(owners(body)['a Apply']).toEqual({ 'f:spec': { 'f:list': {}, 'f:tags': { 'v:"x"': {}, 'v:"y"': {} } } });
    const whole = await http.apply(widgets('lists'), 'b', widget('lists', { spec: { tags: ['z'], list: ['1', '2'] } }));
    expect(whole.body['details']['causes']).toMatchObject([{ field: '.spec.list' }]);
    const fewer = await http.apply(widgets('lists'), 'a', widget('lists', { spec: { tags: ['y'], list: ['1'] } }));
    expect(fewer.body['spec']['tags']).toEqual(['y', 'z']);
  });

  it('tracks creates, updates and patches by manager, the User-Agent’s where none is given', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('tracked', { spec: { size: 1, labels: { a: '1' } } }));
    const { body } = await http.patch(`${widgets('tracked')}?fieldManager=hand`, 'merge', { spec: { size: 2 } });
    expect(owners(body)).toEqual({
      'contract Update': { 'f:spec': { '.': {}, 'f:labels': { '.': {}, 'f:a': {} } } },
      'hand Update': { 'f:spec': { 'f:size': {} } },
    });
    const clash = await http.apply(widgets('tracked'), 'a', widget('tracked', { spec: { size: 3 } }));
    expect(clash.body['details']['causes']).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: expect.stringMatching(/^conflict with "hand" using contract\.example\.com\/v1/),
        field: '.spec.size',
      },
    ]);
  });

  it('takes ownership from an applier whose field somebody updates', async () => {
    const { http, widgets, widget } = context();
    await http.apply(widgets('taken'), 'a', widget('taken', { spec: { size: 1, color: 'red' } }));
    const { body } = await http.patch(`${widgets('taken')}?fieldManager=hand`, 'merge', {
      spec: { size: 2, color: null },
    });
    expect(owners(body)).toEqual({ 'hand Update': { 'f:spec': { 'f:size': {} } } });
  });

  it('applies status apart from the rest', async () => {
    const { http, widgets, widget, cluster } = context();
    await http.apply(widgets('state'), 'a', widget('state', { spec: { size: 1 }, status: { phase: 'ignored' } }));
    const conditions = [{ type: 'Ready', status: 'True' }];
    const { body } = await http.apply(
      widgets('state', 'status'),
      'a',
      widget('state', { spec: { size: 5 }, status: { conditions } }),
    );
    expect(body).toMatchObject({ spec: { size: 1 }, status: { conditions } });
    const status = {
      'f:status': { 'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:status': {} } } },
    };
    if (cluster.namesSubresource !== false) {
      expect(owners(body)).toEqual({ 'a Apply': { 'f:spec': { 'f:size': {} } }, 'a Apply/status': status });
    }
    const again = await http.apply(widgets('state'), 'a', widget('state', { spec: { size: 1 } }));
    expect(again.body['status']).toEqual({ conditions });
  });

  it('holds an apply to the revision it names', async () => {
    const { http, widgets, widget } = context();
    const first = (await http.apply(widgets('pinned'), 'a', widget('pinned', { spec: { size: 1 } }))).body;
    await http.apply(widgets('pinned'), 'a', widget('pinned', { spec: { size: 2 } }));
    const { resourceVersion } = first['metadata'] as Json;
    const stale = widget('pinned', { metadata: { resourceVersion }, spec: { size: 3 } });
    expect(await http.apply(widgets('pinned'), 'a', stale)).toMatchObject({
      status: 409,
      body: { reason: 'Conflict' },
    });
  });

  it('creates nothing for an apply that names a UID, though a revision alone does not hinder it', async () => {
    const { http, widgets, widget } = context();
    const gone = await http.apply(widgets('ghost'), 'a', widget('ghost', { metadata: { uid: 'ghost-uid' } }));
    expect([gone.status, gone.body['reason'], gone.body['message']]).toEqual([
      409,
      'Conflict',
      'Operation cannot be fulfilled on widgets.contract.example.com "ghost": uid mismatch: the provided object specified uid ghost-uid, and no existing object was found',
    ]);
    const made = await http.apply(widgets('ghost'), 'a', widget('ghost', { metadata: { resourceVersion: '1' } }));
    expect(made.status).toBe(201);
    const other = await http.apply(widgets('ghost'), 'a', widget('ghost', { metadata: { uid: 'ghost-uid' } }));
    expect([other.status, causesOf(other)]).toEqual([
      422,
      [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: "ghost-uid": field is immutable',
          field: 'metadata.uid',
        },
      ],
    ]);
  });

  it('gives what nobody is known to own to before-first-apply', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('unowned', { spec: { size: 1 } }));
    const reset = await http.patch(widgets('unowned'), 'merge', { metadata: { managedFields: [{}] } });
    expect(reset.body['metadata']['managedFields']).toBeUndefined();
    const untracked = await http.patch(widgets('unowned'), 'merge', { spec: { size: 2 } });
    expect(untracked.body['metadata']['managedFields']).toBeUndefined();
    const refused = await http.apply(widgets('unowned'), 'a', widget('unowned', { spec: { size: 3 } }));
    expect(refused.body['details']['causes']).toMatchObject([
      { field: '.spec.size', message: expect.stringContaining('conflict with "before-first-apply" using') },
    ]);
    const agreed = await http.apply(widgets('unowned'), 'a', widget('unowned', { spec: { size: 2 } }));
    expect(Object.keys(owners(agreed.body))).toEqual(['a Apply', 'before-first-apply Update']);
  });

  it('refuses an apply without a manager, with managed fields, and force elsewhere', async () => {
    const { http, widgets, widget } = context();
    await http.post(widgets(), widget('strict'));
    const anonymous = await http.patch(widgets('strict'), 'apply', widget('strict'));
    expect(anonymous).toMatchObject({
      status: 422,
      body: { details: { causes: [{ reason: 'FieldValueRequired', field: 'fieldManager' }] } },
    });
    const managedFields = [
      { manager: 'x', operation: 'Apply', apiVersion: `${GROUP}/v1`, fieldsType: 'FieldsV1', fieldsV1: {} },
    ];
    const claimed = await http.apply(widgets('strict'), 'a', widget('strict', { metadata: { managedFields } }));
    expect([claimed.status, claimed.body['message']]).toEqual([400, 'metadata.managedFields must be nil']);
    const forced = await http.patch(`${widgets('strict')}?force=true`, 'merge', {});
    expect(forced).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'force' }] } } });
  });

  it('applies to built-in kinds, with their own list types', async () => {
    const { http, configMaps, namespace } = context();
    const owner = (await http.post(configMaps(), { metadata: { name: 'owner' } })).body;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner['metadata']['uid'] }];
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owned', namespace, finalizers: ['example.com/a'], ownerReferences },
      data: { a: '1' },
    };
    const { status, body } = await http.apply(configMaps('owned'), 'a', config);
    expect(status).toBe(201);
    expect(Object.keys(owners(body)['a Apply']['f:metadata'])).toEqual(['f:finalizers', 'f:ownerReferences']);
    expect(owners(body)['a Apply']['f:metadata']['f:finalizers']).toEqual({ 'v:"example.com/a"': {} });
    const done = await http.apply(configMaps('owned'), 'a', { ...config, metadata: { name: 'owned', namespace } });
    expect(done.body['metadata']['finalizers']).toBeUndefined();
    expect(done.body['metadata']['ownerReferences']).toBeUndefined();
  });
}
