import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GitFolder } from '../../src/control-plane/git/git-folder.ts';
import { openMasterKey } from '../../src/control-plane/master-key.ts';
import { makeFirstAdmin } from '../../src/control-plane/first-start.ts';
import { requireSameMasterKey } from '../../src/control-plane/store/installation.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { openStoreAt } from './store/open-store-at.ts';
import { temporaryFolder } from './store/open-test-store.ts';
import { TEST_DATABASES } from './store/test-databases.ts';
import { newPostgresDatabase } from '../support/postgres/new-database.ts';

describe.each(TEST_DATABASES)('the master key of a database on $name', ({ create }) => {
  it('is the one that it was first opened with', async () => {
    using database = await create();
    using folder = temporaryFolder();
    await using store = await database.open();
    const file = join(folder.path, 'master.key');
    await requireSameMasterKey(store, openMasterKey({ file, randomBytes }));
    await requireSameMasterKey(store, openMasterKey({ file, randomBytes }));
    rmSync(file);
    await expect(requireSameMasterKey(store, openMasterKey({ file, randomBytes }))).rejects.toThrow(
      /^SERVICE_MASTER_KEY_FILE is not the key that this database was first opened with/,
    );
  });
});

describe('replicas that start at once over an empty database', () => {
  it('make one admin token, which one of them shows', async () => {
    const url = await newPostgresDatabase();
    const stores = await Promise.all(Array.from({ length: 4 }, async () => await openStoreAt(url)));
    const deps = { clock: new ManualClock(), randomBytes, adminToken: undefined };
    const tokens = await Promise.all(
      stores.map(async (store) => await makeFirstAdmin({ ...deps, store, issuer: undefined })),
    );
    expect(tokens.filter((token) => token !== undefined)).toHaveLength(1);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it('agree on one master key in a folder that they share', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'master.key');
    const keys = await Promise.all(Array.from({ length: 4 }, async () => openMasterKey({ file, randomBytes })));
    expect(new Set(keys.map((key) => Buffer.from(key.derive('x')).toString('hex'))).size).toBe(1);
  });
});

describe('the folder of the Git repositories', () => {
  it('is one and the same for all replicas', async () => {
    using folder = temporaryFolder();
    for (const name of ['shared', 'other']) mkdirSync(join(folder.path, name));
    const url = await newPostgresDatabase();
    await using a = await openStoreAt(url);
    await using b = await openStoreAt(url);
    const shared = join(folder.path, 'shared');
    await Promise.all([a, b].map(async (store) => await new GitFolder({ store, dataDir: shared }).claim()));
    await expect(new GitFolder({ store: b, dataDir: join(folder.path, 'other') }).claim()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('is not the folder that the others have their Git repositories in') as string,
    });
    // Nothing is kept in Git yet: such a replica may come up.
    await new GitFolder({ store: b, dataDir: join(folder.path, 'other') }).claimIfInUse();
  });
});
