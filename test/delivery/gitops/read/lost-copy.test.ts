import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitCache } from '../../../../src/delivery/gitops/read/git-cache.ts';
import { gitEnvironment } from '../../../../src/delivery/gitops/read/git-environment.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { GitRemote, manifest } from './git-remote.ts';
import { Signer, signWith } from './signed-history.ts';
import { SourceRun } from './source-run.ts';

const A = 'clusters/eu/apps/shop/a.yaml';
const B = 'clusters/eu/apps/shop/b.yaml';
const ELSEWHERE = 'clusters/us/apps/shop/a.yaml';

let remote: GitRemote;
let run: SourceRun;
let plane: Signer;

beforeEach(() => {
  remote = new GitRemote();
  plane = new Signer(remote, 'plane');
  run = new SourceRun(remote);
});
afterEach(async () => {
  await run[Symbol.asyncDispose]();
  remote[Symbol.dispose]();
});

function push(by: Signer | undefined, files: Readonly<Record<string, string | null>>): string {
  signWith(remote, by);
  return remote.push(files).slice(0, 12);
}

async function read(trustedRevision?: string): Promise<readonly [readonly string[], readonly string[]]> {
  run.tell({ allowedSigners: [plane.allowed], ...(trustedRevision === undefined ? {} : { trustedRevision }) });
  const { objects, faults } = await run.nextInTime(60_000);
  return [objects.map(({ key }) => key.replace(/^.*\//, '')), faults.map(({ message }) => message)];
}

/** As for whatever reason the operator throws it away. */
async function throwCopyAway(): Promise<void> {
  await run[Symbol.asyncDispose]();
  rmSync(join(run.stateDir, 'git'), { recursive: true });
  run = new SourceRun(remote);
}

describe('a copy that was thrown away', () => {
  it('takes with it neither what was trusted nor what was refused', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    const bad = push(undefined, { [B]: manifest('b') });
    push(plane, { [A]: manifest('a', { version: '6.6.0' }) });
    await throwCopyAway();
    push(plane, { [ELSEWHERE]: manifest('a') });
    const [objects, faults] = await read();
    expect([objects, faults[0]]).toEqual([[], expect.stringMatching(`^commit ${bad}, on which the tip`)]);
  });

  it('is made anew as deep as it takes to go on', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    await throwCopyAway();
    for (let index = 0; index < 4; index += 1) push(undefined, { [ELSEWHERE]: `${index}\n` });
    push(plane, { [B]: manifest('b') });
    push(undefined, { [ELSEWHERE]: 'last\n' });
    expect(await read()).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('does not let another history pass for the one that was trusted, until a person vouches for it', async () => {
    push(plane, { [A]: manifest('a') });
    expect(await read()).toEqual([['a.yaml'], []]);
    await throwCopyAway();
    remote.forgetHistory();
    const bad = push(undefined, { [B]: manifest('b') });
    push(plane, { [ELSEWHERE]: 'signed\n' });
    const [objects, faults] = await read();
    expect([objects, faults[0]]).toEqual([[], expect.stringMatching(`^commit ${bad}, on which the tip`)]);
    expect(await read(remote.treeOf('clusters/eu'))).toEqual([['a.yaml', 'b.yaml'], []]);
  });

  it('is not trusted where the directory is deleted by nobody who may', async () => {
    push(plane, { [A]: manifest('a'), [ELSEWHERE]: 'x\n' });
    expect(await read()).toEqual([['a.yaml'], []]);
    await throwCopyAway();
    const bad = push(undefined, { [A]: null });
    run.tell({ allowedSigners: [plane.allowed], desiredRevision: 'unknown' });
    const { faults } = await run.nextInTime(60_000);
    expect(faults[0]?.message).toMatch(`commit ${bad} is not signed`);
  });
});

describe('a copy of many packs', () => {
  it('is packed anew and not thrown away', async () => {
    const directory = join(remote.folder, 'copy');
    const cache = new GitCache({
      directory,
      url: remote.url,
      branch: 'main',
      path: 'clusters/eu',
      environment: () => gitEnvironment({ url: remote.url, home: remote.folder, allowFile: true }),
      logger: createLogger('test', 'silent'),
      maxPacks: 3,
    });
    const signal = AbortSignal.timeout(30_000);
    push(undefined, { [A]: manifest('a') });
    const { commit: first } = await cache.fetch(signal);
    for (let index = 0; index < 8; index += 1) {
      push(undefined, { [ELSEWHERE]: `${index}\n` });
      const { commit } = await cache.fetch(signal);
      expect((await cache.list(commit, signal)).map(({ path }) => path)).toContain(A);
    }
    const packs = readdirSync(join(directory, '.git', 'objects', 'pack')).filter((file) => file.endsWith('.pack'));
    expect(packs.length).toBeLessThanOrEqual(3);
    // A copy that was made anew would not have it.
    expect(await cache.rootTree(first, signal)).toMatch(/^[0-9a-f]{40}$/);
  });
});
