import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { EMPTY_TREE_ID, objectId } from '../../src/git/git-object.ts';
import { GitTree, MODE_DIRECTORY, MODE_FILE } from '../../src/git/git-tree.ts';
import { differOnlyUnder, editTree, findEntry, TreeEditError, type TreeStore } from '../../src/git/tree-edit.ts';
import { writePack } from '../../src/git/pack.ts';
import { git } from './git-server.ts';

let repository: string;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'git-tree-'));
  repository = join(folder, 'x.git');
  await git(folder, ['init', '--quiet', '--bare', repository]);
  return async () => rm(folder, { recursive: true, force: true });
});

/** Trees in memory; counts what is read. */
function memory(): TreeStore & { readonly reads: string[] } {
  const trees = new Map<string, GitTree>();
  const reads: string[] = [];
  return {
    reads,
    readTree: async (id) => {
      reads.push(id);
      const tree = trees.get(id);
      if (tree === undefined) throw new Error(`no tree ${id}`);
      return tree;
    },
    addTree: (id, tree) => trees.set(id, tree),
  };
}

const file = (path: string, text = path): { path: string; content: Buffer } => ({ path, content: Buffer.from(text) });
const gone = (path: string): { path: string; content: undefined } => ({ path, content: undefined });

describe('GitTree', () => {
  it('sorts as git does, whatever the names', async () => {
    const names = fc.uniqueArray(
      fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('a', 'b', '-', '.', '0', 'é', 'z') }),
      {
        maxLength: 12,
      },
    );
    const plain = names.map((all) => all.filter((name) => name !== '.' && name !== '..'));
    const blob = await git(repository, ['hash-object', '-w', '--stdin'], { input: 'x' });
    await fc.assert(
      fc.asyncProperty(plain, fc.integer({ min: 0, max: 4095 }), async (all, bits) => {
        const modeOf = (index: number): string => ((bits >> index) & 1 ? MODE_DIRECTORY : MODE_FILE);
        let tree = GitTree.EMPTY;
        all.forEach((name, index) => {
          tree = tree.with(name, { mode: modeOf(index), id: modeOf(index) === MODE_FILE ? blob : EMPTY_TREE_ID });
        });
        const input = all
          .map((name, index) =>
            modeOf(index) === MODE_FILE ? `100644 blob ${blob}\t${name}\0` : `040000 tree ${EMPTY_TREE_ID}\t${name}\0`,
          )
          .join('');
        expect(objectId('tree', tree.bytes)).toBe(await git(repository, ['mktree', '-z', '--missing'], { input }));
        for (const name of all) tree = tree.without(name);
        expect(tree.bytes.length).toBe(0);
      }),
      { numRuns: 25 },
    );
  });

  it('keeps its index when an entry gets another id, and not when the mode changes', () => {
    const [a, b] = ['a'.repeat(40), 'b'.repeat(40)];
    const tree = GitTree.EMPTY.with('x', { mode: MODE_FILE, id: a }).with('x-y', { mode: MODE_FILE, id: a });
    const edited = tree.with('x', { mode: MODE_FILE, id: b });
    expect([...edited.entries()]).toEqual([
      ['x', { mode: MODE_FILE, id: b }],
      ['x-y', { mode: MODE_FILE, id: a }],
    ]);
    expect(tree.get('x')?.id).toBe(a);
    expect([...tree.with('x', { mode: MODE_DIRECTORY, id: b }).entries()].map(([name]) => name)).toEqual(['x-y', 'x']);
    expect(tree.size).toBe(2);
  });

  it('says where a tree is damaged', () => {
    expect(() => new GitTree(Buffer.from('100644 x\0short')).get('x')).toThrow('a tree is damaged at byte 0');
  });
});

describe('editTree', () => {
  it('makes the trees that git makes', async () => {
    const store = memory();
    const edits = [
      file('README.md'),
      file('clusters/a/apps/shop/x.yaml'),
      file('clusters/a-b/apps/shop/x.yaml'),
      file('clusters/a.b'),
    ];
    const first = await editTree(store, EMPTY_TREE_ID, edits);
    const second = await editTree(store, first.rootId, [
      file('clusters/a/apps/shop/y.yaml'),
      gone('clusters/a-b/apps/shop/x.yaml'),
    ]);
    const pack = await writePack([...first.objects, ...second.objects], { thin: false });
    await git(repository, ['index-pack', '--stdin', '--strict'], { input: pack });
    expect(await git(repository, ['ls-tree', '-r', '--name-only', second.rootId])).toBe(
      ['README.md', 'clusters/a.b', 'clusters/a/apps/shop/x.yaml', 'clusters/a/apps/shop/y.yaml'].join('\n'),
    );
  });

  it('reads and writes only what lies on the way', async () => {
    const store = memory();
    const { rootId } = await editTree(
      store,
      EMPTY_TREE_ID,
      Array.from({ length: 20 }, (_, index) => file(`clusters/c${index}/apps/x`)),
    );
    store.reads.length = 0;
    const { objects } = await editTree(store, rootId, [file('clusters/c7/apps/x', 'new')]);
    expect(store.reads.length).toBe(4);
    expect(objects.map(({ type }) => type)).toEqual(['blob', 'tree', 'tree', 'tree', 'tree']);
  });

  it('changes nothing when nothing changes', async () => {
    const store = memory();
    const { rootId } = await editTree(store, EMPTY_TREE_ID, [file('a/b')]);
    expect((await editTree(store, rootId, [gone('a/c'), gone('x/y/z')])).rootId).toBe(rootId);
    expect((await editTree(store, rootId, [gone('a/b')])).rootId).toBe(EMPTY_TREE_ID);
  });

  it.each([
    ['../x', 'has the segment ".."'],
    ['/x', 'is absolute'],
    ['a//x', 'has an empty segment'],
    ['a/.GIT/x', 'has the segment ".GIT"'],
    ['a/.g\u200cit', 'has a character that some file systems ignore'],
    ['a/b\0', 'has a control character'],
    ['a/x.', 'has a segment that ends in a dot or a space'],
    ['a/git~1', 'has the segment "git~1"'],
    ['a/c:x', 'has a colon'],
    [String.raw`a\b`, 'has a slash inside a segment'],
    ['x'.repeat(256), 'has a segment of more than 255 bytes'],
    [Array.from({ length: 500 }, () => 'abc').join('/'), 'is longer than 1024 bytes'],
  ])('refuses the path %j', async (path, problem) => {
    await expect(editTree(memory(), EMPTY_TREE_ID, [file(path)])).rejects.toThrow(
      new TreeEditError(JSON.stringify(path), problem),
    );
  });

  it('refuses a path that is a file and a directory at once', async () => {
    await expect(editTree(memory(), EMPTY_TREE_ID, [file('a'), file('a/b')])).rejects.toThrow(
      'as a file and as a directory',
    );
    await expect(editTree(memory(), EMPTY_TREE_ID, [file('a/b'), file('a')])).rejects.toThrow(
      'as a file and as a directory',
    );
  });
});

describe('findEntry and differOnlyUnder', () => {
  it('find what stands at a path, and nothing where nothing does', async () => {
    const store = memory();
    const { rootId } = await editTree(store, EMPTY_TREE_ID, [file('a/b/c', 'text')]);
    expect(await findEntry(store, rootId, 'a/b/c')).toEqual({
      mode: MODE_FILE,
      id: objectId('blob', Buffer.from('text')),
    });
    expect(await findEntry(store, rootId, 'a/x/c')).toBeUndefined();
    await expect(findEntry(store, rootId, 'a/b/c/d')).rejects.toThrow('a/b/c is a file where a directory is needed');
  });

  it('tell a change elsewhere from one under the directory', async () => {
    const store = memory();
    const { rootId } = await editTree(store, EMPTY_TREE_ID, [
      file('clusters/a/x'),
      file('clusters/b/x'),
      file('README.md'),
    ]);
    const after = async (...edits: readonly Parameters<typeof file>[0][]): Promise<string> =>
      (
        await editTree(
          store,
          rootId,
          edits.map((path) => file(path, 'changed')),
        )
      ).rootId;
    expect(await differOnlyUnder(store, rootId, await after('clusters/a/x', 'clusters/a/y/z'), 'clusters/a')).toBe(
      true,
    );
    expect(await differOnlyUnder(store, rootId, await after('clusters/a/x', 'clusters/b/x'), 'clusters/a')).toBe(false);
    expect(await differOnlyUnder(store, rootId, await after('README.md'), 'clusters/a')).toBe(false);
    expect(await differOnlyUnder(store, rootId, EMPTY_TREE_ID, 'clusters/a')).toBe(false);
    expect(await differOnlyUnder(store, rootId, await after('clusters/c/x'), 'clusters/c')).toBe(true);
  });
});
