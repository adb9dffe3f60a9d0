import { expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import { DEFINITIONS } from './gadget-definition.ts';
import type { Json } from './kube-http.ts';

const GROUP = 'definitions.example.com';
const ROOT = 'spec.validation.openAPIV3Schema';
const text = { type: 'string' };

function object(properties: Json, more: Json = {}): Json {
  return { type: 'object', properties, ...more };
}

function definition(schema: unknown, spec: Json = {}, version: Json = {}): Json {
  const first = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${GROUP}` },
    spec: { group: GROUP, scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions: [first], ...spec },
  };
}

const keyed = { type: 'array', items: object({ k: text }), 'x-kubernetes-list-type': 'map' };

/** What of a CustomResourceDefinition is refused, and how names are shared out. */
export function describeDefinitions(context: () => ContractContext): void {
  it.each<readonly [string, Json, string, string]>([
    [
      'a field without a type',
      definition(object({ spec: {} })),
      `${ROOT}.properties[spec].type`,
      'Required value: must not be empty for specified object fields',
    ],
    [
      'a list without items',
      definition(object({ l: { type: 'array' } })),
      `${ROOT}.properties[l].items`,
      'Required value: must be specified',
    ],
    ['a root without a type', definition({}), `${ROOT}.type`, 'Required value: must not be empty at the root'],
    [
      'properties beside additionalProperties',
      definition(object({ s: object({ a: text }, { additionalProperties: text }) })),
      `${ROOT}.properties[s].additionalProperties`,
      'Forbidden: additionalProperties and properties are mutual exclusive',
    ],
    [
      'uniqueItems',
      definition(object({ l: { type: 'array', items: text, uniqueItems: true } })),
      `${ROOT}.properties[l].uniqueItems`,
      'Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    ],
    [
      'an unknown list type',
      definition(object({ l: { type: 'array', items: text, 'x-kubernetes-list-type': 'bag' } })),
      `${ROOT}.properties[l].x-kubernetes-list-type`,
      'Unsupported value: "bag": supported values: "atomic", "set", "map"',
    ],
    [
      'a keyed list without keys',
      definition(object({ l: keyed })),
      `${ROOT}.properties[l].x-kubernetes-list-map-keys`,
      'Required value: must not be empty if x-kubernetes-list-type is map',
    ],
    [
      'a key that may be absent',
      definition(object({ l: { ...keyed, 'x-kubernetes-list-map-keys': ['k'] } })),
      `${ROOT}.properties[l].items.properties[k].default`,
      'Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    ],
    [
      'a type inside anyOf',
      definition(object({ s: object({ a: text }, { anyOf: [{ type: 'object' }] }) })),
      `${ROOT}.properties[s].anyOf[0].type`,
      'Forbidden: must be empty to be structural',
    ],
    [
      'a schema for labels',
      definition(object({ metadata: object({ labels: { type: 'object' } }) })),
      `${ROOT}.properties[metadata]`,
      'Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [
      'a default of another type',
      definition(object({ a: { type: 'string', default: 5 } })),
      `${ROOT}.properties[a].default`,
      'Invalid value: "integer": properties[a].default in body must be of type string: "integer"',
    ],
    [
      'a default with unknown fields',
      definition(object({ a: object({ b: text }, { default: { c: 1 } }) })),
      `${ROOT}.properties[a].default`,
      'Invalid value: map[string]interface {}{"c":1}: must not have unknown fields',
    ],
    [
      'a version without a schema',
      definition(undefined, {}, { schema: undefined }),
      'spec.versions[0].schema.openAPIV3Schema',
      'Required value: schemas are required',
    ],
    ['no scope', definition(object({}), { scope: undefined }), 'spec.scope', 'Required value'],
    [
      'a scope that is none',
      definition(object({}), { scope: 'Wide' }),
      'spec.scope',
      'Unsupported value: "Wide": supported values: "Cluster", "Namespaced"',
    ],
    [
      'a column without a path',
      definition(object({}), {}, { additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: '' }] }),
      'spec.additionalPrinterColumns[0].JSONPath',
      'Required value',
    ],
    [
      'preserveUnknownFields',
      definition(object({}), { preserveUnknownFields: true }),
      'spec.preserveUnknownFields',
      'Invalid value: true: cannot set to true, set x-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ])('refuses %s in the words of the real server', async (_, body, field, message) => {
    const answer = await context().http.post(`${DEFINITIONS}?dryRun=All`, body);
    const causes = (answer.body['details']?.['causes'] ?? []) as Json[];
    // What a default is called inside its own check is not told here.
    const said = causes.map((cause) => [
      cause['field'],
      String(cause['message']).replace(/: +in body/, `: ${field.slice(ROOT.length + 1)} in body`),
    ]);
    expect([answer.status, said]).toEqual([422, [[field, message]]]);
  });

  it('keeps the names of an established definition, and lets nobody else have them', async () => {
    const { http } = context();
    const path = `${DEFINITIONS}/things.${GROUP}`;
    await http.post(DEFINITIONS, definition(object({})));
    const established = ({ body }: { readonly body: Json }): boolean =>
      ((body['status']?.['conditions'] ?? []) as Json[]).some(
        ({ type, status }) => type === 'Established' && status === 'True',
      );
    const live = (await http.eventually(path, established)).body;
    const moved = await http.put(path, { ...live, spec: { ...live['spec'], scope: 'Cluster' } });
    expect([moved.status, moved.body['details']['causes']]).toEqual([
      422,
      [{ reason: 'FieldValueInvalid', field: 'spec.scope', message: 'Invalid value: "Cluster": field is immutable' }],
    ]);

    const other = definition(object({}), {
      names: { plural: 'others', kind: 'Thing', singular: 'other', listKind: 'Others' },
    });
    await http.post(DEFINITIONS, { ...other, metadata: { name: `others.${GROUP}` } });
    const second = `${DEFINITIONS}/others.${GROUP}`;
    const judged = await http.eventually(second, ({ body }) => (body['status']?.['conditions'] ?? []).length > 1);
    expect(judged.body['status']['conditions']).toMatchObject([
      { type: 'NamesAccepted', status: 'False', reason: 'KindConflict', message: '"Thing" is already in use' },
      { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    ]);
    expect((await http.get(`/apis/${GROUP}/v1/others`)).status).toBe(404);
    await http.delete(path);
    expect(established(await http.eventually(second, established))).toBe(true);
    await http.delete(second);
  });

  it('takes no POST while a definition is being deleted, not even a dry run, but makes what is applied', async () => {
    const { http } = context();
    const path = `${DEFINITIONS}/things.${GROUP}`;
    const things = `/apis/${GROUP}/v1/namespaces/default/things`;
    const thing = (name: string, finalizers: readonly string[] = []): Json => ({
      apiVersion: `${GROUP}/v1`,
      kind: 'Thing',
      metadata: { name, ...(finalizers.length === 0 ? {} : { finalizers }) },
    });
    await http.post(DEFINITIONS, definition(object({})));
    await http.eventually(things, ({ status }) => status === 200);
    await http.post(things, thing('held', ['example.com/held']));
    await http.delete(path);
    await http.eventually(`${things}/held`, ({ body }) => body['metadata']?.['deletionTimestamp'] !== undefined);
    const refused = await http.post(`${things}?dryRun=All`, thing('new'));
    expect([refused.status, refused.body['reason'], refused.body['message']]).toEqual([
      405,
      'MethodNotAllowed',
      'create not allowed while custom resource definition is terminating',
    ]);
    expect((await http.post(things, thing('new'))).status).toBe(405);
    expect((await http.apply(`${things}/new`, 'someone', thing('new'))).status).toBe(201);
    const free = { metadata: { finalizers: null } };
    await http.delete(`${things}/new`);
    await http.patch(`${things}/held`, 'merge', free);
    await http.eventually(path, ({ status }) => status === 404);
  });
}
