import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Program } from '../../../examples/first-app/program.ts';
import { AdminApiError, AdminClient } from '../../../src/cli/admin-client.ts';
import type { ListedProposal } from '../../../src/cli/proposal-text.ts';
import { mintToken } from '../../../src/protocol/token.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { testDatabaseUrl } from '../../support/postgres/test-database-url.ts';
import { INSTALL, PODINFO } from '../running-control-plane.ts';

const MAIN = join(import.meta.dirname, '../../../src/control-plane/main.ts');
const ROUNDS = 3;
const PER_ROUND = 5;

const folder = mkdtempSync(join(tmpdir(), 'killed-in-review-'));
const token = mintToken('svcadm', randomBytes);
let databaseUrl: string;
let program: Program;

beforeAll(async () => {
  databaseUrl = await testDatabaseUrl(folder);
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** The control plane as a process of its own; answers how it is called. */
async function start(): Promise<string> {
  program = await Program.start({
    name: 'control plane',
    args: [MAIN],
    env: {
      SERVICE_LISTEN: '127.0.0.1:0',
      SERVICE_DATA_DIR: folder,
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_ADMIN_TOKEN: token.expose(),
    },
    logFile: join(folder, 'log'),
    startTimeoutMs: 60_000,
    readyLine: /http:\/\//,
  });
  return /http:\/\/[^\s"]+/.exec(program.readyLine)?.[0].replace(/\/$/, '') ?? '';
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', join(folder, 'git', 'fleet.git'), ...args], { encoding: 'utf8' });
}

describe('S1: a control plane that is killed while proposals are made, approved and merged', () => {
  it('loses no intent and no approval, and brings each to the branch once', { timeout: 120_000 }, async () => {
    const accepted = new Map<string, string>();
    const approved = new Set<string>();
    let reviewer = new Secret('');
    for (let round = 0; round <= ROUNDS; round += 1) {
      const baseUrl = await start();
      const admin = new AdminClient({ baseUrl, token });
      if (round === 0) reviewer = await prepare(admin);
      const anna = new AdminClient({ baseUrl, token: reviewer });
      const isLast = round === ROUNDS;
      const asking = isLast ? [] : Array.from({ length: PER_ROUND }, (_, index) => `app-${round}-${index}`);
      const work = Promise.allSettled([
        ...asking.map(async (name) => {
          const { id } = await admin.call<{ id: string }>('POST', '/clusters/prod-eu/intents', { ...INSTALL, name });
          accepted.set(id, name);
        }),
        approveAll(anna, approved, isLast ? 0 : Infinity),
      ]);
      if (isLast) break;
      // Later in each round, so that it meets every step.
      await vi.waitFor(() => expect(approved.size).toBeGreaterThanOrEqual(round * 3), { timeout: 30_000, interval: 5 });
      await program.kill();
      await work;
    }
    const baseUrl = /http:\/\/[^\s"]+/.exec(program.readyLine)?.[0].replace(/\/$/, '') ?? '';
    const anna = new AdminClient({ baseUrl, token: reviewer });
    await vi.waitFor(
      async () => {
        await approveAll(anna, approved, 1);
        const states = await Promise.all(
          [...accepted.keys()].map(async (id) => (await anna.call<{ state: string }>('GET', `/intents/${id}`)).state),
        );
        expect(new Set(states)).toEqual(new Set(['delivered']));
      },
      { timeout: 60_000, interval: 100 },
    );
    const { items } = await anna.call<{ items: ListedProposal[] }>('GET', '/proposals?limit=500');
    expect(new Set(items.map(({ state }) => state))).toEqual(new Set(['merged']));
    expect(new Set(items.map(({ intentId }) => intentId)).size).toBe(items.length);
    for (const { id, reviews } of items) {
      expect([id, reviews.filter(({ kind }) => kind === 'approve').length]).toEqual([id, 1]);
    }
    // An intent may have been stored and its answer lost; none that was answered is missing, none is there twice.
    const landed = git('log', '--format=%(trailers:key=Intent-Id,valueonly)', 'main').split('\n').filter(Boolean);
    expect(landed.length).toBe(new Set(landed).size);
    expect([...accepted.keys()].filter((id) => !landed.includes(id))).toEqual([]);
    expect([...approved].filter((id) => !items.some((item) => item.id === id))).toEqual([]);
    await vi.waitFor(() => expect(git('branch', '--list', 'proposals/*')).toBe(''), { timeout: 20_000, interval: 50 });
    git('fsck', '--strict');
  });
});

async function prepare(admin: AdminClient): Promise<Secret> {
  await admin.call('PUT', '/catalog/podinfo', PODINFO);
  await admin.call('POST', '/clusters', {
    slug: 'prod-eu',
    displayName: 'prod-eu',
    allowedNamespaces: ['shop'],
    allowedCatalogEntries: ['podinfo'],
    allowedOperationTemplates: [],
    connectivityMode: 'gitops',
    git: { review: 'proposal' },
  });
  const { token: made } = await admin.call<{ token: string }>('POST', '/admin-tokens', { name: 'anna' });
  return new Secret(made);
}

/** Approves what is open, so many times over; ends when the control plane does. */
async function approveAll(anna: AdminClient, approved: Set<string>, times: number): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) {
    const { items } = await anna.call<{ items: ListedProposal[] }>('GET', '/proposals?state=open&limit=500');
    for (const { id } of items) {
      const answer = await anna.call('POST', `/proposals/${id}/approve`).catch((error: unknown) => error);
      if (!(answer instanceof Error)) approved.add(id);
      else if (!(answer instanceof AdminApiError)) throw answer;
    }
  }
}
