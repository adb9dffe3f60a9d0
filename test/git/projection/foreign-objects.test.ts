import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FLUSH_PKT, pktLine } from '../../../src/git/pkt-line.ts';
import { git, gitFailure } from '../git-server.ts';
import { ProjectionStage } from './projection-stage.ts';

const SECRET = 'what only the other cluster may know';

let stage: ProjectionStage;
/** Ids in the shared repository that are none of `prod-eu`'s, by what they are. */
const foreign: Record<string, string> = {};

beforeAll(async () => {
  stage = await ProjectionStage.start(['prod-eu', 'prod-us']);
  await stage.bring('prod-eu', 'mine');
  await stage.bring('prod-us', 'theirs', SECRET);
  await stage.bring('prod-eu', 'later');
  const id = async (expression: string): Promise<string> => await stage.shared('rev-parse', expression);
  foreign['commit of the other'] = await id('main~1');
  foreign['commit of mine in the shared repository'] = await id('main');
  foreign['root tree of the shared repository'] = await id('main^{tree}');
  foreign['tree of all clusters'] = await id('main:clusters');
  foreign['directory of the other'] = await id('main:clusters/prod-us');
  foreign['file of the other'] = await id('main:clusters/prod-us/apps/shop/theirs.yaml');
  foreign['README of the repository'] = await id('main:README.md');
  await stage.read('prod-us');
  foreign['commit of the other projection'] = await stage.projected('prod-us', 'rev-parse', 'main');
  await stage.read('prod-eu');
});

afterAll(async () => await stage[Symbol.asyncDispose]());

const KINDS = [
  'commit of the other',
  'commit of mine in the shared repository',
  'root tree of the shared repository',
  'tree of all clusters',
  'directory of the other',
  'file of the other',
  'README of the repository',
  'commit of the other projection',
];

async function emptyClone(): Promise<string> {
  const folder = await mkdtemp(join(stage.server.folder, 'thief-'));
  await git(folder, ['init', '--quiet', '.']);
  return folder;
}

/** One exchange with upload-pack in raw packets; the whole answer as text. */
async function exchange(repository: string, version: 0 | 1 | 2, body: Buffer): Promise<string> {
  const answer = await fetch(`${stage.server.url}/git/${repository}.git/git-upload-pack`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Basic ${btoa('any:read-prod-eu')}`,
      'content-type': 'application/x-git-upload-pack-request',
      ...(version === 0 ? {} : { 'git-protocol': `version=${version}` }),
    },
  });
  return Buffer.from(await answer.arrayBuffer()).toString('latin1');
}

const DELIM_PKT = Buffer.from('0001');

/** A want of `id` in each version's own words. */
function wanting(version: 0 | 1 | 2, id: string, filter: string | undefined): Buffer {
  if (version === 2) {
    const lines = [`want ${id}\n`, 'no-progress\n', ...(filter === undefined ? [] : [`filter ${filter}\n`]), 'done\n'];
    return Buffer.concat([pktLine('command=fetch\n'), DELIM_PKT, ...lines.map((line) => pktLine(line)), FLUSH_PKT]);
  }
  const capabilities = `no-progress ofs-delta allow-tip-sha1-in-want allow-reachable-sha1-in-want${filter === undefined ? '' : ' filter'}`;
  return Buffer.concat([
    pktLine(`want ${id} ${capabilities}\n`),
    ...(filter === undefined ? [] : [pktLine(`filter ${filter}\n`)]),
    FLUSH_PKT,
    pktLine('done\n'),
  ]);
}

describe('a cluster that asks its own repository for what is another’s', () => {
  it('holds none of it', async () => {
    const all = await stage.projected('prod-eu', 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
    for (const kind of KINDS) expect([kind, all.includes(foreign[kind] ?? 'none')]).toEqual([kind, false]);
    // Two commits, four trees each time but for those that both have, two files.
    expect(all.split('\n')).toHaveLength(2 + 6 + 2);
  });

  describe.each([0, 1, 2] as const)('by protocol version %i', (version) => {
    it.each(KINDS)('gets nothing by git fetch <id>: %s', async (kind) => {
      const folder = await emptyClone();
      const id = foreign[kind] ?? '';
      const protocol = ['-c', `protocol.version=${version}`];
      for (const options of [[], ['--filter=blob:none'], ['--filter=tree:0'], ['--depth=1']]) {
        const text = await gitFailure(folder, [...protocol, 'fetch', ...options, stage.remote('prod-eu'), id]);
        expect(text).toMatch(/not our ref|not advertised|unadvertised|no such remote ref|couldn't find remote ref/i);
      }
      expect(await git(folder, ['count-objects'])).toBe('0 objects, 0 kilobytes');
    });

    it.each(KINDS)('gets nothing in raw packets: %s', async (kind) => {
      const id = foreign[kind] ?? '';
      for (const filter of [undefined, 'blob:none', 'tree:0', `sparse:oid=${id}`]) {
        const text = await exchange('clusters/prod-eu', version, wanting(version, id, filter));
        expect(text).toMatch(/ERR upload-pack: not our ref|^$|filter/);
        expect(text).not.toContain('PACK');
      }
    });

    it('gets its own, so that the ones above are refused for what they are', async () => {
      const tip = await stage.projected('prod-eu', 'rev-parse', 'main');
      expect(await exchange('clusters/prod-eu', version, wanting(version, tip, undefined))).toContain('PACK');
    });
  });

  it('gets nothing by a lazy fetch of a partial clone', async () => {
    const folder = await mkdtemp(join(stage.server.folder, 'partial-'));
    await git(folder, ['clone', '--quiet', '--filter=blob:none', '--no-checkout', stage.remote('prod-eu'), '.']);
    for (const kind of KINDS)
      expect(await gitFailure(folder, ['cat-file', '-p', foreign[kind] ?? ''])).toMatch(
        /not our ref|could not fetch|Not a valid object/,
      );
    expect(await git(folder, ['cat-file', '-p', 'HEAD:apps/shop/mine.yaml'])).toContain('text of');
  });

  it.each(['acme', 'clusters/prod-us', 'clusters', 'acme/clusters/prod-eu', 'nothing'])(
    'finds nothing at the address of %s, in any version',
    async (repository) => {
      for (const version of [0, 1, 2] as const) {
        for (const kind of KINDS) {
          const body = wanting(version, foreign[kind] ?? '', undefined);
          expect(await exchange(repository, version, body)).toBe('No such repository.\n');
        }
        const answer = await fetch(`${stage.server.url}/git/${repository}.git/info/refs?service=git-upload-pack`, {
          headers: { authorization: `Basic ${btoa('any:read-prod-eu')}`, 'git-protocol': `version=${version}` },
        });
        expect([answer.status, await answer.text()]).toEqual([404, 'No such repository.\n']);
      }
    },
  );

  it.each([
    'projection.json',
    'config',
    'objects/info/packs',
    'objects/info/alternates',
    'HEAD',
    '../../acme.git/HEAD',
  ])('is not given the file %s', async (file) => {
    const answer = await fetch(`${stage.server.url}/git/clusters/prod-eu.git/${file}`, {
      headers: { authorization: `Basic ${btoa('any:read-prod-eu')}` },
    });
    expect([403, 404]).toContain(answer.status);
    expect(await answer.text()).not.toContain('main');
  });

  it('would be given all of it, were the objects shared: Git asks nobody whether an object may be read', async () => {
    const alternates = join(stage.server.path('clusters/prod-eu'), 'objects/info/alternates');
    await writeFile(alternates, `${stage.server.path('acme')}/objects\n`);
    const id = foreign['file of the other'] ?? '';
    expect(await exchange('clusters/prod-eu', 2, wanting(2, id, undefined))).toContain('PACK');
    await rm(alternates);
  });
});
