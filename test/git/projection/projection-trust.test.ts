import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signProjection } from '../../../src/control-plane/commit-signing/sign-projection.ts';
import { commitObject, signedCommit } from '../../../src/git/commit-object.ts';
import type { NewObject } from '../../../src/git/git-object.ts';
import { writeIndexedPack } from '../../../src/git/pack-index.ts';
import { MAX_SOURCE_COMMITS } from '../../../src/git/projection/source-history.ts';
import { trustedSigners, verifyCommit } from '../../../src/git/signing/commit-signature.ts';
import { sshKeyOfEd25519, sshPublicKeyLine } from '../../../src/git/signing/ssh-public-key.ts';
import { signForGit } from '../../../src/git/signing/ssh-signature.ts';
import { git } from '../git-server.ts';
import { ProjectionStage } from './projection-stage.ts';

const NAMES = ['k1', 'k2', 'alice'] as const;
type Name = (typeof NAMES)[number];

const keys = new Map<Name, KeyObject>(NAMES.map((name) => [name, generateKeyPairSync('ed25519').privateKey]));
const keyOf = (name: Name): KeyObject => keys.get(name) ?? generateKeyPairSync('ed25519').privateKey;
const allowed = (names: Iterable<Name>) =>
  [...names].map((principal) => ({
    principal,
    public_key: sshPublicKeyLine(sshKeyOfEd25519(createPublicKey(keyOf(principal)))),
  }));
const everybody = trustedSigners(allowed(NAMES));

let stage: ProjectionStage;
/** Whose signatures count, and who signs. */
let counting: Set<Name>;
let current: Name;
let at: number;

beforeEach(async () => {
  counting = new Set(NAMES);
  current = 'k1';
  at = Date.parse('2026-11-28T10:00:00.000Z');
  stage = await ProjectionStage.start(['prod-eu', 'prod-us'], {
    signProjection: signProjection({
      allowedSigners: async () => allowed(counting),
      sign: async (_, payload) => signForGit(payload, keyOf(current)),
    }),
  });
});
afterEach(async () => await stage[Symbol.asyncDispose]());

interface Next {
  readonly tree: string;
  readonly by?: Name;
  readonly subject: string;
  readonly parents?: readonly string[];
}

/** Commits on the shared branch, past the host, all at once. */
async function commits(list: readonly Next[]): Promise<readonly string[]> {
  const made: NewObject[] = [];
  let parent = await git(stage.work, ['rev-parse', 'HEAD']);
  for (const { tree, by, subject, parents } of list) {
    at += 1000;
    const identity = { name: 'A Person', email: 'person@example.test' };
    const [first = parent, ...others] = parents ?? [];
    const plain = commitObject({ tree, parent: first, identity, at: new Date(at), message: `${subject}\n` });
    const text = plain.bytes.toString('latin1');
    const more = others.map((id) => `parent ${id}\n`).join('');
    const bytes = Buffer.from(text.replace(`parent ${first}\n`, `parent ${first}\n${more}`), 'latin1');
    const id = await git(stage.work, ['hash-object', '-t', 'commit', '--stdin'], { input: bytes.toString('latin1') });
    const sign = by === undefined ? undefined : async (payload: Buffer) => signForGit(payload, keyOf(by));
    const commit = await signedCommit(others.length > 0 ? { ...plain, id, bytes } : plain, sign);
    made.push(commit);
    parent = commit.id;
  }
  const pack = await writeIndexedPack(made);
  const name = join(stage.work, '.git/objects/pack', `pack-${pack.name}`);
  await writeFile(`${name}.pack`, pack.pack);
  await writeFile(`${name}.idx`, pack.index);
  await git(stage.work, ['update-ref', 'HEAD', parent]);
  await git(stage.work, ['push', '--quiet', '--force', stage.server.path('acme'), 'HEAD:main']);
  return made.map(({ id }) => id);
}

/** The whole tree with this text in a file of each cluster. */
async function tree(eu: string, us = 'us'): Promise<string> {
  await stage.write('clusters/prod-eu/apps/shop/a.yaml', `${eu}\n`);
  await stage.write('clusters/prod-us/apps/shop/a.yaml', `${us}\n`);
  return await git(stage.work, ['write-tree']);
}

/** Signed commits about another cluster, more than are looked through. */
async function others(eu: string, by: Name): Promise<Next[]> {
  const trees = [await tree(eu, 'one'), await tree(eu, 'other')];
  return Array.from({ length: MAX_SOURCE_COMMITS + 1 }, (_, index) => ({
    tree: trees[index % 2] ?? '',
    by,
    subject: `other ${index}`,
  }));
}

/** What the cluster reads, the oldest first: each commit's subject and who signed it. */
async function read(): Promise<readonly string[]> {
  const tip = await stage.read('prod-eu');
  const ids = (await stage.projected('prod-eu', 'rev-list', '--reverse', tip)).split('\n');
  const found = ids.map(async (id) => {
    const bytes = Buffer.from(`${await stage.projected('prod-eu', 'cat-file', 'commit', id)}\n`);
    const verdict = verifyCommit(bytes, everybody);
    const subject = await stage.projected('prod-eu', 'log', '-1', '--format=%s', id);
    return `${subject.replace(/ [0-9a-f]{12}$/, '')}: ${verdict.state === 'trusted' ? verdict.signer.principal : '-'}`;
  });
  return await Promise.all(found);
}

const BASE = 'The directory as it was at commit';

describe('what older commits have left, which comes as one', () => {
  it('is not signed when one of them was not, whatever is signed since, and made anew neither', async () => {
    await commits([
      { tree: await tree('good'), by: 'k1', subject: 'install' },
      { tree: await tree('evil'), subject: 'edit past the control plane' },
      ...(await others('evil', 'k1')),
    ]);
    expect(await read()).toEqual([`${BASE}: -`]);
    await stage.dropProjection('prod-eu');
    expect(await read()).toEqual([`${BASE}: -`]);
  });

  it('is signed when every one of them was, as long as each signature counts', async () => {
    await commits([
      { tree: await tree('one'), by: 'k1', subject: 'install' },
      { tree: await tree('two'), by: 'alice', subject: 'by a person' },
      ...(await others('two', 'k1')),
    ]);
    expect(await read()).toEqual([`${BASE}: k1`]);
    counting.delete('alice');
    expect(await read()).toEqual([`${BASE}: -`]);
  });
});

describe('a signature that passes on another’s word', () => {
  it('counts no longer than that: a person’s key that is revoked', async () => {
    await commits([
      { tree: await tree('one'), by: 'k1', subject: 'install' },
      { tree: await tree('two'), by: 'alice', subject: 'by a person' },
    ]);
    expect(await read()).toEqual(['install: k1', 'by a person: k1']);
    const before = await stage.read('prod-eu');
    counting.delete('alice');
    expect(await read()).toEqual(['install: k1', 'by a person: -']);
    expect(await stage.read('prod-eu')).not.toBe(before);
    const settled = await stage.read('prod-eu');
    expect(await stage.read('prod-eu')).toBe(settled);
    await commits([{ tree: await tree('three'), by: 'k1', subject: 'next' }]);
    expect(await read()).toEqual(['install: k1', 'by a person: -', 'next: k1']);
  });

  it('counts no longer than that: a key that was rotated, after the projection was made anew', async () => {
    await commits([{ tree: await tree('one'), by: 'k1', subject: 'install' }]);
    await read();
    current = 'k2';
    await stage.dropProjection('prod-eu');
    expect(await read()).toEqual(['install: k2']);
    counting.delete('k1');
    expect(await read()).toEqual(['install: -']);
  });

  it('is known to rest on it after a crash in between, too, and where the note of it is lost', async () => {
    await commits([{ tree: await tree('one'), by: 'alice', subject: 'by a person' }]);
    expect(await read()).toEqual(['by a person: k1']);
    const file = join(stage.server.path('clusters/prod-eu'), 'projection.json');
    for (const lost of ['{"tip":', '{"tip":"","packs":1}']) {
      await writeFile(file, lost);
      counting.delete('alice');
      expect(await read()).toEqual(['by a person: -']);
      counting.add('alice');
      await stage.dropProjection('prod-eu');
      expect(await read()).toEqual(['by a person: k1']);
    }
  });

  it('is nobody else’s where each key signs for itself: a revocation rewrites nothing then', async () => {
    await commits([{ tree: await tree('one'), by: 'k1', subject: 'install' }]);
    await read();
    const before = await stage.read('prod-eu');
    current = 'k2';
    counting.delete('k1');
    expect(await stage.read('prod-eu')).toBe(before);
    await commits([{ tree: await tree('two'), by: 'k2', subject: 'next' }]);
    expect(await read()).toEqual(['install: k1', 'next: k2']);
  });
});

it('a commit stands for what it changed itself and for nothing that came in beside it', async () => {
  const start = await git(stage.work, ['rev-parse', 'HEAD']);
  const [old, known] = await commits([
    { tree: await tree('old'), subject: 'unsigned, and old' },
    { tree: await tree('new'), by: 'k1', subject: 'good' },
  ]);
  expect(await read()).toEqual(['unsigned, and old: -', 'good: k1']);
  // Its first parent is the old state, so it changes nothing there by itself; what is read since is its second one.
  await commits([
    { tree: await tree('old'), by: 'k1', subject: 'back again', parents: [old ?? start, known ?? start] },
    { tree: await tree('old', 'us again'), by: 'k1', subject: 'about another cluster' },
  ]);
  expect((await read()).at(-1)).toBe('about another cluster: -');
});
