import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminRouteList } from '../../support/admin-route-list.ts';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

/** Bodies that are taken where a route needs one, so that nothing but what is not read is wrong. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /clusters': {
    slug: 'prod-us',
    displayName: 'prod-us',
    allowedNamespaces: [],
    allowedCatalogEntries: [],
    allowedOperationTemplates: [],
  },
  'PATCH /clusters/:cluster': { displayName: 'other' },
  'POST /clusters/:cluster/intents': INSTALL,
  'POST /clusters/:cluster/mode': { mode: 'pull' },
  'PUT /clusters/:cluster/push-credential': { kubeconfig: 'a: b' },
  'PUT /catalog/:name': PODINFO,
  'PUT /operation-templates/:name': { run: { template: 'run-job', parameters: { image: 'a' } } },
  'PUT /catalog/:name/credentials': { username: 'robot', password: 'a-password' },
  'PATCH /organization': { rotationGraceSeconds: 7200 },
  'POST /channel/webhooks': { name: 'chat', url: 'https://chat.example.com/x' },
  'POST /clusters/:cluster/accept-removals': { revision: 'a'.repeat(40) },
  'POST /proposals/:proposal/comment': { comment: 'a' },
  'PUT /repositories/:name': {
    url: 'https://git.example.com/acme/fleet.git',
    host: 'git',
    write: { kind: 'token', token: 'a-token-of-nobody' },
  },
  'PUT /repositories/:name/credentials': { write: { kind: 'token', token: 'a-token-of-nobody' } },
  'PUT /saved-filters/:name': { list: 'clusters', query: 'health=degraded' },
  'POST /admin-tokens': { name: 'anna' },
  'POST /members': { name: 'anna', access: ['viewer'] },
  'PATCH /members/:member': { access: ['viewer'] },
  'POST /organizations': { name: 'team-b', adminName: 'berta' },
  'POST /repositories/:name/layout': { layout: 'sharded' },
  'POST /clusters/:cluster/trust-revision': { revision: 'a'.repeat(40) },
  'POST /commit-signing-keys': { principal: 'anna@example.com', publicKey: 'ssh-ed25519 AAAA' },
  'PUT /organization/recovery-key': { publicKey: { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(43), kid: 'k' } },
};
const NAMES: Readonly<Record<string, string>> = {
  ':cluster': 'prod-eu',
  ':name': 'podinfo',
  ':webhook': 'chat',
  ':commit': 'a'.repeat(40),
};

/** What these need in their query, so that nothing but what is not read is wrong. */
const QUERIES: Readonly<Record<string, string>> = {
  'GET /repositories/:name/diff': `&from=${'a'.repeat(40)}&to=${'b'.repeat(40)}`,
  'GET /repositories/:name/blame': '&cluster=prod-eu&namespace=shop&name=podinfo',
};

let plane: RunningControlPlane;
let routes: readonly string[];

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  routes = await adminRouteList();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

/** The answers to one call of each route, by route: status, code and first fault. */
async function answers(of: readonly string[], query: string, bodyOf: (route: string) => unknown) {
  const seen: Record<string, string> = {};
  for (const route of of) {
    const [method = '', pattern = ''] = route.split(' ');
    const path = pattern.replaceAll(/:\w+/g, (name) => NAMES[name] ?? 'x');
    const { status, body } = await plane.call(
      method,
      `${path}${query}${query === '' ? '' : (QUERIES[route] ?? '')}`,
      bodyOf(route),
    );
    const { path: where, message } = body['faults']?.[0] ?? {};
    // Whatever is known there is said behind it.
    seen[route] =
      `${status} ${body['error']} ${where} ${String(message).replace(/( here|; the known fields are .*)$/, '')}`;
  }
  return seen;
}

const alike = (of: readonly string[], answer: string) => Object.fromEntries(of.map((route) => [route, answer]));

describe('what a route of the admin API does not read', () => {
  it('is refused on every route where it is a parameter, and nothing is done', async () => {
    const before = await plane.traces();
    const seen = await answers(routes, '?unknown=1', (route) => BODIES[route]);
    expect(seen).toEqual(alike(routes, '400 constraint_violated /unknown is not known'));
    expect(await plane.traces()).toEqual(before);
  });

  it('says of dryRun where there is one, and does not carry the request out', async () => {
    const before = await plane.traces();
    const seen = await answers(routes, '?dryRun=true', (route) => BODIES[route]);
    const message =
      'is not known: of POST /clusters/{id}/mode it is a field of the body, and there is no other dry run; nothing was done';
    expect(seen).toEqual(alike(routes, `400 constraint_violated /dryRun ${message}`));
    expect(await plane.traces()).toEqual(before);
  });

  it('is refused on every route where it is a field of the body', async () => {
    const before = await plane.traces();
    const writes = routes.filter((route) => !route.startsWith('GET '));
    const seen = await answers(writes, '', (route) => ({ ...(BODIES[route] as object | undefined), unknown: 1 }));
    expect(seen).toEqual(alike(writes, '400 constraint_violated /unknown is not known'));
    expect(await plane.traces()).toEqual(before);
  });

  it('is refused on every route as a body that is null: that was sent, and is not no body', async () => {
    const before = await plane.traces();
    const writes = routes.filter((route) => !route.startsWith('GET '));
    const seen = await answers(writes, '', () => 'null');
    expect(seen).toEqual(alike(writes, '400 constraint_violated  must be an object'));
    expect(await plane.traces()).toEqual(before);
  });
});
