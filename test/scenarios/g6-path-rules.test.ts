import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clusterDirectory } from '../../src/delivery/gitops/layout.ts';
import { checkPush } from '../../src/git/embedded-host/check-push.ts';
import { GitTree } from '../../src/git/git-tree.ts';
import { pathFault } from '../../src/git/path-rules.ts';
import { INSTALL, RunningControlPlane } from '../control-plane/running-control-plane.ts';
import { apply } from '../delivery/gitops/write/rendered-intent.ts';
import { deliver, startAcme, writerOn } from '../delivery/gitops/write/writer.ts';
import { git, type GitServer } from '../git/git-server.ts';

/** Names that are, or are taken for, something else on some file system, or leave the directory. From git's own t0060. */
const HOSTILE = [
  '..',
  '.',
  '',
  '.git',
  '.GIT',
  '.Git',
  '.git ',
  '.git.',
  '.git . .',
  '.git::$INDEX_ALLOCATION',
  '.git\\config',
  '.g\u200cit',
  '.gi\u200dt',
  '\ufeff.git',
  '.\u206agit',
  '.git\u202e',
  'git~1',
  'GIT~1',
  'git~1 ',
  '.gitmodules',
  '.GitModules',
  'gitmod~1',
  'GI7EBA~1',
  '.gitattributes',
  'a\0b',
  'a\nb',
  'a\u007f',
  'a\\b',
  'a:b',
  'x::$DATA',
  'con ',
  'name.',
  'a\ud800',
  'a'.repeat(256),
];

describe('G6: a name that is hostile to a tree', () => {
  it.each(HOSTILE)('%j is no segment of a path, first, in between, or last', (name) => {
    for (const path of [name, `apps/${name}`, `${name}/x.yaml`, `apps/${name}/x.yaml`]) {
      expect([path, typeof pathFault(path)]).toEqual([path, 'string']);
    }
  });

  it('is refused when absolute, doubled, too long, or ended by a slash', () => {
    for (const path of ['/etc/passwd', 'a//b', 'a/', `${'a/'.repeat(600)}b`, '../x', 'a/../b', 'a/./b']) {
      expect([path, typeof pathFault(path)]).toEqual([path, 'string']);
    }
  });

  it('is not among what is allowed: git takes all of that with its own checks for every file system', async () => {
    await using server = await startAcme();
    const paths = new Set<string>();
    const character = fc.oneof(
      fc.constantFrom('.', ' ', '~', '1', 'g', 'i', 't', 'G', '/', '\u200c', '\u00e9', ':', '\\', '-'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(character, { minLength: 1, maxLength: 12 }), (characters) => {
        const path = characters.join('');
        if (pathFault(path) === undefined) paths.add(path);
      }),
      { numRuns: 4000 },
    );
    const blob = (await git(server.path('acme'), ['hash-object', '-w', '--stdin'], { input: 'x' })).trim();
    const lines = [...paths].map((path, index) => `100644 ${blob}\tset-${index}/${path}\0`);
    const options = { env: { GIT_INDEX_FILE: `${server.folder}/index` }, input: lines.join('') };
    const protect = ['-c', 'core.protectHFS=true', '-c', 'core.protectNTFS=true'];
    await git(server.path('acme'), [...protect, 'update-index', '-z', '--index-info'], options);
    const kept = await git(server.path('acme'), ['ls-files'], { env: options.env });
    expect([paths.size > 500, kept.split('\n').length]).toEqual([true, paths.size]);
  }, 60_000);

  it.each([
    ['podinfo', 'Podinfo'],
    ['podinfo', 'PODINFO'],
    ['caf\u00e9', 'cafe\u0301'],
    ['strasse', 'stra\u00dfe'],
    ['podinfo', 'pod\u200cinfo'],
    ['podinfo', 'podinfo.'],
    ['podinfo', 'podinfo::$DATA'],
    ['shop', '\u017fhop'],
    ['kube', '\u212aube'],
  ])('%s has a twin in %j, in either order', (one, other) => {
    const entry = { mode: '100644', id: 'a'.repeat(40) };
    expect(GitTree.EMPTY.with(other, entry).twinOf(one)).toBe(other);
    expect(GitTree.EMPTY.with(one, entry).twinOf(other)).toBe(one);
    expect(GitTree.EMPTY.with(one, entry).twinOf(one)).toBeUndefined();
  });
});

describe('G6: at the API', () => {
  let plane: RunningControlPlane;

  beforeAll(async () => {
    plane = await RunningControlPlane.start();
    await plane.putPodinfo();
    await plane.newCluster('prod-eu', { allowedNamespaces: ['shop'] });
  });
  afterAll(async () => await plane[Symbol.asyncDispose]());

  it.each(HOSTILE.filter((name) => name.isWellFormed()))('%j is refused with the path of the field', async (name) => {
    const before = await plane.traces();
    for (const field of ['namespace', 'name']) {
      const answer = await plane.call('POST', '/clusters/prod-eu/intents', { ...INSTALL, [field]: name });
      expect([answer.status, answer.body['faults']?.[0]?.path]).toEqual([400, `/${field}`]);
    }
    const cluster = { slug: name, displayName: 'x', allowedNamespaces: [], allowedCatalogEntries: [] };
    const answer = await plane.call('POST', '/clusters', { ...cluster, allowedOperationTemplates: [] });
    expect([answer.status, answer.body['faults']?.[0]?.path]).toEqual([400, '/slug']);
    expect(await plane.traces()).toEqual(before);
  });
});

describe('G6: at the writer', () => {
  let server: GitServer;

  beforeEach(async () => {
    server = await startAcme();
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  /** Puts one entry of any mode onto the branch, as somebody could on a host that checks nothing. */
  async function plant(path: string, mode: string): Promise<string> {
    const repository = server.path('acme');
    const env = { GIT_INDEX_FILE: `${server.folder}/plant.index` };
    const blob = (await git(repository, ['hash-object', '-w', '--stdin'], { input: '../../prod-us' })).trim();
    const id = mode === '160000' ? 'b'.repeat(40) : blob;
    await git(repository, ['read-tree', 'main'], { env });
    await git(repository, ['update-index', '--index-info'], { env, input: `${mode} ${id}\t${path}\n` });
    const tree = await git(repository, ['write-tree'], { env });
    const commit = await git(repository, ['commit-tree', tree, '-p', 'main', '-m', 'planted']);
    await git(repository, ['update-ref', 'refs/heads/main', commit]);
    return commit;
  }

  const sharded = clusterDirectory('sharded', 'prod-eu');
  const LINKS = [
    ['the folder of all clusters', 'flat', 'clusters'],
    ['the directory', 'flat', 'clusters/prod-eu'],
    ['the shard', 'sharded', sharded.slice(0, sharded.lastIndexOf('/'))],
    ['the directory in its shard', 'sharded', sharded],
    ['a folder', 'flat', 'clusters/prod-eu/apps'],
    ['a namespace', 'flat', 'clusters/prod-eu/apps/shop'],
    ['the file', 'flat', 'clusters/prod-eu/apps/shop/podinfo.yaml'],
    ['a tombstone', 'flat', 'clusters/prod-eu/tombstones/shop/podinfo.json'],
  ] as const;
  const natures = [
    ['symbolic link', '120000'],
    ['submodule', '160000'],
  ] as const;

  it.each(
    LINKS.flatMap(([what, layout, path]) => natures.map(([nature, mode]) => ({ what, layout, path, nature, mode }))),
  )(
    'refuses for good where $what is a $nature, and delivers the rest',
    async ({ what, layout, path, nature, mode }) => {
      const planted = await plant(path, mode);
      const repository = { name: 'acme', url: server.remote('acme'), branch: 'main', layout };
      await using delivery = writerOn(server, { repository });
      const [bad, good] = [apply(), apply({ slug: 'prod-us' })];
      const receipts = new Map((await deliver(delivery, [bad, good])).map((receipt) => [receipt.intentId, receipt]));
      const refused = receipts.get(bad.intent.id);
      // A tombstone that is not ours is left alone; nothing is written through it.
      if (what === 'a tombstone') {
        expect(refused?.state).toBe('delivered');
      } else {
        expect(refused).toMatchObject({ state: 'refused', reason: 'PathNotAllowed' });
        expect(refused?.state === 'refused' ? refused.message : '').toContain(
          `${path.replace('clusters/prod-eu/', '')} is a ${nature}`,
        );
      }
      const own = receipts.get(good.intent.id);
      expect(own?.state).toBe(path === 'clusters' ? 'refused' : 'delivered');
      const changed = await git(server.path('acme'), ['diff', '--name-only', '--no-renames', planted, 'main']);
      const [mine, other] = [clusterDirectory(layout, 'prod-eu'), clusterDirectory(layout, 'prod-us')];
      const allowed = what === 'a tombstone' ? [`${mine}/`, `${other}/`] : [`${other}/`];
      const outside = changed
        .split('\n')
        .filter((line) => line !== '' && !allowed.some((start) => line.startsWith(start)));
      expect(outside).toEqual([]);
    },
  );

  it('changes nothing but the directory of its cluster, whatever name it is given', async () => {
    await using delivery = writerOn(server);
    const text = fc.oneof(fc.constantFrom(...HOSTILE, 'ok', 'shop'), fc.string({ maxLength: 20 }));
    await fc.assert(
      fc.asyncProperty(text, text, text, async (slug, namespace, name) => {
        const before = await git(server.path('acme'), ['rev-parse', 'main']);
        const [receipt] = await deliver(delivery, [apply({ slug, namespace, name })]);
        const changed = await git(server.path('acme'), ['diff', '--name-only', '-z', before, 'main']);
        const paths = changed.split('\0').filter((path) => path !== '');
        if (receipt?.state === 'delivered') {
          expect(paths.every((path) => path.startsWith(`clusters/${slug}/`) && /^[a-z0-9./-]+$/i.test(path))).toBe(
            true,
          );
        } else {
          expect([receipt, paths]).toMatchObject([{ state: 'refused', reason: 'PathNotAllowed' }, []]);
        }
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

describe('G6: at the embedded host', () => {
  const scope = [{ clusterId: 'c-eu', directory: 'clusters/prod-eu' }];
  const [oldId, newId] = ['a'.repeat(40), 'b'.repeat(40)];
  const judge = (path: string, mode = '100644'): unknown => {
    const zero = '0'.repeat(40);
    const log = `commit ${newId} ${oldId}\ncluster c-eu\n\n:000000 ${mode} ${zero} ${newId} A\t${path}\n`;
    return checkPush(log, { oldId, newId, scope });
  };

  it('takes no hostile name, no link, and nothing outside', () => {
    expect(judge('clusters/prod-eu/apps/shop/podinfo.yaml')).toBeUndefined();
    for (const name of HOSTILE.filter((candidate) => !/[\n\0]/.test(candidate))) {
      expect([name, judge(`clusters/prod-eu/apps/${name}/x.yaml`)]).toMatchObject([name, { kind: 'refused' }]);
    }
    for (const mode of ['120000', '160000', '100755']) {
      expect(judge('clusters/prod-eu/apps/shop/x.yaml', mode)).toMatchObject({ kind: 'refused' });
    }
    for (const path of [
      'clusters/prod-eu',
      'clusters/prod-eu2/x',
      'clusters/prod-us/x',
      'README.md',
      'clusters/Prod-EU/x',
    ]) {
      expect([path, judge(path)]).toMatchObject([path, { kind: 'refused' }]);
    }
  });
});
