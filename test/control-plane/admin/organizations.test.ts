import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;
let theirs: string;
let ourCluster: string;
let ourIntent: string;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  theirs = plane.addOrganization('other');
  await plane.putPodinfo();
  ourCluster = await plane.newCluster('prod-eu');
  ourIntent = String((await plane.call('POST', '/clusters/prod-eu/intents', INSTALL)).body['id']);
  await plane.until(ourIntent, 'delivered');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

function auditedActs(): unknown {
  return plane.query("SELECT kind, summary FROM audit WHERE kind <> 'OrganizationMismatch' ORDER BY id");
}

describe('two organizations', () => {
  it.for([
    ['GET', '/clusters/{id}'],
    ['PATCH', '/clusters/{id}', { displayName: 'theirs' }],
    ['POST', '/clusters/{id}/registration-token'],
    ['POST', '/clusters/{id}/revoke'],
    ['POST', '/clusters/{id}/disable'],
    ['POST', '/clusters/{id}/enable'],
    ['POST', '/clusters/{id}/intents', INSTALL],
    ['GET', '/clusters/{id}/intents'],
    ['GET', '/clusters/{id}/events'],
    ['GET', '/clusters/{id}/conditions'],
    ['GET', '/audit?cluster={id}'],
    ['GET', '/intents/{intent}'],
    ['GET', '/catalog/podinfo'],
    ['POST', '/repositories/fleet/read-credential'],
    ['GET', '/repositories/fleet'],
    ['POST', '/repositories/fleet/probe'],
    ['PUT', '/repositories/fleet/credentials', { write: { kind: 'token', token: 'a-token-of-theirs' } }],
    ['DELETE', '/repositories/fleet'],
  ] as const)('answers 404 to %s %s of the other', async ([method, path, body]) => {
    // The audit grows by the attempt alone (A13).
    const traces = async () => ({ ...((await plane.traces()) as object), audit: auditedActs() });
    const before = await traces();
    for (const id of [ourCluster, 'prod-eu']) {
      const at = path.replace('{id}', id).replace('{intent}', ourIntent);
      const answer = await plane.call(method, at, body, { token: theirs });
      expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
    expect(await traces()).toEqual(before);
  });

  it.for(['/clusters', '/catalog', '/repositories', '/audit'])('shows nothing of ours at %s', async (path) => {
    expect((await plane.call('GET', path, undefined, { token: theirs })).body['items']).toEqual([]);
    expect((await plane.call('GET', path)).body['items'].length).toBeGreaterThan(0);
  });

  it('have the same names for clusters, catalog entries and repositories, each their own', async () => {
    const options = { token: theirs };
    await plane.call('PUT', '/catalog/podinfo', PODINFO, options);
    const cluster = {
      slug: 'prod-eu',
      displayName: 'Theirs',
      allowedNamespaces: ['shop'],
      allowedCatalogEntries: ['podinfo'],
      allowedOperationTemplates: [],
      connectivityMode: 'gitops',
    };
    const created = await plane.call('POST', '/clusters', cluster, options);
    expect(created.body['cluster']).toMatchObject({
      organization: 'other',
      git: { repository: 'fleet', url: `${plane.url}/git/other/fleet.git` },
    });
    const intent = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL, options);
    await expect
      .poll(async () => (await plane.call('GET', `/intents/${intent.body['id']}`, undefined, options)).body['state'], {
        timeout: 10_000,
        interval: 10,
      })
      .toBe('delivered');
    expect(await plane.committedIntents()).toEqual([ourIntent]);
    expect((await plane.call('GET', '/repositories', undefined, options)).body['items']).toEqual([
      {
        name: 'fleet',
        host: 'embedded',
        url: `${plane.url}/git/other/fleet.git`,
        branch: 'main',
        layout: 'flat',
      },
    ]);
  });
});
