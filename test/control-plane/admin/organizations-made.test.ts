import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PODINFO, RunningControlPlane, type Answer } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
});
afterAll(async () => await plane[Symbol.asyncDispose]());

const make = async (name: string, as = {}): Promise<Answer> =>
  await plane.call('POST', '/organizations', { name, adminName: 'boss' }, as);
const named = (answer: Answer): string[] => answer.body['items'].map(({ name }: { name: string }) => name);

describe('organizations', () => {
  it('are made by an admin of default, with a token of their first admin that is shown once', async () => {
    const made = await make('team-b');
    const organization = { id: expect.stringMatching(/^org-/), name: 'team-b', createdAt: expect.any(String) };
    expect(made).toMatchObject({ status: 201, body: { organization, adminToken: expect.stringMatching(/^svcadm_/) } });
    const as = { token: String(made.body['adminToken']) };
    expect((await plane.call('GET', '/me', undefined, as)).body).toMatchObject({
      name: 'boss',
      access: ['admin'],
      organization: { name: 'team-b' },
    });
    const { body: audit } = await plane.call('GET', '/audit?kind=OrganizationCreated', undefined, as);
    expect(audit['items']).toMatchObject([{ actor: 'admin (default)' }]);
    expect(named(await plane.call('GET', '/organizations'))).toEqual(['default', 'team-b']);
    expect((await plane.call('GET', '/organizations/team-b')).body).toEqual(organization);
    // Its admin knows of it alone, and makes none.
    expect(named(await plane.call('GET', '/organizations', undefined, as))).toEqual(['team-b']);
    expect((await plane.call('GET', '/organizations/default', undefined, as)).status).toBe(404);
    expect((await make('team-c', as)).status).toBe(403);
    expect((await plane.call('DELETE', '/organizations/team-b', undefined, as)).status).toBe(403);
  });

  it('are listed by pages', async () => {
    await make('team-c');
    const first = await plane.call('GET', '/organizations?limit=2');
    expect(named(first)).toEqual(['default', 'team-b']);
    expect(named(await plane.call('GET', `/organizations?cursor=${first.body['nextCursor']}`))).toEqual(['team-c']);
  });

  it.for([
    ['a name that is taken', 'team-b', 409],
    ['the name of the first one', 'default', 409],
    ['the name that the Git host has for itself', 'clusters', 400],
    ['a name that is none', 'Team B', 400],
  ] as const)('are not made with %s', async ([, name, status]) => {
    const answer = await make(name);
    expect(answer).toMatchObject({ status, body: { faults: [expect.objectContaining({ path: '/name' })] } });
  });

  it('are not deleted while they have something that runs, which is said by name', async () => {
    const as = { token: String((await make('busy')).body['adminToken']) };
    await plane.call('PUT', '/catalog/podinfo', PODINFO, as);
    const cluster = {
      slug: 'prod-eu',
      displayName: 'prod-eu',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode: 'pull',
    };
    expect((await plane.call('POST', '/clusters', cluster, as)).status).toBe(201);
    const remove = async () => await plane.call('DELETE', '/organizations/busy');
    expect(await remove()).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/^the organization busy has clusters prod-eu.*: delete them first$/) },
    });
    await plane.call('DELETE', '/clusters/prod-eu?force=true', undefined, as);
    await plane.call('POST', '/members', { name: 'anna', access: ['viewer'] }, as);
    await plane.call('POST', '/channel/webhooks', { name: 'chat', url: 'https://chat.example.com/x' }, as);
    expect((await remove()).status).toBe(204);
    expect((await plane.call('GET', '/me', undefined, as)).status).toBe(401);
    expect(await remove()).toMatchObject({ status: 404, body: { error: 'not_found' } });
    // What was done there stays written down.
    expect(plane.query("SELECT kind FROM audit WHERE kind = 'ClusterDeleted'")).toHaveLength(1);
    expect((await make('busy')).status).toBe(201);
    expect((await plane.call('DELETE', '/organizations/default')).status).toBe(409);
  });
});
