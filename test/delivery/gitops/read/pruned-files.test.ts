import { describe, expect, it } from 'vitest';
import type { DesiredSet } from '../../../../src/delivery/delivery.ts';
import { git, GitRemote, manifest, tombstone } from './git-remote.ts';
import { SourceRun } from './source-run.ts';

const DIRECTORY = 'clusters/eu';

function files(names: string, content: string | null = ''): Record<string, string | null> {
  return Object.fromEntries(
    names.split('').map((name) => [`${DIRECTORY}/apps/shop/${name}.yaml`, content === null ? null : manifest(name)]),
  );
}

const prunes = (set: DesiredSet): string =>
  (set.prunes ?? []).map(({ key, uid }) => (uid === `uid of ${key}` ? key.slice(10, -5) : `? ${uid}`)).join('');

/** What a person would say who accepts what is held. */
const acceptanceOf = (set: DesiredSet): string =>
  /--revision ([0-9a-f]{40}@[0-9a-f]{32}),/.exec(set.faults[0]?.message ?? '')?.[1] ?? '';

/** In short: the scope, what goes, and why not. */
function told(set: DesiredSet): string {
  const faults = set.faults.map(({ reason, message }) => `${reason}: ${message.replace(/[;(].*$/s, '').trim()}`);
  return [set.scope, `prunes ${prunes(set) || 'nothing'}`, ...faults].join(' | ');
}

/** A source on a cluster that prunes, which has read and applied `names`. */
async function started(remote: GitRemote, names: string): Promise<SourceRun> {
  remote.push(files(names));
  const run = new SourceRun(remote);
  run.tell({ pruneOnRemoval: true });
  expect(told(await run.next())).toBe('complete | prunes nothing');
  return run;
}

describe('a cluster that prunes', () => {
  it.each([
    ['three of three, which are all', 'abc', 'abc', false],
    ['three of four', 'abcd', 'abc', true],
    ['four of twelve, which are a third', 'abcdefghijkl', 'abcd', true],
    ['four of eleven', 'abcdefghijk', 'abcd', false],
    ['its only one', 'a', 'a', false],
  ])('lets go of %s, unless the breaker holds', async (_, names, gone, passes) => {
    using remote = new GitRemote();
    await using run = await started(remote, names);
    // Something else is there: an empty directory is held in any case.
    remote.push({ ...files(gone, null), ...files('z') });
    run.tell({ pruneOnRemoval: true });
    const count = `${gone.length} of ${names.length}`;
    expect(told(await run.next())).toBe(
      passes
        ? `complete | prunes ${gone}`
        : `partial | prunes nothing | RemovalsHeld: the directory clusters/eu has lost ${count} applied manifests and no tombstone says so`,
    );
  });

  it('keeps to a breaker of its own', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcdefghijkl');
    remote.push(files('ab', null));
    run.tell({ pruneOnRemoval: true, breaker: { fraction: 0.1, objects: 1 } });
    expect((await run.next()).faults[0]?.reason).toBe('RemovalsHeld');
  });

  it('goes on once a person accepts just this, and for nothing else', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcd');
    remote.push({ ...files('abcd', null), ...files('z') });
    run.tell({ pruneOnRemoval: true });
    const set = await run.next();
    const accepted = acceptanceOf(set);
    expect(set.faults[0]?.message).toContain(
      `if this is meant: servicectl clusters accept-removals eu --revision ${accepted}, or on the cluster: kubectl ` +
        `-n service-system annotate --overwrite clusters.ops.service.io --all ops.service.io/accept-removals=${accepted}`,
    );
    // A tree alone does not say what goes for it.
    for (const other of [set.revision ?? '', `${set.revision}@${'f'.repeat(32)}`]) {
      run.tell({ pruneOnRemoval: true, acceptedRemovals: other });
      expect((await run.next()).faults[0]?.reason).toBe('RemovalsHeld');
    }
    run.tell({ pruneOnRemoval: true, acceptedRemovals: accepted });
    expect(told(await run.next())).toBe('complete | prunes abcd');
    // The same tree once more, of which other objects are missing.
    remote.push(files('vwxy'));
    run.tell({ pruneOnRemoval: true, acceptedRemovals: accepted });
    await run.next();
    remote.push(files('vwxy', null));
    run.tell({ pruneOnRemoval: true, acceptedRemovals: accepted });
    const again = await run.next();
    expect([again.revision, told(again)]).toEqual([
      set.revision,
      'partial | prunes nothing | RemovalsHeld: the directory clusters/eu has lost 4 of 5 applied manifests and no tombstone says so',
    ]);
  });

  it('lets nothing go while a file of the directory cannot be read, and says so', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcd');
    remote.push({ ...files('a', null), [`${DIRECTORY}/apps/shop/deep/a.yaml`]: manifest('a') });
    run.tell({ pruneOnRemoval: true });
    const set = await run.next();
    expect({ scope: set.scope, prunes: set.prunes, faults: set.faults.map(({ message }) => message) }).toEqual({
      scope: 'complete',
      prunes: undefined,
      faults: [
        'nothing is removed for apps/shop/a.yaml while a file of the directory cannot be read: apps/shop/deep/a.yaml',
        'apps/shop/deep/a.yaml: is not at apps/<namespace>/<name>.yaml, so it is not read',
      ],
    });
    remote.push({ [`${DIRECTORY}/apps/shop/deep/a.yaml`]: null });
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe('complete | prunes a');
  });

  it('lets a tombstone stand for an object of its own kind only', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcdef');
    const at = `${DIRECTORY}/tombstones/shop/a.json`;
    const ofOperation = {
      ...(JSON.parse(tombstone('a')) as object),
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
    };
    remote.push({ ...files('a', null), [at]: JSON.stringify(ofOperation) });
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe('complete | prunes a');
    remote.push({ [at]: tombstone('a') });
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe('complete | prunes nothing');
  });

  it('counts what vanished before it pruned', async () => {
    using remote = new GitRemote();
    remote.push(files('abcdef'));
    await using run = new SourceRun(remote);
    run.tell();
    await run.next();
    for (const name of ['a', 'b', 'c', 'd']) {
      remote.push(files(name, null));
      run.tell();
      expect(told(await run.next())).toBe('complete | prunes nothing');
    }
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toContain('has lost 4 of 6 applied manifests');
  });

  it('lets nothing go for a history that was rewritten, over a restart, until every file is there again', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcdefgh');
    remote.forgetHistory();
    remote.push(files('a', null));
    run.tell({ pruneOnRemoval: true });
    const held =
      'partial | prunes nothing | RemovalsHeld: the branch was rewritten or went back, and the directory clusters/eu lacks 1 applied manifests since and no tombstone says so';
    expect(told(await run.next())).toBe(held);
    remote.push(files('i'));
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe(held);
    await using other = new SourceRun(remote, {
      applied: () => [{ key: 'apps/shop/a.yaml', uid: 'u' }, ...uids('bcdefgh')],
    });
    other.memory = run.memory;
    other.tell({ pruneOnRemoval: true });
    expect(told(await other.next())).toBe(held);

    remote.push(files('a'));
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe('complete | prunes nothing');
    remote.push(files('a', null));
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toBe('complete | prunes a');
    expect(git(remote.bare, 'rev-list', '--count', 'main')).toBe('4');
  });

  it('does not forget that the history was rewritten for a fault right after it was fetched', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcdefgh');
    let faults = 1;
    const applied = (): { readonly key: string; readonly uid: string }[] => {
      if (faults-- > 0) throw new Error('no memory');
      return uids('abcdefgh');
    };
    await using other = new SourceRun(remote, { applied });
    other.memory = run.memory;
    remote.forgetHistory();
    remote.push(files('a', null));
    other.tell({ pruneOnRemoval: true });
    expect(told(await other.nextInTime(1000))).toContain('SourceUnreachable');
    expect(told(await other.nextInTime(1000))).toContain('RemovalsHeld: the branch was rewritten or went back');
  });

  it('is judged anew for what comes to be applied late, and not for what was known', async () => {
    using remote = new GitRemote();
    await using run = await started(remote, 'abcdef');
    remote.push({ ...files('abcdef', null), [`${DIRECTORY}/README.md`]: 'empty' });
    run.tell({ pruneOnRemoval: true });
    expect(told(await run.next())).toContain('has no manifest any more');
    let more = 0;
    const next = run.next().then((set) => {
      more += 1;
      return set;
    });
    await run.settle('apps/shop/a.yaml');
    await run.settled();
    expect(more).toBe(0);
    await run.settle('apps/shop/late.yaml');
    expect((await next).faults[0]?.message).toContain('apps/shop/late.yaml');
  });
});

function uids(names: string): { readonly key: string; readonly uid: string }[] {
  return names.split('').map((name) => ({ key: `apps/shop/${name}.yaml`, uid: 'u' }));
}
