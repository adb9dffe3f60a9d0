import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MODES_TOPIC } from '../../../src/control-plane/topics.ts';
import { insertCluster } from '../store/open-test-store.ts';
import { TEST_DATABASES } from '../store/test-databases.ts';
import { READY } from './switch-facts.ts';
import { SwitchWorld } from './switch-world.ts';

const OTHER = 'c-0000000000000002';
let world: SwitchWorld;
const stop = { now: new AbortController() };

beforeEach(async () => {
  const [sqlite] = TEST_DATABASES;
  if (sqlite === undefined) throw new Error('no database');
  stop.now = new AbortController();
  world = await SwitchWorld.open(sqlite.create, { connectivity_mode: 'pull' });
});
afterEach(async () => {
  stop.now.abort();
  await world[Symbol.asyncDispose]();
});

/** Polls the database, since a loop tells nobody when it is done; the test's own limit ends it. */
async function until(id: string, state: string): Promise<void> {
  while ((await world.row(id)).state !== state) {
    const { promise, resolve } = Promise.withResolvers<void>();
    setImmediate(resolve);
    await promise;
  }
}

async function secondCluster(): Promise<void> {
  await insertCluster(world.store, { id: OTHER, organization_id: 'org-1', slug: 'us' });
  await world.store.write(async (trx) => {
    const like = {
      status: 'Active',
      connectivity_mode: 'pull',
      last_contact_at: world.clock.now().toISOString(),
    } as const;
    await trx.updateTable('clusters').set(like).where('id', '=', OTHER).execute();
  });
}

describe('the loop of switches', () => {
  it('wakes when a switch is asked for, makes all steps that can be made, and ends when it is told to', async () => {
    const running = world.loop().run(stop.now.signal);
    const { id } = await world.begin({
      to: 'push',
      pushCredentialId: await world.pushCredential('push-1', 'candidate'),
    });
    world.wakeups.notify(MODES_TOPIC);
    await until(id, 'fencing');
    await world.report(2);
    world.wakeups.notify(MODES_TOPIC);
    await until(id, 'active');
    stop.now.abort();
    await expect(running).resolves.toBeUndefined();
  });

  it('finds what nobody told it of', async () => {
    const { id } = await world.begin({
      to: 'push',
      pushCredentialId: await world.pushCredential('push-1', 'candidate'),
    });
    const running = world.loop().run(stop.now.signal);
    await until(id, 'fencing');
    await world.report(2);
    while ((await world.row(id)).state === 'fencing') {
      world.clock.advance(1000);
      const { promise, resolve } = Promise.withResolvers<void>();
      setImmediate(resolve);
      await promise;
    }
    await until(id, 'active');
    stop.now.abort();
    await expect(running).resolves.toBeUndefined();
  });

  it('does not hold up one switch by another whose probe hangs, or whose step fails', async () => {
    await secondCluster();
    const repositoryId = await world.repository('fleet');
    const hangs = await world.begin({ to: 'gitops', options: { git: { repositoryId } } });
    const other = await world.begin({
      clusterId: OTHER,
      to: 'gitops',
      options: { git: { repositoryId } },
    });
    world.probeBy = async ({ id }, signal) => {
      if (id !== hangs.id) return READY;
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      return await promise;
    };
    const running = world.loop().run(stop.now.signal);
    await until(other.id, 'fencing');
    expect((await world.row(hangs.id)).state).toBe('probing');
    stop.now.abort();
    await running;
  });

  it('comes to rest while several switches wait, however often it is woken meanwhile', async () => {
    await secondCluster();
    const repositoryId = await world.repository('fleet');
    const one = await world.begin({ to: 'gitops', options: { git: { repositoryId } } });
    const other = await world.begin({ clusterId: OTHER, to: 'gitops', options: { git: { repositoryId } } });
    const running = world.loop().run(stop.now.signal);
    await until(one.id, 'fencing');
    await until(other.id, 'fencing');
    const versions: number[] = [];
    for (let turn = 0; turn < 100; turn += 1) {
      if (turn < 3) world.wakeups.notify(MODES_TOPIC);
      const { promise, resolve } = Promise.withResolvers<void>();
      setImmediate(resolve);
      await promise;
      versions.push(world.wakeups.version(MODES_TOPIC));
    }
    // Nobody has woken it since the third turn.
    expect(versions.at(-1)).toBe(versions[2]);
    stop.now.abort();
    await running;
  });

  it('goes on with the others when what is stored of one cannot be read', async () => {
    await secondCluster();
    const repositoryId = await world.repository('fleet');
    const broken = await world.begin({ to: 'gitops', options: { git: { repositoryId } } });
    const other = await world.begin({ clusterId: OTHER, to: 'gitops', options: { git: { repositoryId } } });
    await world.store.write(async (trx) => {
      await trx.updateTable('mode_switches').set({ options: 'no JSON' }).where('id', '=', broken.id).execute();
    });
    const running = world.loop().run(stop.now.signal);
    await until(other.id, 'fencing');
    expect((await world.row(broken.id)).state).toBe('requested');
    stop.now.abort();
    await running;
  });

  it('tells a probe that throws as a probe that failed, and tries again', async () => {
    const { id } = await world.begin({
      to: 'push',
      pushCredentialId: await world.pushCredential('push-1', 'candidate'),
    });
    world.probeBy = async () => await Promise.reject(new Error('ECONNRESET'));
    const loop = world.loop();
    await loop.step(id);
    expect(await loop.step(id)).toBe('wait');
    expect(JSON.parse((await world.row(id)).probes ?? '')).toEqual([
      { name: 'probe', ok: false, message: 'ECONNRESET' },
    ]);
    world.probeBy = async () => await Promise.resolve(READY);
    // Not at once: another server is not asked at each wake-up.
    expect(await loop.step(id)).toBe('wait');
    world.clock.advance(5000);
    expect(await loop.step(id)).toBe('fence');
  });
});
