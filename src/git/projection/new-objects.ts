import { EMPTY_TREE_ID, type NewObject } from '../git-object.ts';
import { GitTree, MODE_DIRECTORY, MODE_SUBMODULE } from '../git-tree.ts';
import type { RepositoryReader } from '../repository-reader.ts';

/**
 * All objects of the tree `next` that the tree `before` does not hold in the same place: what a repository that has the
 * one whole needs to have the other whole. Reads only what differs.
 */
export async function newObjects(
  reader: Pick<RepositoryReader, 'read' | 'readTree'>,
  before: string | undefined,
  next: string,
): Promise<readonly NewObject[]> {
  const objects: NewObject[] = [];
  await addTree(reader, before, next, objects);
  return objects;
}

async function addTree(
  reader: Pick<RepositoryReader, 'read' | 'readTree'>,
  before: string | undefined,
  next: string,
  objects: NewObject[],
): Promise<void> {
  if (before === next) return;
  const [old, tree] = await Promise.all([read(reader, before), read(reader, next)]);
  const base = before === undefined ? {} : { base: { id: before, bytes: old.bytes } };
  objects.push({ type: 'tree', id: next, bytes: tree.bytes, ...base });
  const children = [...tree.entries()].map(async ([name, { mode, id }]) => {
    const known = old.get(name);
    if (known?.id === id || mode === MODE_SUBMODULE) return;
    if (mode === MODE_DIRECTORY) {
      await addTree(reader, known?.mode === MODE_DIRECTORY ? known.id : undefined, id, objects);
    } else {
      objects.push({ type: 'blob', id, bytes: await reader.read(id, 'blob') });
    }
  });
  await Promise.all(children);
}

async function read(reader: Pick<RepositoryReader, 'readTree'>, id: string | undefined): Promise<GitTree> {
  return id === undefined || id === EMPTY_TREE_ID ? GitTree.EMPTY : reader.readTree(id);
}
