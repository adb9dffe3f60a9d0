import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceptIntent } from '../../src/control-plane/accept-intent.ts';
import { ValuesChecker } from '../../src/control-plane/values-checker.ts';
import { DeliveryLoop } from '../../src/control-plane/delivery-loop.ts';
import { putCatalogEntry } from '../../src/control-plane/store/catalog-entries.ts';
import { insertPendingCluster } from '../../src/control-plane/store/clusters.ts';
import { openStore, type Store } from '../../src/control-plane/store/open-store.ts';
import { ensureOrganization } from '../../src/control-plane/store/organizations.ts';
import { ensureRepositoryRow } from '../../src/control-plane/store/repositories.ts';
import { configTopic } from '../../src/control-plane/topics.ts';
import { Wakeups } from '../../src/control-plane/wakeups.ts';
import type { Delivery, Receipt } from '../../src/delivery/delivery.ts';
import type { Rendered } from '../../src/intent/rendered.ts';
import { DEFAULT_INTERVALS } from '../../src/protocol/agent-config.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { INSTALL, PODINFO } from './running-control-plane.ts';

/** What a target does with a batch: a script that the test writes. */
type Script = (batch: readonly Rendered[], signal: AbortSignal) => AsyncIterable<Receipt>;

const delivered = (rendered: Rendered, revision = 'tree-1'): Receipt => ({
  state: 'delivered',
  intentId: rendered.intent.id,
  mode: 'gitops',
  commit: `commit-of-${rendered.intent.id}`,
  revision,
});

async function* deliverAll(batch: readonly Rendered[]): AsyncIterable<Receipt> {
  for (const rendered of batch) yield delivered(rendered);
}

let folder: string;
let clock: ManualClock;
let wakeups: Wakeups;
let store: Store;
let stop: AbortController;
let running: Promise<void> | undefined;
const scripts = new Map<string, Script>();
const batches: { readonly repository: string; readonly ids: readonly string[] }[] = [];
const repositories = new Map<string, string>();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'delivery-loop-'));
  clock = new ManualClock();
  wakeups = new Wakeups({ clock });
  store = await openStore({ url: `sqlite:${join(folder, 'db')}`, clock, logger: createLogger('test', 'silent') });
  stop = new AbortController();
  scripts.clear();
  batches.length = 0;
  running = undefined;
});
afterEach(async () => {
  stop.abort();
  await running;
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** A cluster whose intents go to a repository of that name. */
async function newCluster(slug: string, repository: string): Promise<string> {
  return await store.write(async (trx) => {
    const organization = await ensureOrganization(trx, 'default', { clock, randomBytes });
    await putCatalogEntry(trx, organization.id, { name: 'podinfo', ...PODINFO, updatedAt: '' } as never);
    const row = await ensureRepositoryRow(trx, organization, repository, { clock, randomBytes, baseUrl: 'http://x' });
    repositories.set(row.id, repository);
    const cluster = await insertPendingCluster(trx, {
      id: `c-${slug}`,
      organization_id: organization.id,
      slug,
      display_name: slug,
      connectivity_mode: 'gitops',
      allowed_namespaces: '["shop"]',
      allowed_catalog_entries: '["podinfo"]',
      allowed_operation_templates: '[]',
      security: '{}',
      intervals: JSON.stringify(DEFAULT_INTERVALS),
      repository_id: row.id,
      git_directory: `clusters/${slug}`,
      created_at: clock.now().toISOString(),
    });
    return cluster.id;
  });
}

async function accept(clusterId: string, name: string): Promise<string> {
  // Acceptance is ordered by the millisecond.
  clock.advance(1);
  const request = { ...INSTALL, name } as never;
  const valuesChecker = new ValuesChecker({ clock });
  const deps = { store, wakeups, clock, randomBytes, masterKey: { derive: () => new Uint8Array(32) }, valuesChecker };
  return (await acceptIntent(deps, { clusterId, request, requestedBy: 'admin', requestKey: undefined })).id;
}

function start(): void {
  const loop = new DeliveryLoop({
    store,
    wakeups,
    clock,
    random: () => 0,
    logger: createLogger('test', 'silent'),
    sign: async (rendered) => rendered,
    open: async (target): Promise<Delivery> => {
      const repository = repositories.get(target.mode === 'gitops' ? target.repositoryId : '') ?? '';
      return {
        probe: async () => ({ state: 'ready' }),
        deliver: (batch, signal) => {
          batches.push({ repository, ids: batch.map(({ intent }) => intent.id) });
          return (scripts.get(repository) ?? deliverAll)(batch, signal);
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
  });
  running = loop.run(stop.signal);
}

async function stateOf(id: string): Promise<string | undefined> {
  const row = await store.db.selectFrom('intents').select(['state', 'reason']).where('id', '=', id).executeTakeFirst();
  return row?.reason === null ? row.state : `${row?.state}: ${row?.reason}`;
}

const soon = { timeout: 30_000, interval: 1 };

describe('DeliveryLoop', () => {
  it('delivers what was accepted before it started, stores each receipt and wakes the cluster once', async () => {
    const cluster = await newCluster('a', 'fleet');
    const ids = [await accept(cluster, 'one'), await accept(cluster, 'two')];
    const topic = wakeups.version(configTopic(cluster));
    start();
    await expect.poll(async () => await Promise.all(ids.map(stateOf)), soon).toEqual(['delivered', 'delivered']);
    expect(batches).toEqual([{ repository: 'fleet', ids }]);
    expect(await store.db.selectFrom('receipts').select(['intent_id', 'mode', 'commit_id']).execute()).toEqual(
      ids.map((id) => ({ intent_id: id, mode: 'gitops', commit_id: `commit-of-${id}` })),
    );
    const row = await store.db.selectFrom('clusters').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ desired_revision: 'tree-1', config_revision: 2 });
    expect(wakeups.version(configTopic(cluster))).not.toBe(topic);
  });

  it('delivers an intent that is accepted while it runs, and what comes during a batch in the next', async () => {
    const cluster = await newCluster('a', 'fleet');
    const gate = Promise.withResolvers<void>();
    scripts.set('fleet', async function* (batch) {
      await gate.promise;
      yield* deliverAll(batch);
    });
    start();
    const first = await accept(cluster, 'one');
    await expect.poll(() => batches.length, soon).toBe(1);
    const later = [await accept(cluster, 'two'), await accept(cluster, 'three')];
    expect(batches).toHaveLength(1);
    gate.resolve();
    await expect.poll(async () => await Promise.all(later.map(stateOf)), soon).toEqual(['delivered', 'delivered']);
    expect(batches.map(({ ids }) => ids)).toEqual([[first], later]);
  });

  it('lets a dead target cost the others nothing', async () => {
    const dead = await newCluster('dead', 'dead');
    const well = await newCluster('well', 'well');
    scripts.set('dead', async function* (_batch, signal) {
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))));
      yield* [];
    });
    start();
    const stuck = await accept(dead, 'one');
    await expect.poll(() => batches.length, soon).toBe(1);
    const fine = await accept(well, 'one');
    await expect.poll(async () => await stateOf(fine), soon).toBe('delivered');
    expect(await stateOf(stuck)).toBe('accepted');
    stop.abort();
    await expect.poll(() => clock.sleeping, soon).toBeGreaterThan(0);
    clock.advance(5000);
    await running;
    expect(await stateOf(stuck)).toBe('accepted');
  });

  it('tries again after a growing wait, of that target alone', async () => {
    const cluster = await newCluster('a', 'fleet');
    let failures = 3;
    scripts.set('fleet', async function* (batch) {
      failures -= 1;
      if (failures === 2) throw new Error('the program has a bug');
      for (const rendered of batch) {
        if (failures >= 0) yield { state: 'retry', intentId: rendered.intent.id, message: 'the branch moved' };
        else yield delivered(rendered);
      }
    });
    start();
    const id = await accept(cluster, 'one');
    for (const attempt of [1, 2, 3]) {
      await expect.poll(() => batches.length, soon).toBe(attempt);
      await expect.poll(() => clock.sleeping, soon).toBe(1);
      wakeups.notify('delivery');
      expect(await stateOf(id)).toMatch(/^accepted(: Waiting: the branch moved)?$/);
      await expect.poll(() => clock.sleeping, soon).toBe(1);
      expect(batches).toHaveLength(attempt);
      clock.advance(500);
    }
    await expect.poll(async () => await stateOf(id), soon).toBe('delivered');
    expect(batches).toHaveLength(4);
  });

  it('fails a refused intent with its reason and delivers the others', async () => {
    const cluster = await newCluster('a', 'fleet');
    const [bad, good, old] = [
      await accept(cluster, 'bad'),
      await accept(cluster, 'good'),
      await accept(cluster, 'old'),
    ];
    const reasons: Record<string, string> = { [bad]: 'PathNotAllowed', [old]: 'Superseded' };
    scripts.set('fleet', async function* (batch) {
      for (const rendered of batch) {
        const { id } = rendered.intent;
        const reason = reasons[id];
        if (reason === undefined) yield delivered(rendered);
        else yield { state: 'refused', intentId: id, reason, message: 'because' };
      }
    });
    start();
    await expect.poll(async () => await stateOf(good), soon).toBe('delivered');
    expect(await stateOf(bad)).toBe('failed: PathNotAllowed: because');
    expect(await stateOf(old)).toBe('superseded: Superseded: because');
    expect(batches).toHaveLength(1);
  });

  it('fails an intent that its catalog entry no longer lets it render', async () => {
    const cluster = await newCluster('a', 'fleet');
    const id = await accept(cluster, 'one');
    await store.write(async (trx) => await trx.deleteFrom('catalog_entries').execute());
    start();
    await expect.poll(async () => await stateOf(id), soon).toMatch(/^failed: NotRenderable: /);
    expect(batches).toEqual([]);
  });

  it('takes an intent without a receipt for one to try again', async () => {
    const cluster = await newCluster('a', 'fleet');
    scripts.set('fleet', async function* () {
      yield* [];
    });
    start();
    const id = await accept(cluster, 'one');
    await expect.poll(() => batches.length, soon).toBe(1);
    scripts.clear();
    await expect.poll(() => clock.sleeping, soon).toBe(1);
    expect(batches).toHaveLength(1);
    clock.advance(500);
    await expect.poll(async () => await stateOf(id), soon).toBe('delivered');
  });

  it('keeps the receipts of a batch that broke off, and delivers only the rest again', async () => {
    const cluster = await newCluster('a', 'fleet');
    const ids = [await accept(cluster, 'one'), await accept(cluster, 'two')];
    scripts.set('fleet', async function* (batch) {
      const [first] = batch;
      if (first !== undefined) yield delivered(first);
      throw new Error('the connection was cut');
    });
    start();
    await expect.poll(async () => await Promise.all(ids.map(stateOf)), soon).toEqual(['delivered', 'accepted']);
    scripts.clear();
    await expect.poll(() => clock.sleeping, soon).toBe(1);
    clock.advance(500);
    await expect.poll(async () => await Promise.all(ids.map(stateOf)), soon).toEqual(['delivered', 'delivered']);
    expect(batches.map((batch) => batch.ids)).toEqual([ids, [ids[1]]]);
  });

  it('takes at most 200 at once, fair between clusters, in order of acceptance', async () => {
    const busy = await newCluster('busy', 'fleet');
    const quiet = await newCluster('quiet', 'fleet');
    const burst = await Promise.all(
      Array.from({ length: 230 }, async (_, index) => await accept(busy, `app-${index}`)),
    );
    const single = await accept(quiet, 'one');
    start();
    const waiting = store.db.selectFrom('intents').select('id').where('state', '=', 'accepted');
    await expect.poll(async () => await waiting.execute(), soon).toEqual([]);
    expect(burst).toHaveLength(230);
    expect(batches.map(({ ids }) => ids.length)).toEqual([200, 31]);
    expect(batches[0]?.ids.at(-1)).toBe(single);
  });
});
