import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObjectId } from './git-object.ts';

/** The id that a branch's own file names; `undefined` when it has none: the branch is packed, or does not exist. */
export async function readLooseRef(repository: string, ref: string): Promise<string | undefined> {
  try {
    const id = (await readFile(join(repository, ref), 'utf8')).trim();
    return isObjectId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}
