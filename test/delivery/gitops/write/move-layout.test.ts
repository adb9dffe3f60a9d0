import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GitopsDelivery } from '../../../../src/delivery/gitops/write/gitops-delivery.ts';
import type { LayoutMove, LayoutRecord } from '../../../../src/delivery/gitops/write/layout-record.ts';
import { clusterDirectory, type RepositoryLayout } from '../../../../src/delivery/gitops/layout.ts';
import type { DirectoryMove } from '../../../../src/git/directory-moves.ts';
import { Secret } from '../../../../src/runtime/secret.ts';
import { git, type GitServer } from '../../../git/git-server.ts';
import { apply } from './rendered-intent.ts';
import { deliver, startAcme, writerOn } from './writer.ts';

/** The record of one repository, in memory. */
class Record implements LayoutRecord {
  layout: RepositoryLayout = 'flat';
  move: LayoutMove | undefined;
  readonly ends: string[] = [];
  /** Fails the write after the push, as a crash does. */
  broken = false;

  async current(): Promise<{ readonly layout: RepositoryLayout; readonly move?: LayoutMove }> {
    return { layout: this.layout, ...(this.move === undefined ? {} : { move: this.move }) };
  }

  async slugs(): Promise<readonly string[]> {
    return ['prod-eu', 'prod-us', 'never-written'];
  }

  async finish(move: LayoutMove, done: { readonly directories?: number }): Promise<void> {
    if (this.broken) throw new Error('the database is gone');
    this.layout = move.to;
    this.move = undefined;
    this.ends.push(`moved ${done.directories ?? 'before'}`);
  }

  async giveUp(_move: LayoutMove, why: string): Promise<void> {
    this.move = undefined;
    this.ends.push(why);
  }

  begin(to: RepositoryLayout): void {
    this.move = { id: 'lmove-1', to, requestedBy: 'anna', requestedAt: new Date().toISOString() };
  }
}

let server: GitServer;
let record: Record;

beforeEach(async () => {
  server = await startAcme();
  record = new Record();
});
afterEach(async () => {
  await git(server.path('acme'), ['fsck', '--strict', '--no-dangling']);
  await server[Symbol.asyncDispose]();
});

/** A writer with a mirror of its own, as for a repository of another host. */
function mover(
  allow: (moves: readonly DirectoryMove[]) => readonly DirectoryMove[] = (moves) => moves,
): GitopsDelivery {
  return writerOn(server, {
    layouts: {
      record,
      mintMove: async (moves) => {
        server.tokens.set('move', {
          repository: 'acme',
          access: { access: 'write', scope: [], moves: allow(moves) },
        });
        return { username: 'service', password: new Secret('move') };
      },
    },
  });
}

const paths = async (): Promise<string[]> =>
  (await git(server.path('acme'), ['ls-tree', '-r', '--name-only', 'main', 'clusters/'])).split('\n');
const [eu, us] = [clusterDirectory('sharded', 'prod-eu'), clusterDirectory('sharded', 'prod-us')];

describe('a move of the layout, from a mirror', () => {
  it('is done before the next delivery, which goes to the new place; another writer follows by the record', async () => {
    await using one = mover();
    await using other = mover();
    await deliver(one, [apply(), apply({ slug: 'prod-us' })]);
    await deliver(other, [apply({ name: 'other' })]);
    record.begin('sharded');
    expect(await one.planLayout('sharded', AbortSignal.timeout(10_000))).toEqual({ directories: 2, collisions: [] });
    const [receipt] = await deliver(one, [apply({ name: 'later' })]);
    expect([receipt?.state, record.ends]).toEqual(['delivered', ['moved 2']]);
    await deliver(other, [apply({ slug: 'prod-us', name: 'later' })]);
    expect((await paths()).filter((path) => path.startsWith(`${eu}/`) || path.startsWith(`${us}/`))).toEqual(
      await paths(),
    );
    expect(await paths()).toEqual(expect.arrayContaining([`${eu}/apps/shop/later.yaml`, `${us}/apps/shop/later.yaml`]));
    const log = await one.read(
      async (query, tip) => await query(['log', '--format=%s', tip ?? ''], AbortSignal.timeout(10_000)),
      AbortSignal.timeout(10_000),
    );
    expect(log).toContain('Move 2 cluster directories to the sharded layout');
  });

  it('that was pushed before a crash is not pushed again, and deliveries wait until it is on record', async () => {
    await using delivery = mover();
    await deliver(delivery, [apply()]);
    record.begin('sharded');
    record.broken = true;
    await expect(deliver(delivery, [apply({ name: 'later' })])).rejects.toThrow('the database is gone');
    const tip = await git(server.path('acme'), ['rev-parse', 'main']);
    await using next = mover();
    await expect(deliver(next, [apply({ name: 'later' })])).rejects.toThrow('the database is gone');
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(tip);
    record.broken = false;
    await next.settleLayout(AbortSignal.timeout(10_000));
    expect(record.ends).toEqual(['moved before']);
    expect(await git(server.path('acme'), ['rev-parse', 'main'])).toBe(tip);
  });

  it('is given up where the Git host refuses it, and deliveries go on as before', async () => {
    await using delivery = mover((moves) => moves.slice(1));
    await deliver(delivery, [apply(), apply({ slug: 'prod-us' })]);
    record.begin('sharded');
    await deliver(delivery, [apply({ name: 'later' })]);
    expect(record.ends).toEqual([expect.stringContaining('the Git host refused it: ')]);
    expect(await paths()).toContain('clusters/prod-eu/apps/shop/later.yaml');
  });
});

describe('the history, from a mirror', () => {
  it('is told as it was last known while the Git host is away, and not at all where nothing is known', async () => {
    await using delivery = mover();
    await deliver(delivery, [apply()]);
    const subjectsOf = async (reader: GitopsDelivery): Promise<string> => {
      const signal = AbortSignal.timeout(10_000);
      return await reader.read(
        async (query, tip) => await query(['log', '--format=%s', tip ?? 'none'], signal),
        signal,
      );
    };
    server.intercept = () => 503;
    expect(await subjectsOf(delivery)).toContain('prod-eu: install shop/podinfo');
    await using fresh = mover();
    await expect(subjectsOf(fresh)).rejects.toMatchObject({ code: 'unavailable' });
    server.intercept = undefined;
    expect(await subjectsOf(fresh)).toContain('prod-eu: install shop/podinfo');
  });
});
