import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clusterDirectory, type RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { moveDirectories, movesDoNotHold, type DirectoryMove } from '../../src/git/directory-moves.ts';
import { GitTree, MODE_DIRECTORY, MODE_FILE } from '../../src/git/git-tree.ts';
import { EMPTY_TREE_ID, objectId } from '../../src/git/git-object.ts';
import { editTree } from '../../src/git/tree-edit.ts';
import { git, gitFailure, startGitServer, type GitServer } from './git-server.ts';

const movesTo = (to: RepositoryLayout, slugs: readonly string[]): DirectoryMove[] =>
  slugs.map((slug) => ({
    from: clusterDirectory(to === 'flat' ? 'sharded' : 'flat', slug),
    to: clusterDirectory(to, slug),
  }));

/** Trees in memory. */
class Trees {
  readonly #trees = new Map<string, GitTree>([[EMPTY_TREE_ID, GitTree.EMPTY]]);

  readonly readTree = async (id: string): Promise<GitTree> => {
    const tree = this.#trees.get(id);
    if (tree === undefined) throw new Error(`no tree ${id}`);
    return tree;
  };

  addTree(id: string, tree: GitTree): void {
    this.#trees.set(id, tree);
  }

  async make(files: Readonly<Record<string, string>>): Promise<string> {
    const edits = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
    return (await editTree(this, EMPTY_TREE_ID, edits)).rootId;
  }

  async move(root: string, moves: readonly DirectoryMove[]): ReturnType<typeof moveDirectories> {
    const moved = await moveDirectories(this.readTree, root, moves);
    for (const { id, bytes } of moved.objects) this.addTree(id, new GitTree(bytes));
    return moved;
  }
}

describe('moving directories', () => {
  it('there and back gives the same tree, whatever the slugs, two of them named like shards included', async () => {
    const slug = fc.oneof(fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?$/), fc.stringMatching(/^[0-9a-f]{2}$/));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(slug, { maxLength: 40 }), fc.boolean(), async (slugs, withOthers) => {
        const trees = new Trees();
        const others = withOthers ? { 'README.md': 'r', 'clusters/notes.md': 'n', 'docs/a/b.md': 'b' } : {};
        const files = Object.fromEntries(slugs.map((name) => [`clusters/${name}/README.md`, name]));
        const root = await trees.make({ ...others, ...files });
        const there = await trees.move(root, movesTo('sharded', slugs));
        expect(there.collisions).toEqual([]);
        expect(await movesDoNotHold(trees.readTree, root, there.rootId, movesTo('sharded', slugs))).toBeUndefined();
        const back = await trees.move(there.rootId, movesTo('flat', slugs));
        expect(back).toMatchObject({ rootId: root, collisions: [] });
        expect(await movesDoNotHold(trees.readTree, there.rootId, back.rootId, movesTo('flat', slugs))).toBeUndefined();
        if (slugs.length > 0) {
          expect(await movesDoNotHold(trees.readTree, root, root, movesTo('sharded', slugs))).toBeDefined();
        }
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the bytes of a name that is not UTF-8, and gives every tree in the order that git wants', async () => {
    const trees = new Trees();
    const blob = objectId('blob', Buffer.from('x'));
    const odd = GitTree.of(
      new Map([
        ['caf\u00e9', { mode: MODE_FILE, id: blob }],
        ['foo.txt', { mode: MODE_FILE, id: blob }],
        ['foo', { mode: MODE_DIRECTORY, id: EMPTY_TREE_ID }],
      ]),
    );
    const clusters = objectId('tree', odd.bytes);
    trees.addTree(clusters, odd);
    const rootTree = GitTree.EMPTY.with('clusters', { mode: MODE_DIRECTORY, id: clusters });
    const root = objectId('tree', rootTree.bytes);
    trees.addTree(root, rootTree);
    const moved = await trees.move(root, movesTo('sharded', ['foo']));
    const next = await trees.readTree((await trees.readTree(moved.rootId)).get('clusters')?.id ?? '');
    expect([...next.rawEntries()].map(([name]) => name)).toEqual(['2c', 'caf\u00e9', 'foo.txt']);
  });

  it('names what is in the way and what is not a directory', async () => {
    const trees = new Trees();
    const taken = await trees.make({
      'clusters/prod-eu/README.md': 'a',
      'clusters/33/Prod-EU/x': 'b',
      'clusters/prod-us': 'a file',
      'clusters/de/README.md': 'c',
      [clusterDirectory('sharded', 'de').slice(0, -3)]: 'a file where a shard would be',
    });
    const { collisions } = await moveDirectories(
      trees.readTree,
      taken,
      movesTo('sharded', ['prod-eu', 'prod-us', 'de']),
    );
    expect(collisions.toSorted()).toEqual(
      [
        'clusters/33/prod-eu differs from the existing "Prod-EU" by case alone',
        `${clusterDirectory('sharded', 'de').slice(0, -3)} is not a directory`,
        'clusters/prod-us is not a directory',
      ].toSorted(),
    );
  });

  it('moves 20,000 directories within seconds', async () => {
    const trees = new Trees();
    const slugs = Array.from({ length: 20_000 }, (_, index) => `cluster-${index}`);
    const put = (tree: GitTree): string => {
      const id = objectId('tree', tree.bytes);
      trees.addTree(id, tree);
      return id;
    };
    const directory = { mode: MODE_DIRECTORY, id: EMPTY_TREE_ID };
    const clusters = put(GitTree.of(new Map(slugs.map((slug) => [slug, directory]))));
    const root = put(GitTree.of(new Map([['clusters', { mode: MODE_DIRECTORY, id: clusters }]])));
    const moved = await trees.move(root, movesTo('sharded', slugs));
    expect([moved.moved.length, moved.collisions, moved.objects.length]).toEqual([20_000, [], 258]);
  });
});

describe('a push with a credential for a move', () => {
  const moves = movesTo('sharded', ['prod-eu', 'prod-us']);
  let server: GitServer;
  let work: string;

  beforeAll(async () => {
    server = await startGitServer();
    await server.host.ensureRepository('acme', { branch: 'main' });
    server.tokens.set('move', { repository: 'acme', access: { access: 'write', scope: [], moves } });
    work = join(server.folder, 'work');
    await git(server.folder, ['clone', '--quiet', '--shared', server.path('acme'), work]);
    for (const slug of ['prod-eu', 'prod-us', 'staging']) {
      await mkdir(join(work, 'clusters', slug), { recursive: true });
      await writeFile(join(work, 'clusters', slug, 'README.md'), `${slug}\n`);
    }
    await git(work, ['add', '-A']);
    await git(work, ['commit', '--quiet', '-m', 'clusters']);
    await git(work, ['push', '--quiet', server.path('acme'), 'HEAD:main']);
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    const tip = await git(server.path('acme'), ['rev-parse', 'main']);
    await git(work, ['checkout', '--quiet', '--force', '-B', 'main', tip]);
    await git(work, ['clean', '-qfdx']);
  });

  async function moveAll(): Promise<void> {
    for (const { from, to } of moves) {
      await mkdir(dirname(join(work, to)), { recursive: true });
      await rename(join(work, from), join(work, to));
    }
  }

  async function commit(trailer = 'Layout-Move: sharded'): Promise<void> {
    await git(work, ['add', '-A']);
    await git(work, ['commit', '--quiet', '--allow-empty', '-m', 'a move', '-m', trailer]);
  }

  const refused = async (): Promise<string> => gitFailure(work, ['push', server.remote('acme', 'move'), 'HEAD:main']);

  it.each([
    [
      'a changed file in a moved directory',
      'is not what stood there',
      async () => {
        await moveAll();
        await writeFile(join(work, moves[0]?.to ?? '', 'README.md'), 'changed\n');
      },
    ],
    [
      'a file beside it',
      'is not what stood there',
      async () => {
        await moveAll();
        await writeFile(join(work, 'extra.md'), 'x\n');
      },
    ],
    [
      'a change of another cluster',
      'clusters/staging is not what stood there',
      async () => {
        await moveAll();
        await writeFile(join(work, 'clusters/staging/README.md'), 'changed\n');
      },
    ],
    [
      'a directory left where it was',
      'clusters/prod-eu is not what stood there, or at its old place',
      async () => {
        const [, second] = moves;
        await mkdir(dirname(join(work, second?.to ?? '')), { recursive: true });
        await rename(join(work, second?.from ?? ''), join(work, second?.to ?? ''));
      },
    ],
    [
      'a link at its old place',
      'is not what stood there',
      async () => {
        await moveAll();
        await symlink(`../${moves[0]?.to ?? ''}`, join(work, 'clusters/prod-eu'));
      },
    ],
    ['nothing at all', 'or at its old place', async () => undefined],
  ])('is refused with %s', async (_what, words, change) => {
    await change();
    await commit();
    expect(await refused()).toContain(words);
  });

  it('is refused without the trailer, with a second commit, and on another branch', async () => {
    await moveAll();
    await commit('Cluster-Id: c-eu');
    expect(await refused()).toContain('has no Layout-Move trailer');
    await commit();
    expect(await refused()).toContain('does not stand on the tip');
    expect(await gitFailure(work, ['push', server.remote('acme', 'move'), 'HEAD:other'])).toContain('not allowed');
  });

  it('is accepted where it moves exactly these, and the repository is sound', async () => {
    await moveAll();
    await commit();
    await git(work, ['push', '--quiet', server.remote('acme', 'move'), 'HEAD:main']);
    await git(server.path('acme'), ['fsck', '--strict']);
    expect(await git(server.path('acme'), ['ls-tree', '-d', '--name-only', 'main', 'clusters/'])).toContain(
      'clusters/staging',
    );
  });
});
