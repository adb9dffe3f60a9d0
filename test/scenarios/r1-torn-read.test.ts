import { expect, it } from 'vitest';
import { DIRECTORY, fileOf, GitStage } from './git-stage.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

it.each([
  ['pruning', true],
  ['not pruning', false],
])(
  'R1: a branch that moves during a listing tears nothing: the pass stays on one commit, %s',
  async (_, prunes) => {
    await using stage = await GitStage.start(NAMES, { prune_on_removal: prunes });
    const before = await stage.identities();
    const seen: unknown[] = [];
    // The listing has its commit and its trees; before its contents are served the branch moves on: two files are gone, two
    // more are moved aside, and one is another version.
    let requests = 0;
    const intended = Object.fromEntries(
      NAMES.slice(0, 8).map((name) => stage.file({ name, source: '1.2', version: '6.6.1' })),
    );
    stage.host.refuse = ({ method }) => {
      requests += method === 'POST' ? 1 : 0;
      if (requests !== 3) return false;
      requests += 1;
      stage.remote.push({
        [fileOf('a')]: null,
        [fileOf('b')]: null,
        ...Object.fromEntries([stage.file({ name: 'c', source: '1.3' })]),
      });
      return false;
    };
    const first = stage.push(intended);
    await stage.untilApplied(first);
    seen.push(await stage.identities());
    expect(requests).toBeGreaterThanOrEqual(4);
    // What was read is the one commit, whole: all ten, eight of them anew.
    for (const name of NAMES.slice(0, 8)) {
      expect((await stage.read(name))?.metadata.annotations?.['app.service.io/source']).toBe('1.2');
    }
    expect([seen, stage.deletes]).toEqual([[before], []]);
    expect(stage.remote.treeOf(DIRECTORY)).not.toBe(first);

    // The commit that came meanwhile is read next, as a whole of its own.
    await stage.untilApplied(stage.tell());
    expect((await stage.read('c'))?.metadata.annotations?.['app.service.io/source']).toBe('1.3');
    if (prunes) for (const name of ['a', 'b']) await stage.untilGone(name);
    const gone = stage.deletes.filter((path) => path.startsWith('applicationinstances/')).sort();
    expect(gone).toEqual(prunes ? ['applicationinstances/a', 'applicationinstances/b'] : []);
  },
  60_000,
);
