import { EMPTY_TREE_ID, objectId, type NewObject } from './git-object.ts';
import { GitTree, MODE_DIRECTORY, MODE_FILE, MODE_SUBMODULE, MODE_SYMLINK } from './git-tree.ts';
import { pathFault } from './path-rules.ts';

/** One file of a new tree. `content` undefined removes it; removing what is not there changes nothing. */
export interface FileEdit {
  readonly path: string;
  readonly content: Buffer | undefined;
}

/** Where trees are read from. Trees made here are added to it before they are read again. */
export interface TreeStore {
  readTree(id: string): Promise<GitTree>;
  addTree(id: string, tree: GitTree): void;
}

/** The tree as it is cannot take an edit: writing would follow a link, replace a file by a directory, or make a twin. */
export class TreeEditError extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.name = 'TreeEditError';
    this.path = path;
  }
}

type Node = Map<string, { readonly edit?: FileEdit; readonly children?: Node }>;

/**
 * Applies edits to the tree `rootId`, reading and rewriting only the directories on their paths. A directory that
 * becomes empty goes away. The new objects come with the directory's old form as delta base: the receiver has it.
 *
 * @throws {TreeEditError} naming the path
 */
export async function editTree(
  store: TreeStore,
  rootId: string,
  edits: readonly FileEdit[],
): Promise<{ readonly rootId: string; readonly objects: readonly NewObject[] }> {
  const root: Node = new Map();
  for (const edit of edits) plant(root, edit);
  const objects: NewObject[] = [];
  const id = await editDirectory(store, rootId, '', root, objects);
  return { rootId: id ?? EMPTY_TREE_ID, objects };
}

function plant(root: Node, edit: FileEdit): void {
  const fault = pathFault(edit.path);
  if (fault !== undefined) throw new TreeEditError(JSON.stringify(edit.path), fault);
  const components = edit.path.split('/');
  const file = components.pop() ?? '';
  let node = root;
  for (const component of components) {
    const known = node.get(component);
    if (known?.edit !== undefined) throw new TreeEditError(edit.path, 'is edited as a file and as a directory at once');
    const children: Node = known?.children ?? new Map();
    node.set(component, { children });
    node = children;
  }
  if (node.get(file)?.children !== undefined)
    throw new TreeEditError(edit.path, 'is edited as a file and as a directory at once');
  node.set(file, { edit });
}

/** The id of the edited directory; `undefined` when nothing is left in it. */
async function editDirectory(
  store: TreeStore,
  id: string | undefined,
  path: string,
  node: Node,
  objects: NewObject[],
): Promise<string | undefined> {
  const before = id === undefined || id === EMPTY_TREE_ID ? GitTree.EMPTY : await store.readTree(id);
  let tree = before;
  for (const [name, { edit, children }] of node) {
    const at = path === '' ? name : `${path}/${name}`;
    const known = tree.get(name);
    let next: string | undefined;
    if (children === undefined) {
      if (known !== undefined && known.mode === MODE_DIRECTORY) throw new TreeEditError(at, 'is a directory');
      if (known !== undefined) refuseLink(at, known.mode);
      next = edit?.content === undefined ? undefined : addBlob(edit.content, objects);
    } else {
      if (known !== undefined && known.mode !== MODE_DIRECTORY) {
        refuseLink(at, known.mode);
        throw new TreeEditError(at, 'is a file where a directory is needed');
      }
      next = await editDirectory(store, known?.id, at, children, objects);
    }
    if (next === known?.id) continue;
    if (next === undefined) {
      tree = tree.without(name);
    } else {
      const twin = known === undefined ? tree.twinOf(name) : undefined;
      if (twin !== undefined) throw new TreeEditError(at, `differs from the existing "${twin}" by case alone`);
      tree = tree.with(name, { mode: children === undefined ? MODE_FILE : MODE_DIRECTORY, id: next });
    }
  }
  if (tree === before) return id;
  if (tree.bytes.length === 0) return undefined;
  const newId = objectId('tree', tree.bytes);
  store.addTree(newId, tree);
  const base = id === undefined || before.bytes.length === 0 ? {} : { base: { id, bytes: before.bytes } };
  objects.push({ type: 'tree', id: newId, bytes: tree.bytes, ...base });
  return newId;
}

function refuseLink(path: string, mode: string): void {
  if (mode === MODE_SYMLINK) throw new TreeEditError(path, 'is a symbolic link');
  if (mode === MODE_SUBMODULE) throw new TreeEditError(path, 'is a submodule');
}

function addBlob(content: Buffer, objects: NewObject[]): string {
  const id = objectId('blob', content);
  if (!objects.some((object) => object.id === id)) objects.push({ type: 'blob', id, bytes: content });
  return id;
}

/**
 * The id of what stands at `path` under the tree `rootId`, with its mode; `undefined` when nothing does.
 *
 * @throws {TreeEditError} when a link or a file stands where a directory is expected
 */
export async function findEntry(
  store: Pick<TreeStore, 'readTree'>,
  rootId: string,
  path: string,
): Promise<{ readonly mode: string; readonly id: string } | undefined> {
  let entry: { readonly mode: string; readonly id: string } = { mode: MODE_DIRECTORY, id: rootId };
  const walked: string[] = [];
  for (const component of path.split('/')) {
    if (entry.mode !== MODE_DIRECTORY) {
      refuseLink(walked.join('/'), entry.mode);
      throw new TreeEditError(walked.join('/'), 'is a file where a directory is needed');
    }
    if (entry.id === EMPTY_TREE_ID) return undefined;
    const next: { readonly mode: string; readonly id: string } | undefined = (await store.readTree(entry.id)).get(
      component,
    );
    if (next === undefined) return undefined;
    entry = next;
    walked.push(component);
  }
  return entry;
}

/** Whether two trees are equal in everything but what lies under `directory`. Compares bytes, so it trusts no edit. */
export async function differOnlyUnder(
  store: Pick<TreeStore, 'readTree'>,
  before: string,
  after: string,
  directory: string,
): Promise<boolean> {
  let [left, right]: [string, string] = [before, after];
  const components = directory.split('/');
  for (const component of components) {
    if (left === right) return true;
    const read = async (id: string): Promise<GitTree> => (id === EMPTY_TREE_ID ? GitTree.EMPTY : store.readTree(id));
    const [a, b] = [await read(left), await read(right)];
    if (!a.without(component).bytes.equals(b.without(component).bytes)) return false;
    const [x, y] = [a.get(component), b.get(component)];
    if ((x !== undefined && x.mode !== MODE_DIRECTORY) || (y !== undefined && y.mode !== MODE_DIRECTORY)) return false;
    left = x?.id ?? EMPTY_TREE_ID;
    right = y?.id ?? EMPTY_TREE_ID;
  }
  return true;
}
