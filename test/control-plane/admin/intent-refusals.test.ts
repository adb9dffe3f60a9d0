import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, RunningControlPlane } from '../running-control-plane.ts';

let plane: RunningControlPlane;

beforeAll(async () => {
  plane = await RunningControlPlane.start();
  await plane.putPodinfo();
  await plane.newCluster('prod-eu');
  await plane.newCluster('pulling', { connectivityMode: undefined });
  await plane.newCluster('stopped');
  await plane.call('POST', '/clusters/stopped/disable');
  await plane.call('PUT', '/catalog/strict', {
    chart: { type: 'helm', url: 'https://charts.example.com', name: 'strict' },
    versions: '1.x',
    valuesSchema: { type: 'object', required: ['host'], properties: { host: { type: 'string' } } },
  });
  await plane.newCluster('strict', { allowedCatalogEntries: ['strict'] });
});
afterAll(async () => await plane[Symbol.asyncDispose]());

interface Refusal {
  readonly cluster?: string;
  readonly body: unknown;
  readonly status: number;
  readonly code: string;
  readonly path?: string;
  readonly allowed?: unknown;
  readonly says?: RegExp;
}

const REFUSALS: Record<string, Refusal> = {
  'a body that is not JSON': { body: '{"action": install}', status: 400, code: 'invalid_body', says: /line 1/ },
  'a body with the same field twice': {
    body: '{"action":"install","action":"uninstall"}',
    status: 400,
    code: 'invalid_body',
    path: '/action',
  },
  'a list instead of an intent': { body: [INSTALL], status: 400, code: 'constraint_violated', path: '' },
  'no body': { body: undefined, status: 400, code: 'constraint_violated', path: '' },
  'an unknown field': {
    body: { ...INSTALL, version: '6.5.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/version',
    allowed: expect.arrayContaining(['action', 'namespace', 'name', 'chartVersion', 'values', 'reason']),
    says: /known fields are/,
  },
  'an unknown action': {
    body: { ...INSTALL, action: 'deploy' },
    status: 400,
    code: 'constraint_violated',
    path: '/action',
    allowed: ['install', 'update', 'uninstall', 'operate'],
  },
  'a namespace that is not allowed': {
    body: { ...INSTALL, namespace: 'kube-system' },
    status: 403,
    code: 'forbidden',
    path: '/namespace',
    allowed: ['shop'],
  },
  'a catalog entry that is not allowed': {
    body: { ...INSTALL, catalogEntry: 'strict' },
    status: 403,
    code: 'forbidden',
    path: '/catalogEntry',
    allowed: ['podinfo'],
  },
  'an operation template that is not allowed': {
    body: { action: 'operate', namespace: 'shop', name: 'backup-1', operationTemplate: 'velero-backup' },
    status: 403,
    code: 'forbidden',
    path: '/operationTemplate',
    allowed: ['rollout-restart'],
  },
  'a version outside of the range': {
    body: { ...INSTALL, chartVersion: '7.0.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/chartVersion',
    allowed: { range: '>=6.5.0 <7' },
  },
  'a version that is a range': {
    body: { ...INSTALL, chartVersion: '^6.5.0' },
    status: 400,
    code: 'constraint_violated',
    path: '/chartVersion',
  },
  'values that are a list': {
    body: { ...INSTALL, values: ['replicaCount=2'] },
    status: 400,
    code: 'constraint_violated',
    path: '/values',
    allowed: 'object',
  },
  'values that are text': {
    body: { ...INSTALL, values: 'replicaCount: 2' },
    status: 400,
    code: 'constraint_violated',
    path: '/values',
    allowed: 'object',
  },
  'a name that climbs out of the directory': {
    body: { ...INSTALL, name: '../other/podinfo' },
    status: 400,
    code: 'constraint_violated',
    path: '/name',
    says: /lower-case letters/,
  },
  'a namespace that climbs out of the directory': {
    body: { ...INSTALL, namespace: '../../other' },
    status: 400,
    code: 'constraint_violated',
    path: '/namespace',
  },
  'a name with a NUL': {
    body: { ...INSTALL, name: 'a\u0000b' },
    status: 400,
    code: 'constraint_violated',
    path: '/name',
  },
  'a reason that would forge a trailer': {
    body: { ...INSTALL, reason: 'x\n\nCluster-Id: c-other' },
    status: 400,
    code: 'constraint_violated',
    path: '/reason',
  },
  'an update of what is not installed': {
    body: { ...INSTALL, action: 'update', name: 'absent' },
    status: 400,
    code: 'constraint_violated',
    path: '/action',
    allowed: ['install'],
  },
  'a document of 2 MiB': {
    body: { ...INSTALL, values: { text: 'x'.repeat(2 * 1024 * 1024) } },
    status: 413,
    code: 'payload_too_large',
    path: '',
    allowed: { maxBytes: 1_048_576 },
    says: /1048576 bytes/,
  },
  'values that render to more than 512 KiB': {
    body: { ...INSTALL, values: { text: 'x'.repeat(600 * 1024) } },
    status: 413,
    code: 'payload_too_large',
    path: '/values',
    says: /524288|512 KiB/,
  },
  'a disabled cluster': { cluster: 'stopped', body: INSTALL, status: 403, code: 'cluster_disabled' },
  'a cluster that is not there': { cluster: 'nowhere', body: INSTALL, status: 404, code: 'not_found' },
  "values that break the catalog entry's schema": {
    cluster: 'strict',
    body: { ...INSTALL, catalogEntry: 'strict', chartVersion: '1.2.0', values: { host: 7 } },
    status: 400,
    code: 'constraint_violated',
    path: '/values/host',
    allowed: 'string',
  },
};

describe('an intent that is refused', () => {
  it.for(Object.entries(REFUSALS))('is %s: nothing is stored, nothing committed', async ([, refusal]) => {
    const before = await plane.traces();
    const answer = await plane.call('POST', `/clusters/${refusal.cluster ?? 'prod-eu'}/intents`, refusal.body);
    expect(answer.status).toBe(refusal.status);
    expect(answer.body['error']).toBe(refusal.code);
    expect(answer.body['requestId']).toBe(answer.headers.get('service-request-id'));
    if (refusal.path !== undefined) {
      const fault = answer.body['faults'].find(({ path }: { path: string }) => path === refusal.path);
      expect(fault).toMatchObject({ path: refusal.path, message: expect.any(String) });
      if (refusal.allowed !== undefined) expect(fault.allowed).toEqual(refusal.allowed);
    }
    if (refusal.says !== undefined) expect(answer.body['message']).toMatch(refusal.says);
    expect(await plane.traces()).toEqual(before);
  });
});
