import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isUniqueViolation } from '../../../src/control-plane/store/sqlite-error.ts';
import { AppError } from '../../../src/protocol/app-error.ts';
import { insertOrganization, openTestStore, organizationIds, temporaryFolder } from './open-test-store.ts';

async function refused(work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome.status === 'rejected' ? outcome.reason : undefined;
}

describe('openStore', () => {
  it('keeps what was written when it is opened again', async () => {
    using folder = temporaryFolder();
    {
      await using store = await openTestStore(folder.path);
      await insertOrganization(store, 'org-1');
    }
    await using store = await openTestStore(folder.path);
    expect(await organizationIds(store)).toEqual(['org-1']);
  });

  it('undoes a failed write alone among those that share its transaction', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    const outcomes = await Promise.allSettled([
      insertOrganization(store, 'org-1'),
      store.write(async (trx) => {
        await trx.insertInto('organizations').values({ id: 'org-2', name: 'org-2', created_at: '' }).execute();
        throw new Error('second thoughts');
      }),
      insertOrganization(store, 'org-3', 'org-1'),
      insertOrganization(store, 'org-4'),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    const [, , third] = outcomes;
    expect(isUniqueViolation(third.status === 'rejected' ? third.reason : undefined)).toBe(true);
    expect(await organizationIds(store)).toEqual(['org-1', 'org-4']);
  });

  it('shows readers nothing of a write in progress', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    const seen: string[][] = [];
    await store.write(async (trx) => {
      await trx.insertInto('organizations').values({ id: 'org-1', name: 'a', created_at: '' }).execute();
      seen.push(await organizationIds(store), await organizationIds({ db: trx }));
    });
    expect(seen).toEqual([[], ['org-1']]);
  });

  it('refuses a write inside a write, and writes through the reading side', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    const nested = await refused(store.write(async () => await insertOrganization(store, 'org-1')));
    expect(String(nested)).toContain('a write inside a write would wait for itself');
    expect(await refused(store.db.deleteFrom('organizations').execute())).toBeInstanceOf(AppError);
    await insertOrganization(store, 'org-2');
    expect(await organizationIds(store)).toEqual(['org-2']);
  });

  it('enforces references between tables', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    const orphan = store.write(async (trx) => {
      const row = { token_hash: 'h', cluster_id: 'c-none', created_by: 'a', created_at: '', expires_at: '' };
      await trx.insertInto('registration_tokens').values(row).execute();
    });
    expect(String(await refused(orphan))).toContain('FOREIGN KEY constraint failed');
  });

  it('finishes the writes it took before it closes, and takes none after', async () => {
    using folder = temporaryFolder();
    const store = await openTestStore(folder.path);
    const writes = Array.from({ length: 50 }, async (_, n) => {
      await insertOrganization(store, `org-${n}`);
    });
    await store[Symbol.asyncDispose]();
    await Promise.all(writes);
    expect(await refused(insertOrganization(store, 'late'))).toMatchObject({ code: 'unavailable' });
    await using again = await openTestStore(folder.path);
    expect(await organizationIds(again)).toHaveLength(50);
  });

  it('refuses a second holder of the data, in this process and in another', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    expect(String(await refused(openTestStore(folder.path)))).toContain('in use by another control plane');
    const child = spawnSync(process.execPath, [join(import.meta.dirname, 'write-until-killed.ts'), folder.path], {
      encoding: 'utf8',
    });
    expect([child.status, child.stderr]).toEqual([1, expect.stringContaining('in use by another control plane')]);
    await insertOrganization(store, 'org-1');
    expect(await organizationIds(store)).toEqual(['org-1']);
  });

  it('keeps its file from other users', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    await insertOrganization(store, 'org-1');
    for (const name of ['control-plane.db', 'control-plane.db-wal']) {
      expect([name, statSync(join(folder.path, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  it('says what is wrong with a file that is not a database', async () => {
    using folder = temporaryFolder();
    writeFileSync(
      join(folder.path, 'control-plane.db'),
      'this is not a database, and it is long enough to be read as one. '.repeat(20),
    );
    expect(String(await refused(openTestStore(folder.path)))).toContain('file is not a database');
  });
});
