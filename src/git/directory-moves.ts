import { EMPTY_TREE_ID, objectId, type NewObject } from './git-object.ts';
import { foldedName, GitTree, MODE_DIRECTORY } from './git-tree.ts';

/** One directory that gets another place, both from the repository's root. */
export interface DirectoryMove {
  readonly from: string;
  readonly to: string;
}

export interface MovedTree {
  readonly rootId: string;
  readonly objects: readonly NewObject[];
  /** Those of the moves whose directory is there. */
  readonly moved: readonly DirectoryMove[];
  /** What stands in the way, a line each that names it. Not empty: nothing is to be done. */
  readonly collisions: readonly string[];
}

type ReadTree = (id: string) => Promise<GitTree>;

interface Entry {
  readonly mode: string;
  readonly id: string;
}

/** What changes in one directory. */
interface Change {
  readonly removed: Set<string>;
  readonly added: Map<string, Entry>;
  readonly children: Map<string, Change>;
}

/**
 * The tree with directories moved, all at once: every old place is free before a new one is taken. What is moved keeps its
 * id, so only the directories above it are read and written. Whatever else stands beside it stays, a directory that is
 * left empty goes.
 */
export async function moveDirectories(
  readTree: ReadTree,
  rootId: string,
  moves: readonly DirectoryMove[],
): Promise<MovedTree> {
  const read = remembering(readTree);
  const root = newChange();
  const moved: DirectoryMove[] = [];
  const collisions: string[] = [];
  for (const move of moves) {
    const entry = await entryAt(read, rootId, move.from);
    if (entry === undefined) continue;
    if (entry.mode !== MODE_DIRECTORY) {
      collisions.push(`${move.from} is not a directory`);
      continue;
    }
    moved.push(move);
    const [from, to] = [parted(move.from), parted(move.to)];
    changeAt(root, from.parent).removed.add(from.name);
    const { added } = changeAt(root, to.parent);
    if (added.has(to.name)) collisions.push(`${move.to} would be the new place of two directories`);
    added.set(to.name, entry);
  }
  const objects: NewObject[] = [];
  const id = await rebuild({ read, objects, collisions }, { mode: MODE_DIRECTORY, id: rootId }, '', root);
  return { rootId: id ?? EMPTY_TREE_ID, objects, moved, collisions };
}

async function rebuild(
  context: { readonly read: ReadTree; readonly objects: NewObject[]; readonly collisions: string[] },
  before: Entry | undefined,
  path: string,
  change: Change,
): Promise<string | undefined> {
  const tree = before === undefined ? GitTree.EMPTY : await context.read(before.id);
  const entries = new Map(tree.rawEntries());
  for (const name of change.removed) entries.delete(name);
  for (const [name, child] of change.children) {
    const at = join(path, name);
    const known = entries.get(name);
    if (known !== undefined && known.mode !== MODE_DIRECTORY) {
      context.collisions.push(`${at} is not a directory`);
      continue;
    }
    const id = await rebuild(context, known, at, child);
    if (id === undefined) entries.delete(name);
    else entries.set(name, { mode: MODE_DIRECTORY, id });
  }
  const folded = new Map([...entries.keys()].map((name) => [foldedName(name), name]));
  for (const [name, entry] of change.added) {
    const twin = folded.get(foldedName(name));
    if (twin === name) context.collisions.push(`${join(path, name)} is there already`);
    else if (twin !== undefined)
      context.collisions.push(`${join(path, name)} differs from the existing ${JSON.stringify(twin)} by case alone`);
    entries.set(name, entry);
  }
  if (entries.size === 0) return undefined;
  const next = GitTree.of(entries);
  const id = objectId('tree', next.bytes);
  if (id === before?.id) return id;
  const base = before === undefined ? {} : { base: { id: before.id, bytes: tree.bytes } };
  context.objects.push({ type: 'tree', id, bytes: next.bytes, ...base });
  return id;
}

/**
 * Why `after` is not `before` with just these directories moved; `undefined` when it is. It compares what stands where and
 * knows nothing of how the tree was made: every moved directory has the same id, and nothing else has changed.
 */
export async function movesDoNotHold(
  readTree: ReadTree,
  before: string,
  after: string,
  moves: readonly DirectoryMove[],
): Promise<string | undefined> {
  const read = remembering(readTree);
  const above = new Set(moves.flatMap(({ from, to }) => [...ancestors(from), ...ancestors(to)]));
  const expected = await unitsOf(read, before, above, new Set(moves.map(({ from }) => from)));
  const found = await unitsOf(read, after, above, new Set(moves.map(({ to }) => to)));
  const standing = moves.flatMap(({ from, to }) => {
    const unit = expected.get(from);
    expected.delete(from);
    return unit === undefined ? [] : [{ to, unit }];
  });
  for (const { to, unit } of standing) {
    if (!unit.startsWith(`${MODE_DIRECTORY} `)) return `${to} would not be a directory`;
    if (expected.has(to)) return `${to} is there already`;
    expected.set(to, unit);
  }
  for (const [path, unit] of found) {
    if (expected.get(path) !== unit) return `${path} is not what stood there, or at its old place`;
    expected.delete(path);
  }
  const [lost] = expected.keys();
  return lost === undefined ? undefined : `${lost} is missing`;
}

/** What stands in a tree, opened only as far as the directories `above`, and never one of `closed`. */
async function unitsOf(
  read: ReadTree,
  rootId: string,
  above: ReadonlySet<string>,
  closed: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const units = new Map<string, string>();
  const open = async (id: string, path: string): Promise<void> => {
    for (const [name, entry] of (await read(id)).rawEntries()) {
      const at = join(path, name);
      if (entry.mode === MODE_DIRECTORY && above.has(at) && !closed.has(at)) await open(entry.id, at);
      else units.set(at, `${entry.mode} ${entry.id}`);
    }
  };
  await open(rootId, '');
  return units;
}

function remembering(readTree: ReadTree): ReadTree {
  const known = new Map<string, GitTree>([[EMPTY_TREE_ID, GitTree.EMPTY]]);
  return async (id) => {
    const tree = known.get(id) ?? (await readTree(id));
    known.set(id, tree);
    return tree;
  };
}

/** Undefined too where something that is no directory stands above it. */
async function entryAt(read: ReadTree, rootId: string, path: string): Promise<Entry | undefined> {
  let entry: Entry | undefined = { mode: MODE_DIRECTORY, id: rootId };
  for (const name of path.split('/')) {
    if (entry?.mode !== MODE_DIRECTORY) return undefined;
    entry = (await read(entry.id)).get(name);
  }
  return entry;
}

function changeAt(root: Change, path: string): Change {
  let change = root;
  for (const name of path === '' ? [] : path.split('/')) {
    const child = change.children.get(name) ?? newChange();
    change.children.set(name, child);
    change = child;
  }
  return change;
}

function newChange(): Change {
  return { removed: new Set(), added: new Map(), children: new Map() };
}

function parted(path: string): { readonly parent: string; readonly name: string } {
  const slash = path.lastIndexOf('/');
  return { parent: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) };
}

function ancestors(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`;
}
