import { commitMessage } from '../../../git/commit-message.ts';
import { commitObject, signedCommit, type CommitSigner, type Identity } from '../../../git/commit-object.ts';
import { EMPTY_TREE_ID, type NewObject } from '../../../git/git-object.ts';
import { MODE_FILE, type GitTree } from '../../../git/git-tree.ts';
import { differOnlyUnder, editTree, findEntry, TreeEditError, type FileEdit } from '../../../git/tree-edit.ts';
import type { Rendered } from '../../../intent/rendered.ts';
import type { BlobPin, DeliveryItem } from '../../delivery.ts';
import { clusterReadme } from './cluster-readme.ts';
import { decideEdit, refusalOf, type Refusal, type Standing } from './decide-edit.ts';
import type { BlobReader, ExpiredTombstones } from './expired-tombstones.ts';
import { clusterDirectory, manifestPath, README_FILE, tombstonePath, type RepositoryLayout } from '../layout.ts';
import { pinsDoNotHold, pinsHaveLanded, pinsOf } from './pins.ts';
import { PATH_NOT_ALLOWED } from './refusal-reasons.ts';

/** Where the branch is. `commit` undefined: the branch does not exist yet. */
export interface Tip {
  readonly commit: string | undefined;
  readonly root: string;
}

export interface PlannedCommit {
  readonly rendered: DeliveryItem;
  readonly directory: string;
  readonly id: string;
  /** Of the repository once it is the tip. */
  readonly root: string;
  readonly subject: string;
  /** What it changes in the directory. */
  readonly pins: readonly BlobPin[];
  /** Of this commit alone, itself included. */
  readonly objects: readonly NewObject[];
}

/** What a batch means for the branch as it is. */
export interface Plan {
  readonly commits: readonly PlannedCommit[];
  /** Already there, byte for byte, at the path named (from the repository's root). */
  readonly unchanged: readonly { readonly rendered: DeliveryItem; readonly path: string }[];
  readonly superseded: readonly DeliveryItem[];
  /** What was approved is not what it would be now. */
  readonly moved: readonly { readonly rendered: Rendered; readonly message: string }[];
  readonly refused: readonly { readonly rendered: Rendered; readonly refusal: Refusal }[];
  /** The branch once the commits are pushed. */
  readonly tip: Tip;
  /** Tree id of each cluster directory of the batch at that tip. */
  readonly directories: ReadonlyMap<string, string>;
}

export interface PlanDeps {
  readonly reader: BlobReader;
  readonly layout: RepositoryLayout;
  readonly committer: Identity;
  readonly signCommit?: CommitSigner;
  readonly tombstones: ExpiredTombstones;
  readonly now: Date;
}

/**
 * Builds a straight line of commits on `tip`, one for each intent that changes something, in the batch's order. Reads
 * only what the intents touch, writes nothing: pushing is the caller's.
 */
export async function planChain(deps: PlanDeps, tip: Tip, batch: readonly DeliveryItem[]): Promise<Plan> {
  const overlay = new Overlay(deps.reader);
  const commits: PlannedCommit[] = [];
  const unchanged: { rendered: DeliveryItem; path: string }[] = [];
  const superseded: DeliveryItem[] = [];
  const moved: { rendered: Rendered; message: string }[] = [];
  const refused: { rendered: Rendered; refusal: Refusal }[] = [];
  const directories = new Set<string>();
  let current = tip;
  for (const rendered of batch) {
    const refusal = refusalOf(rendered);
    if (refusal !== undefined) {
      refused.push({ rendered, refusal });
      continue;
    }
    const directory = clusterDirectory(deps.layout, rendered.target.slug);
    directories.add(directory);
    try {
      const planned = await planOne(deps, overlay, current, rendered, directory);
      if (planned === 'superseded') {
        superseded.push(rendered);
      } else if (planned === 'unchanged') {
        const path = rendered.kind === 'apply' ? manifestPath(rendered) : tombstonePath(rendered.intent);
        unchanged.push({ rendered, path: `${directory}/${path}` });
      } else if ('moved' in planned) {
        moved.push({ rendered, message: planned.moved });
      } else {
        commits.push(planned.commit);
        current = planned.tip;
      }
    } catch (error) {
      if (!(error instanceof TreeEditError)) throw error;
      refused.push({ rendered, refusal: { reason: PATH_NOT_ALLOWED, message: error.message } });
    }
  }
  const ids = new Map<string, string>();
  for (const directory of directories) {
    try {
      ids.set(directory, (await findTree(overlay, current.root, directory)) ?? EMPTY_TREE_ID);
    } catch (error) {
      // A link stands above it: each of its intents was refused for that, and the others go on.
      if (!(error instanceof TreeEditError)) throw error;
    }
  }
  return { commits, unchanged, superseded, moved, refused, tip: current, directories: ids };
}

type Planned =
  | 'unchanged'
  | 'superseded'
  | { readonly moved: string }
  | { readonly commit: PlannedCommit; readonly tip: Tip };

async function planOne(
  deps: PlanDeps,
  overlay: Overlay,
  tip: Tip,
  rendered: DeliveryItem,
  directory: string,
): Promise<Planned> {
  const directoryId = await findTree(overlay, tip.root, directory);
  const approved = rendered.review?.kind === 'merge' ? rendered.review : undefined;
  // Merged on the Git host itself, perhaps as another commit.
  if (approved !== undefined && (await pinsHaveLanded(overlay, directoryId, approved.pins))) return 'unchanged';
  const decision = decideEdit(rendered, await readStanding(overlay, directoryId, rendered));
  if (decision.kind !== 'write') return decision.kind;
  const edits: FileEdit[] = [...decision.edits];
  if (directoryId === undefined) {
    edits.push({ path: README_FILE, content: Buffer.from(clusterReadme(rendered.target.slug)) });
  }
  const edited = new Set(edits.map(({ path }) => path));
  const pinned = approved === undefined ? undefined : new Set(approved.pins.map(({ path }) => path));
  for (const path of await deps.tombstones.find(overlay, directoryId, deps.now)) {
    // One that expired after the approval waits for the next commit.
    if (!edited.has(path) && pinned?.has(path) !== false) edits.push({ path, content: undefined });
  }
  const pins = await pinsOf(overlay, directoryId, edits);
  const fault = approved === undefined ? undefined : await pinsDoNotHold(overlay, directoryId, approved.pins, pins);
  if (fault !== undefined) return { moved: fault };
  const placed = edits.map(({ path, content }) => ({ path: `${directory}/${path}`, content }));
  const { rootId, objects } = await editTree(overlay, tip.root, placed);
  // The server checks this too, where it can; here it holds on every host, and whatever the edit got wrong.
  if (!(await differOnlyUnder(overlay, tip.root, rootId, directory))) {
    throw new TreeEditError(directory, 'is not all that the commit would change');
  }
  for (const object of objects) overlay.addBlob(object);
  const unsigned = commitObject({
    tree: rootId,
    parent: tip.commit,
    identity: deps.committer,
    at: deps.now,
    message: commitMessage({
      subject: decision.subject,
      reason: rendered.intent.reason,
      trailers: {
        'Intent-Id': rendered.intent.id,
        'Cluster-Id': rendered.target.clusterId,
        'Idempotency-Key': rendered.idempotencyKey,
        'Requested-By': rendered.intent.requestedBy,
        ...(approved === undefined ? {} : { 'Approved-By': approved.approvedBy }),
      },
    }),
  });
  const commit = await signedCommit(unsigned, deps.signCommit);
  return {
    commit: {
      rendered,
      directory,
      id: commit.id,
      root: rootId,
      subject: decision.subject,
      pins,
      objects: [...objects, commit],
    },
    tip: { commit: commit.id, root: rootId },
  };
}

async function readStanding(
  reader: BlobReader,
  directoryId: string | undefined,
  rendered: Rendered,
): Promise<Standing> {
  if (directoryId === undefined) return { manifest: undefined, tombstone: undefined };
  const read = async (path: string): Promise<Buffer | undefined> => {
    const entry = await findEntry(reader, directoryId, path);
    return entry?.mode === MODE_FILE ? reader.readBlob(entry.id) : undefined;
  };
  return { manifest: await read(manifestPath(rendered)), tombstone: await read(tombstonePath(rendered.intent)) };
}

async function findTree(reader: BlobReader, root: string, directory: string): Promise<string | undefined> {
  const entry = await findEntry(reader, root, directory);
  // Only a commit that writes below it needs it to be a directory; `editTree` refuses then.
  return entry?.mode === '40000' ? entry.id : undefined;
}

/** What was read, and over it what this chain has made and nobody holds yet. */
class Overlay implements BlobReader {
  readonly #under: BlobReader;
  readonly #trees = new Map<string, GitTree>();
  readonly #blobs = new Map<string, Buffer>();

  constructor(under: BlobReader) {
    this.#under = under;
  }

  async readTree(id: string): Promise<GitTree> {
    return this.#trees.get(id) ?? this.#under.readTree(id);
  }

  addTree(id: string, tree: GitTree): void {
    this.#trees.set(id, tree);
  }

  async readBlob(id: string): Promise<Buffer> {
    return this.#blobs.get(id) ?? this.#under.readBlob(id);
  }

  addBlob(object: NewObject): void {
    if (object.type === 'blob') this.#blobs.set(object.id, object.bytes);
  }
}
