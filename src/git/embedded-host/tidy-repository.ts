import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maintainRepository } from '../maintain-repository.ts';

/** A quarantine or half a pack this old is of a push that a crash broke off. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/**
 * Packs what pushes have left as single objects, each pack twice as large as the next, so that the work follows what is
 * new. Runs beside pushes and fetches. It removes nothing that could be linked to: unreachable objects stay, since a
 * push may name one at that moment.
 */
export async function tidyRepository(deps: {
  readonly path: string;
  readonly settings: readonly (readonly [string, string])[];
  readonly now: Date;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { path, now, signal } = deps;
  await maintainRepository({ path, settings: deps.settings, timeoutMs: 30 * 60_000, signal });
  const objects = join(path, 'objects');
  await removeAbandoned(objects, 'tmp_objdir-incoming-', now);
  await removeAbandoned(join(objects, 'pack'), 'tmp_', now);
}

async function removeAbandoned(folder: string, prefix: string, now: Date): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: now.getTime() }));
    if (now.getTime() - mtimeMs > ABANDONED_MS) await rm(join(folder, name), { recursive: true, force: true });
  }
}
