import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { GitRemote, manifest, tombstone } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';
const MANIFESTS = Object.fromEntries(
  ['a', 'b', 'c', 'd'].map((name) => [`${DIRECTORY}/apps/shop/${name}.yaml`, manifest(name)]),
);
const MANIFESTS_GONE = Object.fromEntries(Object.keys(MANIFESTS).map((path) => [path, null]));

describe('a directory with files that make no sense', () => {
  it('names each bad file and takes the others', async () => {
    using remote = new GitRemote();
    remote.push({
      [`${DIRECTORY}/apps/shop/good.yaml`]: manifest('good'),
      [`${DIRECTORY}/apps/shop/nonsense.yaml`]: 'spec: [unclosed',
      [`${DIRECTORY}/apps/shop/other-name.yaml`]: manifest('elsewhere'),
      [`${DIRECTORY}/apps/shop/deep/er.yaml`]: manifest('er'),
      [`${DIRECTORY}/apps/shop/bytes.yaml`]: Buffer.from([0x61, 0xff, 0xfe]),
      [`${DIRECTORY}/apps/shop/huge.yaml`]: `# ${'x'.repeat(512 * 1024)}\n${manifest('huge')}`,
      [`${DIRECTORY}/operations/shop/app.yaml`]: manifest('app'),
      [`${DIRECTORY}/tombstones/shop/gone.json`]: tombstone('another'),
      [`${DIRECTORY}/tombstones/shop/broken.json`]: '{',
      [`${DIRECTORY}/notes/todo.txt`]: 'a file of a person',
    });
    await using run = new SourceRun(remote);
    run.tell();
    const set = await run.next();
    expect(set.scope).toBe('complete');
    expect(set.objects.map(({ key }) => key)).toEqual(['apps/shop/good.yaml']);
    expect(set.removals).toEqual([]);
    const faults = set.faults.map(
      ({ key, reason, message }) => `${key} ${reason} ${message.replace(/ \((?:line|and).*$/, '').slice(0, 110)}`,
    );
    expect(faults.sort()).toEqual([
      'apps/shop/bytes.yaml ManifestInvalid apps/shop/bytes.yaml: is not UTF-8 text',
      'apps/shop/deep/er.yaml ManifestRefused apps/shop/deep/er.yaml: is not at apps/<namespace>/<name>.yaml, so it is not read',
      `apps/shop/huge.yaml ManifestInvalid ${`apps/shop/huge.yaml: the file is ${512 * 1024 + 3 + manifest('huge').length} bytes; at most 524288 bytes (512 KiB) are taken`.slice(0, 110)}`,
      expect.stringMatching(/^apps\/shop\/nonsense\.yaml ManifestInvalid apps\/shop\/nonsense\.yaml: Flow sequence/),
      'apps/shop/other-name.yaml ManifestRefused apps/shop/other-name.yaml: holds ApplicationInstance shop/elsewhere, whose place is apps/shop/elsewhere.yaml',
      'operations/shop/app.yaml ManifestRefused operations/shop/app.yaml: holds ApplicationInstance shop/app, whose place is apps/shop/app.yaml',
      expect.stringMatching(/^tombstones\/shop\/broken\.json ManifestInvalid tombstones\/shop\/broken\.json: /),
      'tombstones/shop/gone.json ManifestRefused tombstones/shop/gone.json: names shop/another, whose place is tombstones/shop/another.json',
    ]);
  });

  it('never follows a symbolic link or a submodule', async () => {
    using remote = new GitRemote();
    remote.push({ 'secret.yaml': manifest('linked'), [`${DIRECTORY}/apps/shop/good.yaml`]: manifest('good') });
    const target = execFileSync('git', ['-C', remote.bare, 'hash-object', '-w', '--stdin'], {
      input: '../../../../secret.yaml',
      encoding: 'utf8',
    }).trim();
    const index = ['--add', '--cacheinfo'];
    const environment = { ...process.env, GIT_INDEX_FILE: `${remote.folder}/index` };
    const run = (...args: string[]): string =>
      execFileSync('git', ['-C', remote.bare, ...args], { env: environment, encoding: 'utf8' }).trim();
    run('read-tree', 'main');
    run('update-index', ...index, `120000,${target},${DIRECTORY}/apps/shop/linked.yaml`);
    run('update-index', ...index, `160000,${'1'.repeat(40)},${DIRECTORY}/apps/shop/module.yaml`);
    const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    const commit = run(...identity, 'commit-tree', run('write-tree'), '-p', 'main', '-m', 'links');
    run('update-ref', 'refs/heads/main', commit);
    await using source = new SourceRun(remote);
    source.tell();
    const set = await source.next();
    expect(set.objects.map(({ key }) => key)).toEqual(['apps/shop/good.yaml']);
    expect(set.faults).toEqual([
      {
        key: 'apps/shop/linked.yaml',
        reason: 'ManifestRefused',
        message: 'apps/shop/linked.yaml: is a symbolic link, which is never followed; write the file itself',
      },
      {
        key: 'apps/shop/module.yaml',
        reason: 'ManifestRefused',
        message: 'apps/shop/module.yaml: is a submodule, which is never followed; write the file itself',
      },
    ]);
  });
});

describe('files that vanish', () => {
  it('are left out of a complete set while most are still there', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    remote.push({ [`${DIRECTORY}/apps/shop/a.yaml`]: null, [`${DIRECTORY}/apps/shop/b.yaml`]: null });
    run.tell();
    const { scope, objects, faults } = await run.next();
    expect({ scope, objects: objects.length, faults }).toEqual({ scope: 'complete', objects: 2, faults: [] });
  });

  it('are not believed when they are more than a third and more than three; where nothing is pruned nothing is to be accepted', async () => {
    using remote = new GitRemote();
    remote.push({ ...MANIFESTS, [`${DIRECTORY}/apps/shop/e.yaml`]: manifest('e') });
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    remote.push(MANIFESTS_GONE);
    run.tell();
    const held = await run.next();
    const revision = remote.treeOf(DIRECTORY);
    expect({ ...held, objects: held.objects.length }).toEqual({
      revision,
      scope: 'partial',
      objects: 1,
      removals: [],
      faults: [
        {
          key: DIRECTORY,
          reason: 'RemovalsHeld',
          message:
            'the directory clusters/eu has lost 4 of 5 applied manifests and no tombstone says so (apps/shop/a.yaml, ' +
            'apps/shop/b.yaml, apps/shop/c.yaml, apps/shop/d.yaml); nothing is taken for removed. Put the files back, or ' +
            'uninstall the objects through the control plane',
        },
      ],
    });
    run.accept(revision);
    expect((await run.next()).scope).toBe('partial');
  });

  it('are not missed when they never could be applied, however many', async () => {
    using remote = new GitRemote();
    const nonsense = ['p', 'q', 'r', 's', 't'].map((name) => [`${DIRECTORY}/apps/shop/${name}.yaml`, '{{{']);
    remote.push({ [`${DIRECTORY}/apps/shop/a.yaml`]: manifest('a'), ...Object.fromEntries(nonsense) });
    await using run = new SourceRun(remote);
    run.tell();
    expect((await run.next()).faults).toHaveLength(5);
    remote.push(Object.fromEntries(nonsense.map(([path]) => [path, null])) as Record<string, null>);
    run.tell();
    const { scope, objects, faults } = await run.next();
    expect({ scope, objects: objects.length, faults }).toEqual({ scope: 'complete', objects: 1, faults: [] });
  });

  it('are believed when tombstones say so, however many', async () => {
    using remote = new GitRemote();
    remote.push(MANIFESTS);
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    const changes = ['a', 'b', 'c', 'd'].flatMap((name) => [
      [`${DIRECTORY}/apps/shop/${name}.yaml`, null],
      [`${DIRECTORY}/tombstones/shop/${name}.json`, tombstone(name)],
    ]);
    remote.push(Object.fromEntries(changes) as Record<string, string | null>);
    run.tell();
    const { scope, removals, faults } = await run.next();
    expect({ scope, removals: removals.length, faults }).toEqual({ scope: 'complete', removals: 4, faults: [] });
  });

  it.each([
    ['missing', { 'README.md': 'nothing else' }],
    ['without a manifest', { [`${DIRECTORY}/README.md`]: 'hello' }],
  ])('are not believed when the directory is %s after a restart', async (_, files) => {
    using remote = new GitRemote();
    remote.push(files);
    await using run = new SourceRun(remote, { applied: () => [{ key: 'apps/shop/a.yaml', uid: 'u' }] });
    run.tell({ desiredRevision: 'f'.repeat(40) });
    const { scope, objects, faults } = await run.next();
    expect({ scope, objects, fault: faults[0]?.message.slice(0, 61) }).toEqual({
      scope: 'partial',
      objects: [],
      fault: 'the directory clusters/eu has no manifest any more and no tom',
    });
  });
});
