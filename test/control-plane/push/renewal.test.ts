import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openMasterKey, type MasterKey } from '../../../src/control-plane/master-key.ts';
import { newPushCredential, openAccess } from '../../../src/control-plane/push/push-access.ts';
import { PushConnections } from '../../../src/control-plane/push/push-connections.ts';
import { infoOf, reachOf } from '../../../src/control-plane/push/push-credential-info.ts';
import { PushWatch } from '../../../src/control-plane/push/push-watch.ts';
import { readKubeconfig } from '../../../src/control-plane/push/read-kubeconfig.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { findPushCredential, insertPushCredential } from '../../../src/control-plane/store/push-credentials.ts';
import type { PushCredentialRow } from '../../../src/control-plane/store/schema.ts';
import { kubeconfigText } from '../../../src/sandbox/kubeconfig.ts';
import { startSandbox, type Sandbox } from '../../../src/sandbox/start-sandbox.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { KubeHttp } from '../../support/cluster-contract/kube-http.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  insertCluster,
  insertOrganization,
  openTestStore,
  temporaryFolder,
  TEST_LOGGER,
} from '../store/open-test-store.ts';

const NEVER = new AbortController().signal;
const HOUR_MS = 3_600_000;
const ACCOUNT = 'system:serviceaccount:service-system:service-control-plane';
const ACCOUNTS = '/api/v1/namespaces/service-system/serviceaccounts';

let folder: ReturnType<typeof temporaryFolder>;
let store: Store;
let clock: ManualClock;
let sandbox: Sandbox;
let admin: KubeHttp;
let masterKey: MasterKey;
let connections: PushConnections;
let mayRenew: boolean;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new ManualClock('2026-11-28T12:00:00.000Z');
  store = await openTestStore(folder.path);
  await insertOrganization(store, 'org');
  await insertCluster(store, { id: 'c-1', organization_id: 'org' });
  await store.write(async (trx) => {
    await trx.updateTable('clusters').set({ connectivity_mode: 'push' }).execute();
  });
  masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  sandbox = await startSandbox({ clock });
  admin = new KubeHttp(sandbox.kubeconfig());
  await admin.post('/api/v1/namespaces', { metadata: { name: 'service-system' } });
  await admin.post(ACCOUNTS, { metadata: { name: 'service-control-plane' } });
  mayRenew = true;
  sandbox.users.add({
    name: ACCOUNT,
    may: ({ subresource, name }) => {
      if (subresource !== 'token') return true;
      return mayRenew && name === 'service-control-plane';
    },
  });
  connections = connect();
});
afterEach(async () => {
  await connections[Symbol.asyncDispose]();
  await admin[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

function connect(): PushConnections {
  const deliverBy = (): never => {
    throw new Error('nothing is delivered here');
  };
  return new PushConnections({ store, masterKey, clock, random: () => 0, logger: TEST_LOGGER, deliverBy });
}

/** @param pushConnections of which one fails where a test says so */
async function turn(pushConnections: Pick<PushConnections, 'connect'> = connections): Promise<void> {
  const watch = new PushWatch({ store, masterKey, pushConnections, clock, random: () => 0, logger: TEST_LOGGER });
  await watch.renew(NEVER);
  await watch.look(NEVER);
}

async function given(seconds: number): Promise<string> {
  const { body } = await admin.post(`${ACCOUNTS}/service-control-plane/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: seconds },
  });
  const token = String(body['status']['token']);
  const text = kubeconfigText({ url: sandbox.url, ca: sandbox.ca, token: new Secret(token) });
  const access = readKubeconfig(text, { path: '/kubeconfig', now: clock.now() });
  const credential = await newPushCredential(
    { masterKey, clock, randomBytes },
    { clusterId: 'c-1', access, createdBy: 'a' },
  );
  await store.write(async (trx) => await insertPushCredential(trx, credential, 'current'));
  return token;
}

async function current(): Promise<PushCredentialRow> {
  const row = await findPushCredential(store.db, 'c-1');
  if (row === undefined) throw new Error('there is no credential');
  return row;
}

async function tokens(): Promise<{ readonly used: string | undefined; readonly next: string | undefined }> {
  const { access, next } = await openAccess(masterKey, await current());
  return { used: access.token?.expose(), next: next?.expose() };
}

async function auditKinds(): Promise<string[]> {
  return (await store.db.selectFrom('audit').select('kind').execute()).map(({ kind }) => kind);
}

it('renews a token at two thirds of its life, and not before', async () => {
  const token = await given(3 * 3600);
  await turn();
  expect(await current()).toMatchObject({ renew_at: '2026-11-28T14:00:00.000Z', renewed_at: null });
  expect(infoOf(await current()).renewable).toBe(true);
  clock.advance(2 * HOUR_MS - 1000);
  await turn();
  expect(await tokens()).toEqual({ used: token, next: undefined });
  clock.advance(1000);
  await turn();
  const { used, next } = await tokens();
  expect([used === token, next]).toEqual([false, undefined]);
  expect(await current()).toMatchObject({
    expires_at: '2026-11-28T17:00:00.000Z',
    renewed_at: '2026-11-28T14:00:00.000Z',
    renew_at: '2026-11-28T16:00:00.000Z',
    renewal_fault: null,
  });
  expect(await auditKinds()).toEqual(['PushCredentialRenewed']);
  clock.advance(HOUR_MS);
  expect((await admin.get(ACCOUNTS, { authorization: `Bearer ${token}` })).status).toBe(401);
  expect((await admin.get(ACCOUNTS, { authorization: `Bearer ${used ?? ''}` })).status).toBe(200);
});

it('asks for no token where the account may not, and looks again a day later', async () => {
  mayRenew = false;
  const token = await given(2 * 24 * 3600);
  await turn();
  expect(infoOf(await current()).renewable).toBe(false);
  mayRenew = true;
  clock.advance(33 * HOUR_MS);
  await turn();
  expect((await tokens()).used).not.toBe(token);
  expect(infoOf(await current()).renewable).toBe(true);
});

it('finds a token that was stored before a crash, and uses it without asking for another', async () => {
  const token = await given(3 * 3600);
  clock.advance(2 * HOUR_MS);
  let asked = 0;
  const dies: Pick<PushConnections, 'connect'> = {
    connect: (access) => {
      asked += 1;
      // The second connection is that of the new token.
      if (asked === 2) throw new Error('killed');
      return connections.connect(access);
    },
  };
  await turn(dies);
  const { used, next } = await tokens();
  expect([used, typeof next]).toEqual([token, 'string']);
  expect((await current()).renewal_fault).toBe('killed');
  clock.advance(3 * 60_000);
  await turn();
  expect(await tokens()).toEqual({ used: next, next: undefined });
  expect(await current()).toMatchObject({ renewal_fault: null, renewed_at: '2026-11-28T14:03:00.000Z' });
});

it('keeps the token that works where the new one does not, and says so', async () => {
  const token = await given(3 * 3600);
  clock.advance(2 * HOUR_MS);
  let asked = 0;
  const ends: Pick<PushConnections, 'connect'> = {
    connect: (access) => {
      asked += 1;
      if (asked === 2 && access.token !== undefined) sandbox.users.revoke(access.token);
      return connections.connect(access);
    },
  };
  await turn(ends);
  expect(await tokens()).toEqual({ used: token, next: undefined });
  expect((await current()).renewal_fault).toContain('issued a new token and does not take it (401)');
  clock.advance(3 * 60_000);
  await turn();
  expect((await tokens()).used).not.toBe(token);
});

it('loses against another credential that was given meanwhile', async () => {
  await given(3 * 3600);
  clock.advance(2 * HOUR_MS);
  let other = '';
  await turn({
    connect: (access) => {
      const connection = connections.connect(access);
      const requestToken: typeof connection.account.requestToken = async (...asked) => {
        const answer = await connection.account.requestToken(...asked);
        other = await given(2 * 3600);
        return answer;
      };
      return { ...connection, account: { ...connection.account, requestToken } };
    },
  });
  expect(await tokens()).toEqual({ used: other, next: undefined });
  expect(await auditKinds()).toEqual([]);
});

it('keeps why a renewal failed, and that the server takes the token no more', async () => {
  const token = await given(3 * 3600);
  sandbox.users.revoke(new Secret(token));
  await turn();
  const row = await current();
  expect(row.renewal_fault).toContain('401');
  expect(reachOf(row)).toMatchObject({ state: 'refused' });
  const texts = JSON.stringify(await store.db.selectFrom('push_credentials').selectAll().execute());
  expect(texts).not.toContain(token);
});
