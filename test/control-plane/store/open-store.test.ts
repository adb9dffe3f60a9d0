import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { insertOrganization, openTestStore, organizationIds, temporaryFolder } from './open-test-store.ts';

async function refused(work: Promise<unknown>): Promise<unknown> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome.status === 'rejected' ? outcome.reason : undefined;
}

describe('openStore on SQLite', () => {
  it('refuses a second holder of the data, in this process and in another', async () => {
    using folder = temporaryFolder();
    await using store = await openTestStore(folder.path);
    expect(String(await refused(openTestStore(folder.path)))).toContain('in use by another control plane');
    const child = spawnSync(
      process.execPath,
      [join(import.meta.dirname, 'write-until-killed.ts'), `sqlite:${folder.path}/control-plane.db`],
      {
        encoding: 'utf8',
      },
    );
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
