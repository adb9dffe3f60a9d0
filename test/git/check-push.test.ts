import { describe, expect, it } from 'vitest';
import { checkPush } from '../../src/git/embedded-host/check-push.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);
const C = 'c'.repeat(40);
const SCOPE = [
  { clusterId: 'c-eu', directory: 'clusters/prod-eu' },
  { clusterId: 'c-us', directory: 'clusters/prod-us' },
];

/** One commit as `git log` lists it. */
function logged(options: {
  readonly id?: string;
  readonly parents?: readonly string[];
  readonly cluster?: string;
  readonly mode?: string;
  readonly status?: string;
  readonly path?: string;
}): string {
  const { id = B, parents = [A], cluster = 'c-eu', mode = '100644', status = 'A' } = options;
  const path = options.path ?? 'clusters/prod-eu/apps/shop/podinfo.yaml';
  return `commit ${id} ${parents.join(' ')}\ncluster ${cluster}\n\n:000000 ${mode} ${'0'.repeat(40)} ${C} ${status}\t${path}\n`;
}

function verdict(
  log: string,
  options: { readonly oldId?: string | undefined; readonly newId?: string } = { oldId: A },
): string {
  const fault = checkPush(log, { oldId: options.oldId, newId: options.newId ?? B, scope: SCOPE });
  if (fault === undefined) return 'accepted';
  return fault.kind === 'moved' ? 'moved' : fault.lines.join('\n');
}

describe('checkPush', () => {
  it.each([
    ['one commit on the tip', logged({}), { oldId: A }],
    ['a root commit on a new branch', logged({ parents: [] }), { oldId: undefined }],
    ['two commits in line', logged({ id: C, parents: [B] }) + logged({ id: B }), { oldId: A, newId: C }],
    ['the README', logged({ path: 'clusters/prod-eu/README.md' }), { oldId: A }],
    [
      'a removal, whatever its name',
      logged({ path: 'clusters/prod-eu/Old.YAML', mode: '000000', status: 'D' }),
      { oldId: A },
    ],
  ])('accepts %s', (_name, log, options) => {
    expect(verdict(log, options)).toBe('accepted');
  });

  it.each([
    ['no commit at all', '', { oldId: A }],
    ['a commit on another one', logged({ parents: [C] }), { oldId: A }],
    ['a root commit on a branch that exists', logged({ parents: [] }), { oldId: A }],
    [
      'a gap between two commits',
      logged({ id: C, parents: ['d'.repeat(40)] }) + logged({ id: B }),
      { oldId: A, newId: C },
    ],
    ['a list that is cut short', logged({ id: C, parents: [B] }), { oldId: A, newId: C }],
    ['another tip than was named', logged({ id: C }), { oldId: A, newId: B }],
  ])('sends the client to fetch for %s', (_name, log, options) => {
    expect(verdict(log, options)).toBe('moved');
  });

  it.each([
    ['no Cluster-Id', { cluster: '' }, 'it has no Cluster-Id trailer'],
    ['two Cluster-Ids', { cluster: 'c-eu,c-us' }, 'it has more than one Cluster-Id trailer'],
    ['an unknown one', { cluster: 'c-xx' }, 'its Cluster-Id "c-xx" is not one that this credential may write for'],
    ['a merge', { parents: [A, C] }, 'it is a merge; only commits with one parent are accepted'],
    [
      'another directory of the same scope',
      { path: 'clusters/prod-us/apps/shop/x.yaml' },
      'the path clusters/prod-us/apps/shop/x.yaml lies outside clusters/prod-eu, the directory of c-eu',
    ],
    [
      'a directory whose name only begins alike',
      { path: 'clusters/prod-eu-2/apps/shop/x.yaml' },
      'the path clusters/prod-eu-2/apps/shop/x.yaml lies outside clusters/prod-eu, the directory of c-eu',
    ],
    [
      'a removal elsewhere',
      { path: 'x', status: 'D' },
      'the path x lies outside clusters/prod-eu, the directory of c-eu',
    ],
    [
      'a symbolic link',
      { path: 'clusters/prod-eu/x', mode: '120000' },
      'the path clusters/prod-eu/x is a symbolic link',
    ],
    ['a submodule', { path: 'clusters/prod-eu/x', mode: '160000' }, 'the path clusters/prod-eu/x is a submodule'],
    [
      'an executable file',
      { path: 'clusters/prod-eu/x', mode: '100755' },
      'the path clusters/prod-eu/x has the file mode 100755; only 100644 is accepted',
    ],
    [
      'a name that git quotes',
      { path: String.raw`"clusters/prod-eu/\303\244.yaml"` },
      String.raw`the path "clusters/prod-eu/\303\244.yaml" holds characters that are not allowed`,
    ],
  ])('refuses %s', (_name, options, text) => {
    expect(verdict(logged(options))).toBe(`refused: commit ${B}: ${text}`);
  });

  it.each([
    'Apps/shop/a.yaml',
    'apps/.hidden/a.yaml',
    'apps/shop/a b.yaml',
    'apps/shop/a.',
    'readme.MD',
    '-a.yaml',
    'apps/README.md',
    '.gitattributes',
    'a:b',
    'git~1',
  ])('refuses the name %s', (inside) => {
    expect(verdict(logged({ path: `clusters/prod-eu/${inside}` }))).toBe(
      `refused: commit ${B}: the path clusters/prod-eu/${inside} has a name that is not allowed (lower-case letters, digits, . _ - and no leading dot)`,
    );
  });

  it.each([
    { inside: 'readme.md', mode: '100644' },
    { inside: 'readme.md', mode: '040000' },
    { inside: 'readme.md/a.yaml', mode: '100644' },
  ])('refuses a twin of the README by case: $inside, $mode', ({ inside, mode }) => {
    const path = `clusters/prod-eu/${inside}`;
    expect(verdict(logged({ path, mode }))).toBe(
      `refused: commit ${B}: the path ${path} differs from README.md by case alone`,
    );
  });

  it('names each commit once, at its first fault', () => {
    const log = `${logged({ path: 'one' })}:000000 100644 ${A} ${C} A\ttwo\n`;
    expect(verdict(log)).toBe(
      `refused: commit ${B}: the path one lies outside clusters/prod-eu, the directory of c-eu`,
    );
  });
});
