import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareDataFolders } from '../../src/control-plane/data-folders.ts';
import { Secret } from '../../src/runtime/secret.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'data-folders-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function prepare(
  dataDir: string,
  { databaseUrl, ...change }: { databaseUrl?: string; masterKeyFile?: string } = {},
): void {
  prepareDataFolders({
    dataDir,
    databaseUrl: new Secret(databaseUrl ?? `sqlite:${join(dataDir, 'control-plane.db')}`),
    masterKeyFile: join(dataDir, 'master.key'),
    ...change,
  });
}

describe('prepareDataFolders', () => {
  it('makes the data directory, for its owner alone, and takes one that is there', () => {
    const dataDir = join(folder, 'a/b');
    prepare(dataDir);
    prepare(dataDir);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it('says at once which directory cannot be made, below a file system that makes none too', () => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
    expect(() => prepare(join(folder, 'file/data'))).toThrow(
      `SERVICE_DATA_DIR: ${folder}/file cannot be made (EEXIST)`,
    );
    expect(() => prepare(join(folder, 'dangling'))).toThrow(
      `SERVICE_DATA_DIR: ${folder}/dangling cannot be made (EEXIST)`,
    );
    expect(() => prepare('/proc/service/data')).toThrow('SERVICE_DATA_DIR: /proc/service cannot be made (ENOENT)');
  });

  it('does not make the folder of a file that a variable puts elsewhere: it may be mistyped', () => {
    const dataDir = join(folder, 'data');
    const elsewhere = join(folder, 'typo');
    expect(() => prepare(dataDir, { databaseUrl: `sqlite:${elsewhere}/x.db` })).toThrow(
      `SERVICE_DATABASE_URL: the folder ${elsewhere} is not there; make it first`,
    );
    expect(() => prepare(dataDir, { masterKeyFile: `${elsewhere}/key` })).toThrow(
      `SERVICE_MASTER_KEY_FILE: the folder ${elsewhere} is not there; make it first`,
    );
    mkdirSync(elsewhere);
    expect(() => prepare(dataDir, { masterKeyFile: `${elsewhere}/key` })).not.toThrow();
  });
});
