import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ContractContext } from './contract-context.ts';
import type { HttpAnswer, Json } from './kube-http.ts';
import { DEFINITIONS, gadgetDefinition } from './gadget-definition.ts';

const GROUP = 'schemas.example.com';

function faultsOf({ status, body }: HttpAnswer): readonly unknown[] {
  const causes = (body['details']?.['causes'] ?? []) as Json[];
  return [status, ...causes.map(({ reason, field, message }) => [reason, field, message] as unknown)];
}

/** What a definition's schema does to the objects of its kind. */
export function describeSchemas(context: () => ContractContext): void {
  const path = (name?: string, more = ''): string =>
    `/apis/${GROUP}/v1/namespaces/${context().namespace}/gadgets${name === undefined ? '' : `/${name}`}${more}`;
  const gadget = (name: string, spec: unknown, more: Json = {}): Json => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'Gadget',
    metadata: { name },
    spec,
    ...more,
  });

  beforeAll(async () => {
    const { http } = context();
    await http.post(DEFINITIONS, gadgetDefinition(GROUP));
    await http.eventually(path(), ({ status }) => status === 200);
  });
  afterAll(async () => {
    await context().http.delete(`${DEFINITIONS}/gadgets.${GROUP}`);
  });

  it.each<readonly [string, unknown, string, string, string]>([
    [
      'a text for a number',
      { size: 'big' },
      'Invalid',
      'size',
      'Invalid value: "string": spec.size in body must be of type integer: "string"',
    ],
    [
      'a fraction for a whole number',
      { size: 1.5 },
      'Invalid',
      'size',
      'Invalid value: "number": spec.size in body must be of type integer: "number"',
    ],
    ['no required field', {}, 'Required', 'size', 'Required value'],
    [
      'a number below the minimum',
      { size: 0 },
      'Invalid',
      'size',
      'Invalid value: 0: spec.size in body should be greater than or equal to 1',
    ],
    [
      'a number above the maximum',
      { size: 11 },
      'Invalid',
      'size',
      'Invalid value: 11: spec.size in body should be less than or equal to 10',
    ],
    [
      'an exclusive bound',
      { size: 1, ratio: 2.5 },
      'Invalid',
      'ratio',
      'Invalid value: 2.5: spec.ratio in body should be less than 2.5',
    ],
    [
      'no multiple',
      { size: 1, ratio: 0.75 },
      'Invalid',
      'ratio',
      'Invalid value: 0.75: spec.ratio in body should be a multiple of 0.5',
    ],
    [
      'a value outside the enum',
      { size: 1, color: 'blue' },
      'NotSupported',
      'color',
      'Unsupported value: "blue": supported values: "red", "green"',
    ],
    [
      'a text that is too short',
      { size: 1, code: 'x' },
      'Invalid',
      'code',
      'Invalid value: "x": spec.code in body should be at least 2 chars long',
    ],
    [
      'a text that is too long',
      { size: 1, code: 'abcde' },
      'Invalid',
      'code',
      'Invalid value: "abcde": spec.code in body should be at most 4 chars long',
    ],
    [
      'a text outside the pattern',
      { size: 1, code: 'AB' },
      'Invalid',
      'code',
      `Invalid value: "AB": spec.code in body should match '^[a-z]+$'`,
    ],
    [
      'no date-time',
      { size: 1, when: '2020-02-30T00:00:00Z' },
      'Invalid',
      'when',
      'Invalid value: "2020-02-30T00:00:00Z": spec.when in body must be of type date-time: "2020-02-30T00:00:00Z"',
    ],
    [
      'no IPv4 address',
      { size: 1, address: '1.2.3' },
      'Invalid',
      'address',
      'Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"',
    ],
    [
      'too few items',
      { size: 1, list: [] },
      'Invalid',
      'list',
      'Invalid value: 0: spec.list in body should have at least 1 items',
    ],
    [
      'too many items',
      { size: 1, list: ['a', 'b', 'c'] },
      'Invalid',
      'list',
      'Invalid value: 3: spec.list in body should have at most 2 items',
    ],
    ['an item twice in a set', { size: 1, tags: ['a', 'b', 'a'] }, 'Duplicate', 'tags[2]', 'Duplicate value: "a"'],
    [
      'a key twice in a keyed list, by a default',
      { size: 1, ports: [{ port: 1 }, { port: 1, protocol: 'TCP' }] },
      'Duplicate',
      'ports[1]',
      'Duplicate value: map[string]interface {}{"port":1, "protocol":"TCP"}',
    ],
    [
      'too few properties',
      { size: 1, map: {} },
      'Invalid',
      'map',
      'Invalid value: 1: spec.map in body should have at least 1 properties',
    ],
    [
      'a wrong additional property',
      { size: 1, map: { a: 'x' } },
      'Invalid',
      'map.a',
      'Invalid value: "string": spec.map.a in body must be of type integer: "string"',
    ],
    [
      'neither a number nor a text',
      { size: 1, either: true },
      'Invalid',
      'either',
      'Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"',
    ],
    [
      'what a not forbids',
      { size: 1, word: 'bad' },
      'Invalid',
      '<nil>',
      'Invalid value: "": "spec.word" must not validate the schema (not)',
    ],
  ])('refuses %s in the words of the real server', async (_, spec, reason, field, message) => {
    const { http } = context();
    const answer = await http.post(path(), gadget('refused', spec));
    const at = field === '<nil>' ? field : `spec.${field}`;
    expect(faultsOf(answer)).toEqual([422, [`FieldValue${reason}`, at, message]]);
    expect(answer.body).toMatchObject({
      reason: 'Invalid',
      message: `Gadget.${GROUP} "refused" is invalid: ${at}: ${message}`,
      details: { name: 'refused', group: GROUP, kind: 'Gadget' },
    });
  });

  it('names every alternative that did not fit, the closest one in full', async () => {
    const { http } = context();
    const one = await http.post(path(), gadget('refused', { size: 1, one: { a: 'a', b: 'b' } }));
    const text = 'must validate one and only one schema (oneOf). Found 2 valid alternatives';
    expect(faultsOf(one)).toEqual([422, ['FieldValueInvalid', '<nil>', `Invalid value: "": "spec.one" ${text}`]]);
    const any = await http.post(path(), gadget('refused', { size: 1, any: {} }));
    expect(faultsOf(any)).toEqual([
      422,
      ['FieldValueInvalid', '<nil>', 'Invalid value: "": "spec.any" must validate at least one schema (anyOf)'],
      ['FieldValueRequired', 'spec.any.a', 'Required value'],
    ]);
  });

  it('lists all faults of an object, its name first', async () => {
    const { http } = context();
    const { status, body } = await http.post(path(), gadget('Bad_Name', { size: 'x', color: 'blue' }));
    const fields = (body['details']['causes'] as Json[]).map(({ field }) => String(field));
    expect([status, fields[0], fields.slice(1).toSorted()]).toEqual([
      422,
      'metadata.name',
      ['spec.color', 'spec.size'],
    ]);
  });

  it('prunes what the schema does not know, but for where it says not to', async () => {
    const { http } = context();
    const spec = { size: 1, unknown: 1, open: { any: 1, inner: { a: 'x', unknown: 1 } } };
    const { status, body } = await http.post(path(), gadget('pruned', spec, { unknown: 1 }));
    expect([status, body['spec'], body['unknown']]).toEqual([
      201,
      { size: 1, open: { any: 1, inner: { a: 'x' } }, settings: { level: 5 } },
      undefined,
    ]);
    const patched = await http.patch(path('pruned'), 'merge', { spec: { typo: 1 } });
    expect(patched.body['spec']['typo']).toBeUndefined();
  });

  it('fills in defaults, level by level, also for a null that is not allowed', async () => {
    const { http } = context();
    const { body } = await http.post(
      path(),
      gadget('filled', { size: 1, settings: { level: null }, maybe: null, code: null }),
    );
    expect(body['spec']).toEqual({ size: 1, settings: { level: 5 }, maybe: null });
  });

  it('holds embedded resources to what every object has', async () => {
    const { http } = context();
    const bare = await http.post(path(), gadget('refused', { size: 1, template: {} }));
    expect(faultsOf(bare)).toEqual([
      422,
      ['FieldValueRequired', 'spec.template.apiVersion', 'Required value: must not be empty'],
      ['FieldValueRequired', 'spec.template.kind', 'Required value: must not be empty'],
    ]);
    const template = { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', unknown: 1 }, data: { a: 'b' } };
    const { body } = await http.post(path(), gadget('embedding', { size: 1, template }));
    expect(body['spec']['template']).toEqual({ ...template, metadata: { name: 'a' } });
  });

  it('holds updates, patches and the status to the same schema', async () => {
    const { http } = context();
    const live = (await http.post(path(), gadget('held', { size: 1 }))).body;
    const answers = [
      await http.put(path('held'), { ...live, spec: { size: 99 } }),
      await http.patch(path('held'), 'merge', { spec: { size: 'x' } }),
      await http.patch(path('held'), 'merge', { spec: { size: null } }),
      await http.patch(path('held'), 'json', [{ op: 'replace', path: '/spec/size', value: 'x' }]),
      await http.patch(path('held', '/status'), 'merge', { status: { phase: 'sideways' } }),
    ];
    expect(answers.map(({ status, body }) => [status, body['details']['causes'][0]['field']])).toEqual([
      [422, 'spec.size'],
      [422, 'spec.size'],
      [422, 'spec.size'],
      [422, 'spec.size'],
      [422, 'status.phase'],
    ]);
    const up = await http.patch(path('held', '/status'), 'merge', { status: { phase: 'up', unknown: 1 } });
    expect([up.status, up.body['status']]).toEqual([200, { phase: 'up' }]);
  });

  it('shows new defaults of objects that are older than they', async () => {
    const { http } = context();
    await http.post(path(), gadget('older', { size: 1 }));
    const definition = (await http.get(`${DEFINITIONS}/gadgets.${GROUP}`)).body;
    definition['spec']['versions'][0]['schema']['openAPIV3Schema']['properties']['spec']['properties']['late'] = {
      type: 'string',
      default: 'new',
    };
    expect((await http.put(`${DEFINITIONS}/gadgets.${GROUP}`, definition)).status).toBe(200);
    const { body } = await http.eventually(path('older'), (answer) => answer.body['spec']?.['late'] !== undefined);
    expect(body['spec']).toMatchObject({ size: 1, late: 'new' });
  });
}
