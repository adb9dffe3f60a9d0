import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start(systemClock, { SERVICE_GIT_ALLOW_PRIVATE: 'true' });
  await plane.putPodinfo();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function create(slug: string, repository?: string) {
  return await plane.call('POST', '/clusters', {
    slug,
    displayName: slug,
    connectivityMode: 'gitops',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    ...(repository === undefined ? {} : { git: { repository } }),
  });
}

it('a cluster whose repository was not known is answered with a warning, once, and of the shared one never', async () => {
  const { body } = await create('first', 'fleet-lba');
  expect(body['warnings']).toEqual([expect.stringContaining('servicectl repositories delete fleet-lba')]);
  expect((await create('second', 'fleet-lba')).body['warnings']).toBeUndefined();
  expect((await create('third')).body['warnings']).toBeUndefined();
});

it('one of the own host is deleted while nothing was written to it, and its name is free for another host then', async () => {
  await create('slip', 'typo');
  const used = await plane.call('DELETE', '/repositories/typo');
  expect([used.status, used.body['message']]).toEqual([409, expect.stringContaining('is used by slip: delete')]);
  await plane.call('DELETE', '/clusters/slip');
  const host = { url: 'http://127.0.0.1:1/x.git', host: 'git', write: { kind: 'token', token: 'a-token-of-nobody' } };
  const set = await plane.call('PUT', '/repositories/typo', host);
  expect([set.status, set.body['message']]).toEqual([409, expect.stringContaining('delete this one first')]);
  expect((await plane.call('DELETE', '/repositories/typo')).status).toBe(204);
  expect((await plane.call('PUT', '/repositories/typo', host)).status).toBe(201);
  expect((await plane.call('DELETE', '/repositories/typo')).status).toBe(204);
  expect((await create('again', 'typo')).status).toBe(201);
  const { body } = await plane.call('POST', '/clusters/again/intents', INSTALL);
  await plane.until(String(body['id']), 'delivered');
});

it('one that holds what was delivered is kept, also when nobody uses it any more', async () => {
  await create('written', 'record');
  const { body } = await plane.call('POST', '/clusters/written/intents', INSTALL);
  await plane.until(String(body['id']), 'delivered');
  await plane.call('DELETE', '/clusters/written');
  const kept = await plane.call('DELETE', '/repositories/record');
  expect([kept.status, kept.body['message']]).toEqual([409, expect.stringContaining('it is kept as the record')]);
  expect((await plane.call('GET', '/repositories/record')).status).toBe(200);
});
