import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../protocol/app-error.ts';
import { agreeOn } from '../store/installation.ts';
import type { Store } from '../store/open-store.ts';
import { embeddedRepositories } from '../store/repositories.ts';

const MARK_FILE = 'git-folder.id';
const MARK = /^[0-9a-f-]{36}$/;

/**
 * Sees to it that all replicas keep the embedded Git host's repositories in one and the same folder: two folders would be
 * two histories. Where one process has the database for itself there is nothing to see to.
 */
export class GitFolder {
  readonly #store: Store;
  readonly #file: string;
  #claimed = false;

  constructor(deps: { readonly store: Store; readonly dataDir: string }) {
    this.#store = deps.store;
    this.#file = join(deps.dataDir, MARK_FILE);
  }

  /** At the start: a replica that would serve other repositories than the others must not come up. */
  async claimIfInUse(): Promise<void> {
    if ((await embeddedRepositories(this.#store.db)).length > 0) await this.claim();
  }

  /** @throws AppError `unavailable` with one line that says what to do when the others have another folder */
  async claim(): Promise<void> {
    if (this.#claimed || this.#store.session === undefined) return;
    const mark = readMark(this.#file) ?? makeMark(this.#file);
    if (!(await this.#store.write(async (trx) => await agreeOn(trx, 'git-folder', mark)))) {
      throw new AppError(
        'unavailable',
        'SERVICE_DATA_DIR of this replica is not the folder that the others have their Git repositories in; give every replica the same volume',
      );
    }
    this.#claimed = true;
  }
}

function readMark(file: string): string | undefined {
  try {
    const mark = readFileSync(file, 'utf8').trim();
    if (MARK.test(mark)) return mark;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  throw new Error(`${file} does not hold what this program wrote there; restore it from a backup`);
}

/** Linked into place, so that of two processes one wins and the other reads what that one wrote. */
function makeMark(file: string): string {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${randomUUID()}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const mark = readMark(file);
  if (mark === undefined) throw new Error(`${file} vanished while it was made`);
  return mark;
}
