import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CheckLimitClock } from '../../support/check-limit-clock.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

const PATTERN = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
/** Against `PATTERN` it takes longer than anybody waits. */
const ENDLESS = `${'a'.repeat(60)}!`;

let clock: CheckLimitClock;
let plane: RunningControlPlane;
let stranger: string;

beforeAll(async () => {
  clock = new CheckLimitClock();
  plane = await RunningControlPlane.start(clock);
  await plane.call('PUT', '/catalog/patterned', { ...PODINFO, valuesSchema: PATTERN });
  await plane.newCluster('patterned', { allowedCatalogEntries: ['patterned'] });
  stranger = plane.addOrganization('stranger');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function install(values: object, entry = 'patterned') {
  return await plane.call('POST', '/clusters/patterned/intents', { ...INSTALL, catalogEntry: entry, values });
}

async function running(count: number): Promise<void> {
  await expect.poll(() => clock.held, { timeout: 10_000, interval: 2 }).toBe(count);
}

describe('a valuesSchema whose check does not end', () => {
  it('holds up its own intent only, which is refused with the entry and the limit', async () => {
    const before = await plane.traces();
    const endless = install({ a: ENDLESS });
    await running(1);
    expect((await fetch(`${plane.url}/healthz`)).status).toBe(200);
    const other = { ...PODINFO, valuesSchema: PATTERN, defaultValues: { a: 'b' } };
    expect(await plane.call('PUT', '/catalog/other', other, { token: stranger })).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/defaultValues/a' }] },
    });
    expect(clock.held).toBe(1);
    clock.passLimit();
    expect(await endless).toMatchObject({
      status: 400,
      body: {
        error: 'constraint_violated',
        faults: [
          {
            path: '/values',
            message: expect.stringMatching(/valuesSchema of catalog entry patterned: .* more than 1000 ms; mend/),
            allowed: { maxMilliseconds: 1000 },
          },
        ],
      },
    });
    expect(await plane.traces()).toEqual(before);
  });

  it('is refused when it is put with default values that show it', async () => {
    const body = { ...PODINFO, valuesSchema: PATTERN, defaultValues: { a: ENDLESS } };
    const endless = plane.call('PUT', '/catalog/endless', body);
    await running(1);
    clock.passLimit();
    expect(await endless).toMatchObject({
      status: 400,
      body: {
        faults: [{ path: '/valuesSchema', message: expect.stringMatching(/more than 1000 ms; make it simpler/) }],
      },
    });
    expect((await plane.call('GET', '/catalog/endless')).status).toBe(404);
  });

  it('is not begun for values that are too large to be installed', async () => {
    const answer = await install({ a: ENDLESS, text: 'x'.repeat(600 * 1024) });
    expect(answer).toMatchObject({ status: 413, body: { error: 'payload_too_large', faults: [{ path: '/values' }] } });
    expect(clock.held).toBe(0);
  });
});

describe('a valuesSchema that goes in circles', () => {
  it.each([
    ['at once', { $ref: '#' }, '/valuesSchema/$ref'],
    ['through a part', { allOf: [{ $ref: '#' }] }, '/valuesSchema/allOf/0/$ref'],
    [
      'where an intent sets a value',
      { definitions: { x: { anyOf: [{ $ref: '#/definitions/x' }] } }, properties: { a: { $ref: '#/definitions/x' } } },
      '/valuesSchema/definitions/x/anyOf/0/$ref',
    ],
  ])('%s is refused when it is put', async (_, valuesSchema, path) => {
    expect(await plane.call('PUT', '/catalog/circle', { ...PODINFO, valuesSchema })).toMatchObject({
      status: 400,
      body: { error: 'constraint_violated', faults: [{ path }] },
    });
  });

  it('refuses each intent with words when an earlier version took it', async () => {
    await plane.call('PUT', '/catalog/old', { ...PODINFO, valuesSchema: {} });
    await plane.execute("UPDATE catalog_entries SET values_schema = ? WHERE name = 'old'", '{"allOf":[{"$ref":"#"}]}');
    await plane.call('PATCH', '/clusters/patterned', { allowedCatalogEntries: ['patterned', 'old'] });
    expect(await install({}, 'old')).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/values', message: expect.stringContaining('catalog entry old: it goes too deep') }] },
    });
  });

  it('but through members is a tree, by which intents are judged', async () => {
    const valuesSchema = { properties: { n: { type: 'integer' }, sub: { $ref: '#' } } };
    await plane.call('PUT', '/catalog/tree', { ...PODINFO, valuesSchema });
    await plane.call('PATCH', '/clusters/patterned', { allowedCatalogEntries: ['patterned', 'tree'] });
    expect(await install({ sub: { sub: { n: 'x' } } }, 'tree')).toMatchObject({
      status: 400,
      body: { faults: [{ path: '/values/sub/sub/n', allowed: 'integer' }] },
    });
    expect(await install({ sub: { sub: { n: 1 } } }, 'tree')).toMatchObject({ status: 202 });
  });
});

it('takes no minutes to refuse a long list of one name', async () => {
  const allowedNamespaces = Array.from({ length: 100_000 }, () => 'shop');
  const cluster = { slug: 'x', displayName: 'x', allowedCatalogEntries: [], allowedOperationTemplates: [] };
  expect(await plane.call('POST', '/clusters', { ...cluster, allowedNamespaces })).toMatchObject({
    status: 400,
    body: { faults: [{ path: '/allowedNamespaces', message: 'must not have more than 1000 items' }] },
  });
  expect(await plane.call('POST', '/clusters', { ...cluster, allowedNamespaces: ['shop', 'shop'] })).toMatchObject({
    status: 400,
    body: { faults: [{ path: '/allowedNamespaces', message: 'must not have duplicate items' }] },
  });
});
