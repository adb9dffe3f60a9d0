import { findEntry, TreeEditError } from '../../../git/tree-edit.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import { MODE_DIRECTORY } from '../../../git/git-tree.ts';
import type { IntentRecord } from '../../../intent/intent-record.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { BlobPin } from '../../delivery.ts';
import type { BranchWriter } from './branch-writer.ts';
import { inspectFiles, type FileFate, type WrittenFile } from './inspect-branch.ts';
import { clusterDirectory, type RepositoryLayout } from '../layout.ts';
import { pinsHaveLanded, pinsStand } from './pins.ts';
import type { Tip } from './plan-chain.ts';
import { findCommitOfIntent, findCommitOfPath, isAncestor } from './recognise-commit.ts';

/** What is looked for on the branch. */
export interface ProposedChange {
  readonly intent: Pick<IntentRecord, 'id' | 'requestedAt'>;
  readonly slug: string;
  readonly pins: readonly BlobPin[];
}

export type ProposalStanding =
  | { readonly state: 'landed'; readonly commit: string; readonly revision: string }
  | { readonly state: 'waits' | 'moved'; readonly hasMerge: boolean };

/** Whatever a repository is set to: whole ids, each file for itself, names and contents as they are. */
const DIFF =
  '-c core.quotePath=false diff --no-color --no-ext-diff --no-textconv --no-renames --full-index --text'.split(' ');

/** Reads of the branch beside deliveries. Not to be run twice at once, nor beside a delivery. */
export class BranchReadings {
  readonly #deps: { readonly name: string; readonly writer: BranchWriter; readonly logger: Logger };
  readonly #writer: BranchWriter;

  constructor(deps: { readonly name: string; readonly writer: BranchWriter; readonly logger: Logger }) {
    this.#deps = deps;
    this.#writer = deps.writer;
  }

  /** Each method may throw an Error: the remote cannot be read now. */
  async standing(
    { intent, slug, pins }: ProposedChange,
    merge: string | undefined,
    {
      credential,
      layout,
      signal,
    }: {
      readonly credential: GitCredential;
      readonly layout: () => Promise<RepositoryLayout>;
      readonly signal: AbortSignal;
    },
  ): Promise<ProposalStanding> {
    const { commit: tip, root } = await this.#look(credential, signal);
    const directory = clusterDirectory(await layout(), slug);
    const revision = await this.#treeAt(root, directory);
    const { copy } = this.#writer;
    const [first] = pins;
    const state = await pinsStand(copy, revision, pins);
    if (state === 'landed' && tip !== undefined && revision !== undefined && first !== undefined) {
      const commit =
        (await findCommitOfIntent(copy, tip, intent, signal)) ??
        (await findCommitOfPath(copy, tip, `${directory}/${first.path}`, signal));
      if (commit !== undefined) return { state, commit, revision };
    }
    const hasMerge = merge !== undefined && tip !== undefined && (await isAncestor(copy, merge, tip, signal));
    if (hasMerge && revision !== undefined) {
      const then = await this.#treeAt(await copy.readTreeOfCommit(merge), directory);
      if (await pinsHaveLanded(copy, then, pins)) return { state: 'landed', commit: merge, revision };
    }
    return { state: state === 'landed' ? 'waits' : state, hasMerge };
  }

  async diff(
    { branch, base, head }: { readonly branch: string | undefined; readonly base: string; readonly head: string },
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<string> {
    const { copy } = this.#writer;
    await this.#look(credential, signal);
    const found = branch === undefined ? undefined : await copy.fetchBranch(branch, credential, signal);
    if (found?.state === 'rejected') throw new Error(`${this.#deps.name}: ${found.message}`);
    return await copy.query([...DIFF, base, head, '--'], signal);
  }

  async observe(
    directories: readonly string[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { root } = await this.#look(credential, signal);
    const found = new Map<string, string>();
    for (const directory of directories) {
      const id = await this.#treeAt(root, directory);
      if (id !== undefined) found.set(directory, id);
    }
    return found;
  }

  async inspect(
    files: readonly WrittenFile[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<{ readonly fates: readonly FileFate[]; readonly tip: string | undefined }> {
    const { commit: tip } = await this.#look(credential, signal);
    return { fates: await inspectFiles(this.#writer.copy, tip, files, signal), tip };
  }

  async #look(credential: GitCredential, signal: AbortSignal): Promise<Tip> {
    const looked = await this.#writer.look(credential, signal);
    if (looked.state === 'rejected') throw new Error(`${this.#deps.name}: ${looked.message}`);
    return looked.value;
  }

  /** Undefined too where somebody put a file or a link in the way: that is one cluster's trouble, not the others'. */
  async #treeAt(root: string, directory: string): Promise<string | undefined> {
    try {
      const entry = await findEntry(this.#writer.copy, root, directory);
      return entry?.mode === MODE_DIRECTORY ? entry.id : undefined;
    } catch (error) {
      if (!(error instanceof TreeEditError)) throw error;
      this.#deps.logger.warn({ err: error, directory }, 'a cluster directory cannot be read');
      return undefined;
    }
  }
}
