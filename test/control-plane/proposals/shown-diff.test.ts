import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filePatches } from '../../../src/control-plane/history/file-patches.ts';
import { parseDiff } from '../../../src/control-plane/proposals/proposal-diff.ts';
import { RunningControlPlane } from '../running-control-plane.ts';
import { ReviewedCluster } from './reviewed-cluster.ts';

/** What some readers take for the end of a line. */
const SEPARATORS = [
  ['U+2028', '\u2028'],
  ['U+2029', '\u2029'],
  ['a carriage return', '\r'],
] as const;

const patchWith = (separator: string): string =>
  [
    'diff --git a/f b/f',
    `index ${'1'.repeat(40)}..${'2'.repeat(40)} 100644`,
    '--- a/f',
    '+++ b/f',
    '@@ -1,2 +1,2 @@',
    `-# note${separator}diff --git a/z b/z`,
    `-x${separator}--- a/y`,
    '-image: good',
    '+image: evil',
    '',
  ].join('\n');

describe.each(SEPARATORS)('a file that holds %s', (_name, separator) => {
  const text = patchWith(separator);

  it('is shown whole in the diff of a proposal', () => {
    const second = text.replaceAll('/f', '/g').replace('--- a/g\n', 'new file mode 100644\n--- /dev/null\n');
    expect(parseDiff(text + second)).toEqual([
      {
        path: 'f',
        status: 'modified',
        before: '1'.repeat(40),
        after: '2'.repeat(40),
        patch: text.slice(text.indexOf('--- a/f')),
      },
      expect.objectContaining({ path: 'g', status: 'added', patch: second.slice(second.indexOf('--- /dev/null')) }),
    ]);
  });

  it('is shown whole in the history', async () => {
    const query = async (args: readonly string[]): Promise<string> =>
      args.includes('--name-status') ? 'M\0f\0M\0g\0' : text + text;
    const { files } = await filePatches(query, { from: 'a', to: 'b' }, AbortSignal.timeout(1000));
    expect(files.map(({ patch }) => patch)).toEqual([text, text]);
  });
});

describe('the diff of a proposal', () => {
  let plane: RunningControlPlane;

  beforeAll(async () => {
    plane = await RunningControlPlane.start();
  });
  afterAll(async () => await plane[Symbol.asyncDispose]());

  it('is refused where it does not show all that would be merged', async () => {
    const cluster = await ReviewedCluster.create(plane, 'shown');
    const { id } = (await cluster.propose()) as { id: string };
    expect(await plane.call('GET', `/proposals/${id}/diff`)).toMatchObject({ status: 200, body: { revision: 1 } });
    await plane.execute(`UPDATE proposals SET pins = '[{"path":"x","after":"${'1'.repeat(40)}"}]' WHERE id = ?`, id);
    const { status, body } = await plane.call('GET', `/proposals/${id}/diff`);
    expect([status, body['message']]).toEqual([409, expect.stringContaining('does not show all')]);
  });
});

describe('the diff of a proposal that is being rendered again', () => {
  it('is not that of the revision before', async () => {
    await using plane = await RunningControlPlane.start();
    const cluster = await ReviewedCluster.create(plane, 'again');
    const { id } = (await cluster.propose()) as { id: string };
    // As `moved` leaves it until it is rendered: with the commit that there was.
    await plane.execute("UPDATE proposals SET pins = '[]', revision = 2 WHERE id = ?", id);
    const { status, body } = await plane.call('GET', `/proposals/${id}/diff`);
    expect([status, body['message']]).toEqual([409, expect.stringContaining('revision 2 is being rendered')]);
  });
});

describe('a comment', () => {
  it('holds nothing that acts on a terminal or turns text around', async () => {
    await using plane = await RunningControlPlane.start();
    const cluster = await ReviewedCluster.create(plane, 'said');
    const { id } = (await cluster.propose()) as { id: string };
    for (const comment of ['\u001b[2J', 'a\u202eb', 'a\rb', 'a\u2028b', '']) {
      expect((await cluster.act(id, 'comment', 'anna', { comment })).status).toBe(400);
    }
    expect((await cluster.act(id, 'comment', 'anna', { comment: 'two\nlines\tü' })).status).toBe(200);
  });
});
