import { beforeEach, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { KubeHttp, type Json } from '../support/cluster-contract/kube-http.ts';
import { ManualClock } from '../support/manual-clock.ts';

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock('2026-11-28T12:00:00.000Z');
});

async function issue(http: KubeHttp, seconds: number): Promise<string> {
  const request: Json = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: seconds },
  };
  const { status, body } = await http.post(`${ACCOUNTS}/writer/token`, request);
  expect(status).toBe(201);
  return `Bearer ${String(body['status']['token'])}`;
}

async function started(): Promise<{ readonly sandbox: Sandbox; readonly http: KubeHttp }> {
  const sandbox = await startSandbox({ clock });
  const http = new KubeHttp(sandbox.kubeconfig());
  expect((await http.post(ACCOUNTS, { metadata: { name: 'writer' } })).status).toBe(201);
  return { sandbox, http };
}

it('ends a token of an account at its time', async () => {
  const { sandbox, http } = await started();
  await using _ = sandbox;
  await using _http = http;
  const authorization = await issue(http, 600);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(200);
  clock.advance(599_000);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(200);
  clock.advance(1000);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(401);
});

it('ends the tokens of an account that is deleted, also where one of its name is made anew', async () => {
  const { sandbox, http } = await started();
  await using _ = sandbox;
  await using _http = http;
  const authorization = await issue(http, 600);
  expect((await http.delete(`${ACCOUNTS}/writer`)).status).toBe(200);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(401);
  await http.post(ACCOUNTS, { metadata: { name: 'writer' } });
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(401);
});

it('gives a token the rights that the account was given', async () => {
  const { sandbox, http } = await started();
  await using _ = sandbox;
  await using _http = http;
  const name = 'system:serviceaccount:default:writer';
  sandbox.users.add({ name, may: ({ verb }) => verb === 'list' });
  const authorization = await issue(http, 600);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(200);
  expect((await http.get(`${ACCOUNTS}/writer`, { authorization })).status).toBe(403);
});

const SECRETS = '/api/v1/namespaces/default/secrets';
const tokenSecret: Json = {
  metadata: { name: 'asked', annotations: { 'kubernetes.io/service-account.name': 'writer' } },
  type: 'kubernetes.io/service-account-token',
};

it('puts a token that does not end into a Secret that asks for one, and ends it with the Secret', async () => {
  const { sandbox, http } = await started();
  await using _ = sandbox;
  await using _http = http;
  expect((await http.post(SECRETS, tokenSecret)).status).toBe(201);
  await sandbox.settled();
  const { body } = await http.get(`${SECRETS}/asked`);
  const decoded = (key: string): string => Buffer.from(String(body['data'][key]), 'base64').toString();
  const account = (await http.get(`${ACCOUNTS}/writer`)).body;
  expect(body['metadata']['annotations']['kubernetes.io/service-account.uid']).toBe(account['metadata']['uid']);
  expect([decoded('namespace'), decoded('ca.crt')]).toEqual(['default', sandbox.ca]);
  const authorization = `Bearer ${decoded('token')}`;
  clock.advance(10 * 365 * 24 * 3_600_000);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(200);
  expect((await http.delete(`${SECRETS}/asked`)).status).toBe(200);
  expect((await http.get(ACCOUNTS, { authorization })).status).toBe(401);
});

it('fills a Secret whose account comes later, and removes it with the account', async () => {
  const { sandbox, http } = await started();
  await using _ = sandbox;
  await using _http = http;
  await http.delete(`${ACCOUNTS}/writer`);
  await http.post(SECRETS, tokenSecret);
  await sandbox.settled();
  expect((await http.get(`${SECRETS}/asked`)).body).not.toHaveProperty('data');
  await http.post(ACCOUNTS, { metadata: { name: 'writer' } });
  await sandbox.settled();
  expect((await http.get(`${SECRETS}/asked`)).body).toHaveProperty('data.token');
  await http.delete(`${ACCOUNTS}/writer`);
  await sandbox.settled();
  expect((await http.get(`${SECRETS}/asked`)).status).toBe(404);
});
