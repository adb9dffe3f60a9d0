import { afterAll, beforeAll, expect, it } from 'vitest';
import { INSTALL, PODINFO, RunningControlPlane } from '../running-control-plane.ts';

const SCHEMA = {
  type: 'object',
  required: ['ui'],
  properties: { replicaCount: { type: 'integer', maximum: 5 } },
};
/** A template of an admin's own with values of its caller in a place of its own. */
const SCALED_BACK = {
  description: 'Takes an application back with so many replicas.',
  parameters: {
    type: 'object',
    required: ['application', 'count'],
    properties: { application: { type: 'string' }, count: { type: 'integer' } },
    additionalProperties: false,
  },
  run: {
    template: 'release-rollback',
    parameters: { application: { $value: 'application' }, values: { ui: {}, replicaCount: { $value: 'count' } } },
  },
};

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.call('PUT', '/catalog/podinfo', { ...PODINFO, valuesSchema: SCHEMA });
  expect(await plane.call('PUT', '/operation-templates/scaled-back', SCALED_BACK)).toMatchObject({ status: 200 });
  await plane.newCluster('one', { allowedOperationTemplates: ['release-rollback', 'scaled-back'] });
  expect((await plane.call('POST', '/clusters/one/intents', INSTALL)).status).toBe(202);
});
afterAll(async () => await plane[Symbol.asyncDispose]());

let number = 0;
async function back(more: object): Promise<readonly unknown[]> {
  number += 1;
  const intent = {
    action: 'operate',
    namespace: 'shop',
    name: `back-${number}`,
    operationTemplate: 'release-rollback',
  };
  const { status, body } = await plane.call('POST', '/clusters/one/intents', { ...intent, ...more });
  const faults = (body['faults'] ?? body['violations'] ?? []) as readonly { path: string; message: string }[];
  return [status, ...faults.map(({ path, message }) => `${path} ${message}`)];
}

it('the values of a rollback are judged by the schema of the catalog entry, whole and without its default values', async () => {
  const rollback = (values: object): object => ({ parameters: { application: 'podinfo', values } });
  const noUi = '/parameters/values/ui is required';
  const both = [noUi, '/parameters/values/replicaCount must be <= 5'];
  expect(await back(rollback({ replicaCount: 50 }))).toEqual([400, ...both]);
  expect(await back({ ...rollback({ replicaCount: 50 }), dryRun: true })).toEqual([200, ...both]);
  expect(await back(rollback({}))).toEqual([400, noUi]);
  const byTarget = {
    targetRef: { apiVersion: 'apps.service.io/v1alpha1', kind: 'ApplicationInstance', name: 'podinfo' },
  };
  expect(await back({ ...byTarget, parameters: { values: {} } })).toEqual([400, noUi]);
  expect(await back(rollback({ ui: {}, replicaCount: 5 }))).toEqual([202]);
});

it('those that a template of an admin makes of its parameters, too', async () => {
  const scaled = (count: number): object => ({
    operationTemplate: 'scaled-back',
    parameters: { application: 'podinfo', count },
  });
  expect(await back(scaled(6))).toEqual([400, expect.stringMatching(/^\/parameters\/replicaCount .*5/)]);
  expect(await back(scaled(5))).toEqual([202]);
});

it('values of an application that no intent is known of are left to the cluster, and none are asked for', async () => {
  expect(await back({ parameters: { application: 'by-hand', values: { replicaCount: 50 } } })).toEqual([202]);
  expect(await back({ parameters: { application: 'podinfo' } })).toEqual([202]);
});
