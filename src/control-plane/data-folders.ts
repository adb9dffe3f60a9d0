import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ControlPlaneConfig } from './config.ts';
import { isPostgresUrl } from './store/postgres-url.ts';
import { sqliteFile } from './store/sqlite-connection.ts';

/**
 * Makes the data directory, readable by its owner alone. A file that a variable puts elsewhere must be in a folder that is
 * there: a mistyped path would otherwise start a new, empty control plane with a new key.
 *
 * @throws Error with one line that names the variable
 */
export function prepareDataFolders(
  config: Pick<ControlPlaneConfig, 'dataDir' | 'databaseUrl' | 'masterKeyFile'>,
): void {
  const dataDir = resolve(config.dataDir);
  makeFolder(dataDir);
  const files: [variable: string, file: string][] = [['SERVICE_MASTER_KEY_FILE', config.masterKeyFile]];
  const url = config.databaseUrl.expose();
  if (!isPostgresUrl(url)) files.unshift(['SERVICE_DATABASE_URL', sqliteFile(url)]);
  for (const [variable, file] of files) {
    const folder = dirname(resolve(file));
    if (!isFolder(folder)) throw new Error(`${variable}: the folder ${folder} is not there; make it first`);
  }
}

/** Step by step: `mkdir` with `recursive` never returns below a file system like /proc (Node 24). */
function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; !isFolder(at); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process that starts too may have made it.
      if (isFolder(folder)) continue;
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      throw new Error(`SERVICE_DATA_DIR: ${folder} cannot be made (${code})`, { cause: error });
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
