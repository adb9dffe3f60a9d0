import * as fs from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as isomorphic from 'isomorphic-git';
import http from 'isomorphic-git/http/node';
import { clusterDirectory, type RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { runGit } from '../../src/git/git-process.ts';
import type { Rendered } from '../../src/intent/rendered.ts';

/** What a user would write intents to Git with instead. Each pushes to a repository of its own through the same host. */
export interface Peer {
  readonly name: string;
  /** One intent to a commit on the remote. */
  readonly write: (rendered: Rendered) => Promise<void>;
}

export interface PeerDeps {
  readonly folder: string;
  /** With its credential in it, as such scripts have it. */
  readonly url: string;
  readonly layout: RepositoryLayout;
}

export const IDENTITY = { name: 'Bench', email: 'bench@example.test' };
const PERSON = {
  GIT_AUTHOR_NAME: IDENTITY.name,
  GIT_AUTHOR_EMAIL: IDENTITY.email,
  GIT_COMMITTER_NAME: IDENTITY.name,
  GIT_COMMITTER_EMAIL: IDENTITY.email,
};
const LONG_MS = 900_000;

/** Native git in a whole checkout that is kept. */
export async function warmCheckout({ folder, url, layout }: PeerDeps): Promise<Peer> {
  const checkout = join(folder, 'checkout');
  await runGit(['clone', '--quiet', url, checkout], { timeoutMs: LONG_MS });
  return {
    name: 'native git add, commit, push, kept warm',
    write: async (rendered) => await writeAndPush(checkout, layout, rendered),
  };
}

/** Native git in a checkout that is made for each write. */
export function cloneForEach({ folder, url, layout }: PeerDeps): Peer {
  const checkout = join(folder, 'clone');
  return {
    name: 'native git with a clone for each write',
    write: async (rendered) => {
      await runGit(['clone', '--quiet', url, checkout], { timeoutMs: LONG_MS });
      await writeAndPush(checkout, layout, rendered);
      await rm(checkout, { recursive: true });
    },
  };
}

/** isomorphic-git's own objects, commit and push in a bare clone that is kept, with its cache. */
export async function isomorphicPush({ folder, url, layout }: PeerDeps): Promise<Peer> {
  const gitdir = join(folder, 'isomorphic.git');
  await runGit(['clone', '--quiet', '--bare', url, gitdir], { timeoutMs: LONG_MS });
  const { username, password, origin, pathname } = new URL(url);
  const git = { fs, gitdir, cache: {} };
  const put = async (treeId: string | undefined, path: readonly string[], blob: string): Promise<string> => {
    const [name = '', ...rest] = path;
    const tree = treeId === undefined ? [] : (await isomorphic.readTree({ ...git, oid: treeId })).tree;
    const old = tree.find((entry) => entry.path === name);
    const oid = rest.length === 0 ? blob : await put(old?.type === 'tree' ? old.oid : undefined, rest, blob);
    const entry: isomorphic.TreeEntry =
      rest.length === 0
        ? { mode: '100644', path: name, oid, type: 'blob' }
        : { mode: '040000', path: name, oid, type: 'tree' };
    return await isomorphic.writeTree({ ...git, tree: [...tree.filter(({ path: other }) => other !== name), entry] });
  };
  return {
    name: "isomorphic-git's commit and push, kept warm",
    write: async (rendered) => {
      const parent = await isomorphic.resolveRef({ ...git, ref: 'refs/heads/main' });
      const blob = await isomorphic.writeBlob({ ...git, blob: Buffer.from(rendered.text) });
      const { commit } = await isomorphic.readCommit({ ...git, oid: parent });
      const tree = await put(commit.tree, pathOf(layout, rendered).split('/'), blob);
      const message = `${subjectOf(rendered)}\n\n${trailerOf(rendered)}\n`;
      await isomorphic.commit({ ...git, ref: 'refs/heads/main', tree, parent: [parent], message, author: IDENTITY });
      const answer = await isomorphic.push({
        ...git,
        http,
        url: `${origin}${pathname}`,
        ref: 'main',
        remoteRef: 'main',
        onAuth: () => ({ username, password }),
      });
      if (!answer.ok) throw new Error(`isomorphic-git: ${JSON.stringify(answer)}`);
    },
  };
}

async function writeAndPush(checkout: string, layout: RepositoryLayout, rendered: Rendered): Promise<void> {
  const path = pathOf(layout, rendered);
  await mkdir(dirname(join(checkout, path)), { recursive: true });
  await writeFile(join(checkout, path), rendered.text);
  const run = { cwd: checkout, env: PERSON, timeoutMs: LONG_MS };
  await runGit(['add', path], run);
  await runGit(['commit', '--quiet', '-m', subjectOf(rendered), '-m', trailerOf(rendered)], run);
  await runGit(['push', '--quiet', 'origin', 'main'], run);
}

function pathOf(layout: RepositoryLayout, { target }: Rendered): string {
  return `${clusterDirectory(layout, target.slug)}/apps/shop/podinfo.yaml`;
}

function subjectOf({ target }: Rendered): string {
  return `${target.slug}: update shop/podinfo`;
}

function trailerOf({ target }: Rendered): string {
  return `Cluster-Id: ${target.clusterId}`;
}
