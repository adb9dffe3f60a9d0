import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Type, type Static } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';
import { exists } from '../embedded-host/repository-setup.ts';
import { moveBranch } from '../embedded-host/move-branch.ts';
import { gitConfigEnvironment, GitProcessError, runGit } from '../git-process.ts';
import { readLooseRef } from '../loose-ref.ts';
import type { IndexedPack } from '../pack-index.ts';
import { readProjectedCommit } from './projected-commit.ts';

/** What is known of a projection without asking git. It counts as long as the branch is where it says. */
const ProjectionState = Type.Object({
  tip: Type.String(),
  /** Root tree of the tip: the cluster's directory. */
  tree: Type.String(),
  /** The commit of the shared repository that the tip was made of. */
  source: Type.String(),
  /** `refs/heads/<branch>`. */
  ref: Type.String(),
  /** Keys for whose signatures the organization's own stands here, so that it counts no longer than theirs. */
  lent: Type.Array(Type.String()),
  /** Packs added since the last tidying. */
  packs: Type.Integer(),
  /** In which life of the machine it was last written or checked. */
  boot: Type.String(),
});
export type ProjectionState = Static<typeof ProjectionState>;
/** The part of it that follows from what was written. */
export type Written = Omit<ProjectionState, 'boot' | 'ref'>;

const STATE_FILE = 'projection.json';
const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n';
const parseState = compileParser(ProjectionState);

/**
 * One projection on disk: a bare repository with objects of its own, written without a process. Nothing is synced: it can
 * be made anew, so a power failure may take what was written last. Whatever was written before the machine last started
 * is therefore checked once by git before it counts.
 */
export class ProjectionRepository {
  readonly path: string;
  readonly #ref: string;
  readonly #boot: string;

  constructor(deps: { readonly path: string; readonly branch: string; readonly boot: string }) {
    this.path = deps.path;
    this.#ref = `refs/heads/${deps.branch}`;
    this.#boot = deps.boot;
  }

  async isThere(): Promise<boolean> {
    return await exists(join(this.path, 'HEAD'));
  }

  /**
   * What it holds, as far as files tell: `empty` without a commit, `unsure` when git has to be asked.
   *
   * @param isKnownSound this process has seen it whole: whoever wrote it since, on another machine too, left it so
   */
  async peek(isKnownSound: boolean): Promise<ProjectionState | 'missing' | 'empty' | 'unsure'> {
    const [tip, state] = await Promise.all([readLooseRef(this.path, this.#ref), this.readState()]);
    const stated = state === 'spoiled' ? undefined : state;
    const isStated = tip !== undefined && stated?.tip === tip && stated.ref === this.#ref;
    if (isStated && (isKnownSound || stated.boot === this.#boot)) return stated;
    const head = await readFile(join(this.path, 'HEAD'), 'utf8').catch(ifMissing);
    if (head === undefined) return 'missing';
    // One of another branch is none of this.
    return tip === undefined && state === undefined && head === `ref: ${this.#ref}\n` ? 'empty' : 'unsure';
  }

  /** Asks git whether it is whole, and the tip what it is. `damaged`: it is of no use. */
  async examine(signal: AbortSignal): Promise<ProjectionState | 'damaged'> {
    const tip = await readLooseRef(this.path, this.#ref);
    const known = await this.readState();
    // On whose word its signatures rest can be read nowhere else.
    if (tip === undefined || known === undefined || known === 'spoiled') return 'damaged';
    const { lent } = known;
    try {
      await this.#git(['fsck', '--strict', '--no-dangling', '--no-progress'], signal);
      const commit = readProjectedCommit(await this.#git(['cat-file', 'commit', tip], signal));
      if (commit === undefined) return 'damaged';
      const packs = await this.#countPacks();
      const state = { tip, ...commit, ref: this.#ref, lent, packs, boot: this.#boot };
      await this.writeState(state);
      return state;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GitProcessError) || error.exitCode === null) throw error;
      return 'damaged';
    }
  }

  /** Makes it, empty, in place of whatever is there. */
  async make(): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    // Built beside its place and moved there, so that a crash leaves no half a repository.
    const draft = `${this.path}.${randomUUID()}.new`;
    for (const folder of ['objects/pack', 'objects/info', 'refs/heads']) {
      await mkdir(join(draft, folder), { recursive: true });
    }
    await writeFile(join(draft, 'config'), CONFIG);
    await writeFile(join(draft, 'HEAD'), `ref: ${this.#ref}\n`);
    await this.remove();
    try {
      await rename(draft, this.path);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      // Another process was first.
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    }
  }

  /** Takes it away at once; its files go after that. */
  async remove(): Promise<void> {
    const old = `${this.path}.${randomUUID()}.old`;
    try {
      await rename(this.path, old);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return;
      throw error;
    }
    await rm(old, { recursive: true, force: true });
  }

  /** Adds a pack's objects. A pack counts when its index is there, so that comes last. */
  async addPack(pack: IndexedPack): Promise<void> {
    const folder = join(this.path, 'objects', 'pack');
    const [name, draft] = [join(folder, `pack-${pack.name}`), join(folder, `tmp_idx_${randomUUID()}`)];
    await Promise.all([writeFile(`${name}.pack`, pack.pack), writeFile(draft, pack.index)]);
    await rename(draft, `${name}.idx`);
  }

  /** Moves the branch by compare-and-swap. @returns whether it was moved */
  async move(before: string | undefined, next: Written, now: Date): Promise<boolean> {
    // First, and with no tip: whoever finds that after a crash has git look at what is there.
    if (next.lent.length > 0) {
      await this.writeState({ ...next, tip: '', ref: this.#ref, boot: this.#boot, lent: await this.#lentWith(next) });
    }
    const unmoved =
      before === next.tip
        ? undefined
        : await moveBranch({
            repository: this.path,
            ref: this.#ref,
            oldId: before,
            newId: next.tip,
            now,
            isDerived: true,
          });
    if (unmoved !== undefined) return false;
    await this.writeState({ ...next, ref: this.#ref, boot: this.#boot });
    return true;
  }

  /** Those of what the branch is at count until it is moved. */
  async #lentWith({ lent }: Written): Promise<string[]> {
    const known = await this.readState();
    return [...new Set([...lent, ...(known === undefined || known === 'spoiled' ? [] : known.lent)])].toSorted();
  }

  async writeState(state: ProjectionState): Promise<void> {
    const draft = join(this.path, `${STATE_FILE}.${randomUUID()}`);
    await writeFile(draft, JSON.stringify(state));
    await rename(draft, join(this.path, STATE_FILE));
  }

  async noteTidied(): Promise<void> {
    const state = await this.readState();
    if (state === undefined || state === 'spoiled') return;
    await this.writeState({ ...state, packs: await this.#countPacks() });
  }

  async #countPacks(): Promise<number> {
    const files = await readdir(join(this.path, 'objects', 'pack'));
    return files.filter((file) => file.endsWith('.pack')).length;
  }

  /** What it says of itself; `undefined` when it says nothing. */
  async readState(): Promise<ProjectionState | 'spoiled' | undefined> {
    const text = await readFile(join(this.path, STATE_FILE), 'utf8').catch(ifMissing);
    try {
      return text === undefined ? undefined : parseState(JSON.parse(text));
    } catch {
      return 'spoiled';
    }
  }

  async #git(args: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const settings: readonly (readonly [string, string])[] = [['safe.directory', this.path]];
    const env = { ...gitConfigEnvironment(settings), GIT_DIR: this.path, GIT_NO_REPLACE_OBJECTS: '1' };
    return await runGit(args, { cwd: this.path, env, signal });
  }
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT') return undefined;
  throw error;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
