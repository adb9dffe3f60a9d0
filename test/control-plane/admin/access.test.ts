import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer } from '../../../src/control-plane/http/server.ts';
import { ROUTE_SCOPES } from '../../../src/control-plane/http/admin/route-scopes.ts';
import { requireScope } from '../../../src/control-plane/http/admin/require-scope.ts';
import { ACCESS_ROLES, SCOPES, type AccessRole } from '../../../src/control-plane/access.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { adminRouteList } from '../../support/admin-route-list.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { RunningControlPlane } from '../running-control-plane.ts';

const ROLES = Object.keys(ACCESS_ROLES) as AccessRole[];
/** Whoever asks how to come in has no token yet. */
const OPEN = 'GET /login';

const clock = new SkippingClock();
let plane: RunningControlPlane;
let routes: readonly string[];
const tokens = new Map<string, string>();

beforeAll(async () => {
  plane = await RunningControlPlane.start(clock);
  routes = (await adminRouteList()).filter((route) => route !== OPEN);
  for (const role of ROLES) tokens.set(role, await newToken({ name: `${role}-1`, access: [role] }));
  for (const scope of Object.keys(SCOPES))
    tokens.set(scope, await newToken({ name: `only-${scope}`, scopes: [scope] }));
});
afterAll(async () => await plane[Symbol.asyncDispose]());

async function newToken(body: object): Promise<string> {
  const made = await plane.call('POST', '/admin-tokens', body);
  expect(made.status).toBe(201);
  return String(made.body['token']);
}

/** Routes that refuse a caller for what it has. Bodies are left out: what is refused for access is so before it is read. */
async function refusedTo(token: string): Promise<string[]> {
  const refused: string[] = [];
  for (const route of routes) {
    const [method = '', pattern = ''] = route.split(' ');
    // A parameter that no route reads, so that nothing of what is allowed is done.
    const path = `${pattern.replaceAll(/:\w+/g, 'nowhere')}?unknown=1`;
    const { status, body } = await plane.call(method, path, undefined, { token });
    if (status === 403) {
      expect(body).toMatchObject({ error: 'forbidden', message: expect.stringMatching(/^this needs the scope /) });
      refused.push(route);
    } else expect([route, status]).toEqual([route, 400]);
  }
  return refused;
}

describe('what each may do', () => {
  it('is said of every route, and of no other', () => {
    expect(Object.keys(ROUTE_SCOPES).sort()).toEqual([...routes].sort());
  });

  it('is: everybody who has the scope that the route needs, and nobody else', { timeout: 120_000 }, async () => {
    for (const [who, token] of tokens) {
      const scopes: readonly string[] = who in ACCESS_ROLES ? ACCESS_ROLES[who as AccessRole] : [who];
      const expected = routes.filter((route) => ![...scopes, 'any'].includes(String(ROUTE_SCOPES[route])));
      expect([who, await refusedTo(token)]).toEqual([who, expected]);
    }
  });

  it.for([
    ['viewer', 'POST', '/clusters/:cluster/intents'],
    ['deployer', 'POST', '/intents/:intent/approve'],
    ['approver', 'POST', '/clusters/:cluster/intents'],
    ['approver', 'POST', '/proposals/:proposal/merge', true],
    ['deployer', 'POST', '/intents/:intent/cancel', true],
    ['viewer', 'GET', '/audit', true],
    ['deployer', 'POST', '/members'],
    ['approver', 'POST', '/admin-tokens'],
  ] as const)('lets or does not let a %s %s %s', async ([role, method, pattern, isAllowed = false]) => {
    const path = pattern.replaceAll(/:\w+/g, 'nowhere');
    const { status } = await plane.call(method, `${path}?unknown=1`, undefined, { token: tokens.get(role) ?? '' });
    expect(status).toBe(isAllowed ? 400 : 403);
  });

  it('is said in the refusal, and is audited once a minute for each person', async () => {
    const token = tokens.get('viewer') ?? '';
    const answer = await plane.call('DELETE', '/catalog/podinfo', undefined, { token });
    expect(answer.body['message']).toBe(
      'this needs the scope catalog, and viewer-1 has only read; ask an admin of the organization default for the access admin, or use a token with that scope',
    );
    clock.skip(61_000);
    const before = (await plane.call('GET', '/audit?kind=AccessRefused')).body['items'].length;
    for (let call = 0; call < 5; call += 1) await plane.call('DELETE', '/catalog/podinfo', undefined, { token });
    const { body } = await plane.call('GET', '/audit?kind=AccessRefused');
    expect(body['items'].length).toBe(before + 1);
    expect(body['items'][0]).toMatchObject({
      actor: 'viewer-1',
      source: 'user',
      reason: 'forbidden',
      summary: 'viewer-1 called DELETE /api/v1/catalog/:name without the scope catalog',
    });
  });

  it('needs what GET needs where only the head is asked for', async () => {
    const token = tokens.get('deploy') ?? '';
    const head = async (path: string) =>
      await fetch(`${plane.url}/api/v1${path}`, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } });
    expect((await head('/clusters')).status).toBe(403);
  });

  it('must be said of a route, or the program does not start', async () => {
    const logger = createLogger('test', 'silent');
    const deps = {
      clock: systemClock,
      logger,
      randomBytes: (n: number) => new Uint8Array(n),
      ready: async () => undefined,
    };
    const app = createHttpServer(deps);
    app.register(
      async (scope) => {
        requireScope(scope, { refusals: { record: async () => undefined } });
        scope.get('/forgotten', async () => 'open');
      },
      { prefix: '/api/v1' },
    );
    await expect(app.ready()).rejects.toThrow('GET /api/v1/forgotten has no row in http/admin/route-scopes.ts');
  });
});

describe('GET /me', () => {
  it('says who calls, and what a token lets do', async () => {
    const { body } = await plane.call('GET', '/me', undefined, { token: tokens.get('deployer') ?? '' });
    expect(body).toEqual({
      name: 'deployer-1',
      member: false,
      organization: { id: expect.any(String), name: 'default' },
      organizations: [{ id: expect.any(String), name: 'default' }],
      access: ['deployer'],
      roles: [],
      scopes: ['read', 'deploy'],
      via: 'token',
    });
  });

  it('is answered to whoever is let in, whatever he or she may do', async () => {
    const answer = await plane.call('GET', '/me', undefined, { token: tokens.get('deploy') ?? '' });
    expect(answer).toMatchObject({ status: 200, body: { name: 'only-deploy', scopes: ['deploy'] } });
  });
});
