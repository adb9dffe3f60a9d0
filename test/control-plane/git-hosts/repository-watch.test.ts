import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeGitHost } from './fake-git-host.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { HostAccesses } from '../../../src/control-plane/git-hosts/host-accesses.ts';
import { sealCredentials } from '../../../src/control-plane/git-hosts/host-credentials.ts';
import { RepositoryWatch } from '../../../src/control-plane/git-hosts/repository-watch.ts';
import { openMasterKey } from '../../../src/control-plane/master-key.ts';
import type { Store } from '../../../src/control-plane/store/open-store.ts';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  insertCluster,
  insertOrganization,
  openTestStore,
  temporaryFolder,
  TEST_LOGGER,
} from '../store/open-test-store.ts';

const TOKEN = 'a-token-that-will-end';
const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;

let folder: ReturnType<typeof temporaryFolder>;
let host: FakeGitHost;
let store: Store;
let clock: ManualClock;
let accesses: HostAccesses;
let watch: RepositoryWatch;

beforeEach(async () => {
  folder = temporaryFolder();
  host = await FakeGitHost.start();
  host.tokens.set(TOKEN, { access: 'write' });
  store = await openTestStore(folder.path);
  clock = new ManualClock();
  const masterKey = openMasterKey({ file: join(folder.path, 'master.key'), randomBytes });
  accesses = new HostAccesses({ masterKey, clock, random: () => 0, rules: { allowPrivate: true } });
  watch = new RepositoryWatch({ store, hostAccesses: accesses, clock, random: () => 0, logger: TEST_LOGGER });
  await insertOrganization(store, 'org');
  const url = host.newRepository();
  const at = clock.now().toISOString();
  const expiresAt = new Date(clock.now().getTime() + 20 * DAY_MS).toISOString();
  const credentials_sealed = await sealCredentials(masterKey, 'repo', {
    write: { kind: 'token', token: TOKEN },
    webhookSecret: 'a-secret',
  });
  await store.write(async (trx) => {
    await trx
      .insertInto('repositories')
      .values({
        id: 'repo',
        organization_id: 'org',
        name: 'other/fleet',
        url,
        branch: 'main',
        layout: 'flat',
        embedded: 0,
        host: 'git',
        host_settings: JSON.stringify({ caCertificate: host.ca }),
        credentials_sealed,
        credential_info: JSON.stringify({ write: { kind: 'token', setAt: at, expiresAt } }),
        probe: null,
        layout_move: null,
        layout_history: null,
        created_at: at,
      })
      .execute();
  });
});
afterEach(async () => {
  await accesses[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function probe(): Promise<{ readonly state: string; readonly at: string; readonly message: string }> {
  const row = await store.db.selectFrom('repositories').selectAll().executeTakeFirstOrThrow();
  return JSON.parse(row.probe ?? '{}');
}

/** What a delivery leaves in the database. */
async function deliverSomething(): Promise<void> {
  await insertCluster(store, { id: 'c-1', organization_id: 'org' });
  const at = clock.now().toISOString();
  await store.write(async (trx) => {
    await trx.updateTable('clusters').set({ repository_id: 'repo' }).where('id', '=', 'c-1').execute();
    await trx
      .insertInto('intents')
      .values({
        id: 'int-1',
        organization_id: 'org',
        cluster_id: 'c-1',
        target_kind: 'ApplicationInstance',
        namespace: 'shop',
        name: 'podinfo',
        generation: 1,
        action: 'install',
        record: '{}',
        idempotency_key: 'k',
        state: 'delivered',
        reason: null,
        requested_by: 'admin',
        recovery_values: null,
        accepted_at: at,
        delivered_at: at,
        applied_at: null,
        ready_at: null,
      })
      .execute();
  });
}

async function told(): Promise<string[]> {
  const rows = await store.db.selectFrom('channel_messages').select('text').orderBy('id').execute();
  const audited = await store.db.selectFrom('audit').select('summary').orderBy('id').execute();
  expect(audited.map(({ summary }) => summary)).toEqual(rows.map(({ text }) => text));
  return rows.map(({ text }) => text);
}

describe('the watch over repositories of other hosts', () => {
  it('says once at 14 and 3 days before its end, and at its end, that a credential ends', async () => {
    const seen: number[] = [];
    for (let day = 0; day <= 21; day += 1) {
      await watch.turn(NEVER);
      await watch.turn(NEVER);
      seen.push((await told()).length);
      clock.advance(DAY_MS);
    }
    expect(seen).toEqual([...Array(6).fill(0), ...Array(11).fill(1), ...Array(3).fill(2), 3, 3]);
    const ends = '2026-03-21T10:00:00.000Z';
    expect(await told()).toEqual([
      `the write credential of repository fleet expires at ${ends}: replace it`,
      `the write credential of repository fleet expires at ${ends}: replace it`,
      `the write credential of repository fleet has expired (${ends}): replace it`,
    ]);
  });

  it('probes what is ready each half an hour and what is not each five minutes, and tells a change', async () => {
    await watch.turn(NEVER);
    const first = await probe();
    expect(first.state).toBe('ready');
    clock.advance(29 * 60_000);
    await watch.turn(NEVER);
    expect(await probe()).toEqual(first);
    host.tokens.clear();
    clock.advance(60_000);
    await watch.turn(NEVER);
    expect(await probe()).toMatchObject({ state: 'forbidden' });
    host.tokens.set(TOKEN, { access: 'write' });
    clock.advance(5 * 60_000);
    await watch.turn(NEVER);
    expect(await probe()).toMatchObject({ state: 'ready' });
    expect(await told()).toEqual([
      'repository fleet is forbidden: the Git host answered 401',
      expect.stringMatching(/^repository fleet is ready: may write/),
    ]);
  });

  it('looks again at the next turn when a delivery has made the branch that was not there', async () => {
    await watch.turn(NEVER);
    const first = await probe();
    expect(first.message).toContain('there is no branch main yet');
    clock.advance(60_000);
    await watch.turn(NEVER);
    expect(await probe()).toEqual(first);
    await deliverSomething();
    clock.advance(60_000);
    await watch.turn(NEVER);
    expect((await probe()).at).not.toBe(first.at);
  });
});
