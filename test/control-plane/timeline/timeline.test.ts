import { afterAll, beforeAll, expect, test } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
});
afterAll(async () => await plane[Symbol.asyncDispose]());

test('tells of a committed intent what is done, where it stands and what is still to come', async () => {
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', INSTALL);
  const id = String(body['id']);
  const intent = await plane.until(id, 'delivered');
  const { status, body: timeline } = await plane.call('GET', `/intents/${id}/timeline`);
  expect(status).toBe(200);
  expect(timeline).toEqual({
    intent: id,
    items: [
      {
        step: 'requested',
        state: 'done',
        at: intent['acceptedAt'],
        by: 'admin',
        text: 'install shop/podinfo, generation 1',
      },
      { step: 'rendered', state: 'done', text: 'made into what the cluster is given' },
      {
        step: 'committed',
        state: 'done',
        at: expect.any(String),
        text: 'committed to fleet',
        ref: { kind: 'commit', id: intent['receipt'].commit, repository: 'fleet' },
      },
      { step: 'applied', state: 'current', text: 'to be applied by the operator of prod-eu' },
      { step: 'ready', state: 'pending', text: 'ready', ref: { kind: 'release', id: 'shop/podinfo' } },
    ],
  });
});

test('knows no intent of another organization', async () => {
  const { body } = await plane.call('POST', '/clusters/prod-eu/intents', { ...INSTALL, name: 'other' });
  const token = plane.addOrganization('other');
  const answer = await plane.call('GET', `/intents/${body['id']}/timeline`, undefined, { token });
  expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } });
});
