import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane, type Answer } from '../running-control-plane.ts';

const clock = new SkippingClock();
let plane: RunningControlPlane;
let count = 0;

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

type As = { readonly token?: string };
const post = async (path: string, body?: object, as: As = {}): Promise<Answer> =>
  await plane.call('POST', path, body, as);
const newToken = async (body: object, as: As = {}): Promise<string> =>
  String((await post('/admin-tokens', body, as)).body['token']);

describe('a try to get more than one has is audited', () => {
  let as: { readonly token: string };
  let name: string;
  beforeEach(async () => {
    name = `limited-${(count += 1)}`;
    as = { token: await newToken({ name, scopes: ['read', 'organization'] }) };
  });
  const entries = async (): Promise<unknown> =>
    (await plane.call('GET', `/audit?kind=AccessRefused&actor=${name}`)).body['items'];

  it.for([
    ['POST', '/admin-tokens', { name: 'more' }],
    ['POST', '/members', { name: 'more', access: ['admin'] }],
    ['POST', '/organizations', { name: 'more', adminName: 'me' }],
    ['POST', '/organizations/more/admin-token', undefined],
  ] as const)('by %s %s', async ([method, path, body]) => {
    expect((await plane.call(method, path, body, as)).status).toBe(403);
    expect(await entries()).toMatchObject([
      {
        actor: name,
        source: 'user',
        reason: 'forbidden',
        summary: expect.stringContaining(`called ${method} /api/v1`),
      },
    ]);
  });

  it('by reading the metrics from another organization', async () => {
    const token = plane.addOrganization('reader');
    const answer = await fetch(`${plane.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(403);
    const { body } = await plane.call('GET', '/audit?kind=AccessRefused', undefined, { token });
    expect(body['items']).toMatchObject([{ summary: expect.stringContaining('/metrics') }]);
  });
});

describe('the private filters of a token', () => {
  it('go with it, so that a later one of its name does not read them, and shared ones stay', async () => {
    let as = { token: await newToken({ name: 'ci' }) };
    for (const [filter, shared] of [
      ['mine', false],
      ['ours', true],
    ] as const) {
      const body = { list: 'clusters', query: 'health=degraded', shared };
      expect((await plane.call('PUT', `/saved-filters/${filter}`, body, as)).status).toBe(200);
    }
    expect((await plane.call('DELETE', '/admin-tokens/ci')).status).toBe(204);
    as = { token: await newToken({ name: 'ci' }) };
    const { body } = await plane.call('GET', '/saved-filters', undefined, as);
    expect(body['items'].map((one: { name: string }) => one.name)).toEqual(['ours']);
  });
});

describe('an organization without an admin', () => {
  it('gets one by an admin of default, which both audits tell, and the one before ends', async () => {
    const path = '/organizations/lost/admin-token';
    const lost = plane.addOrganization('lost');
    expect(await post(path, undefined, { token: lost })).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    const first = await post(path);
    expect(first).toMatchObject({ status: 201, body: { adminToken: expect.stringMatching(/^svcadm_/) } });
    const as = { token: String(first.body['adminToken']) };
    expect((await plane.call('GET', '/me', undefined, as)).body).toMatchObject({
      name: 'recovery-admin',
      access: ['admin'],
      organization: { name: 'lost' },
    });
    for (const [of, actor] of [
      [{}, 'admin'],
      [as, 'admin (default)'],
    ] as const) {
      const { body } = await plane.call('GET', '/audit?kind=AdminTokenRecovered', undefined, of);
      expect(body['items']).toMatchObject([{ actor, summary: expect.stringContaining('organization lost') }]);
    }
    const again = { token: String((await post(path)).body['adminToken']) };
    expect((await plane.call('GET', '/me', undefined, as)).status).toBe(401);
    expect((await plane.call('GET', '/me', undefined, again)).status).toBe(200);
    expect((await plane.call('DELETE', '/admin-tokens/recovery-admin', undefined, { token: lost })).status).toBe(204);
  });

  it.for([
    ['default', 409],
    ['nowhere', 404],
  ] as const)('is not %s', async ([name, status]) => {
    expect((await post(`/organizations/${name}/admin-token`)).status).toBe(status);
  });

  it('cannot be made by a person or token of that name', async () => {
    for (const path of ['/members', '/admin-tokens']) {
      const answer = await post(path, { name: 'recovery-admin', access: ['viewer'] });
      expect(answer).toMatchObject({ status: 400, body: { faults: [{ path: '/name' }] } });
    }
  });
});
