import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { commitObject, signedCommit, type CommitSigner } from '../commit-object.ts';
import { runGit } from '../git-process.ts';

/** Settings of a bare repository. What protects it is set by environment on every request too (`SERVING_SETTINGS`). */
const REPOSITORY_SETTINGS: readonly (readonly [string, string])[] = [
  // Who moved the branch, when, from where: kept for repair, since nobody may rewrite it.
  ['core.logAllRefUpdates', 'true'],
  ['gc.auto', '0'],
  ['repack.writeBitmaps', 'false'],
];

/** Settings that hold for every request, whatever stands in the repository's own file. */
export const SERVING_SETTINGS: readonly (readonly [string, string])[] = [
  ['http.receivepack', 'true'],
  ['http.uploadpack', 'true'],
  ['http.getanyfile', 'false'],
  ['uploadpack.allowFilter', 'true'],
  ['receive.denyNonFastForwards', 'true'],
  ['receive.denyDeletes', 'true'],
  // Repacking is scheduled, so that no push pays for it.
  ['receive.autogc', 'false'],
  ['gc.auto', '0'],
  ['transfer.fsckObjects', 'true'],
  // No hook runs: what may be pushed is checked by the host itself.
  ['core.hooksPath', '/dev/null'],
  // A receipt says that the remote holds the commit: after a power failure too. Git alone syncs the branch, but not the
  // loose objects that it names.
  ['core.fsync', 'committed'],
  ['core.fsyncMethod', 'batch'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
];

const ROOT_README = `# Intent of clusters

Each directory under \`clusters/\` belongs to one cluster and holds what shall run there. A control plane writes it, one
commit for each intent; the operator in the cluster reads it. Review it with \`git log -p -- <directory>\`.
`;

/**
 * Makes the bare repository unless it is there, with a root commit that holds a README: so the branch always exists,
 * a clone is never empty, and the first intent is pushed in the same way as every other one. Two processes that do
 * this at once end with one of the two root commits.
 */
export async function setUpRepository(deps: {
  readonly path: string;
  readonly branch: string;
  readonly now: Date;
  /** Signs the root commit. */
  readonly sign?: CommitSigner | undefined;
}): Promise<void> {
  const { path, branch, now, sign } = deps;
  const ref = `refs/heads/${branch}`;
  await runGit(['check-ref-format', ref]);
  await mkdir(dirname(path), { recursive: true });
  if (!(await exists(join(path, 'HEAD')))) {
    // Built beside its place and moved there, so that a crash leaves no half a repository.
    const draft = `${path}.${randomUUID()}.new`;
    await runGit(['init', '--quiet', '--bare', `--initial-branch=${branch}`, '--template=', draft]);
    await mkdir(join(draft, 'info'), { recursive: true });
    for (const [key, value] of REPOSITORY_SETTINGS) await runGit(['config', key, value], { cwd: draft });
    try {
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!(await exists(join(path, 'HEAD')))) throw error;
    }
  }
  await writeRootCommit({ path, ref, now, sign });
}

async function writeRootCommit(deps: {
  readonly path: string;
  readonly ref: string;
  readonly now: Date;
  readonly sign: CommitSigner | undefined;
}): Promise<void> {
  const { path, ref, now, sign } = deps;
  const options = { cwd: path, env: { GIT_DIR: path } };
  const known = await runGit(['for-each-ref', '--format=%(objectname)', ref], options);
  if (known.length > 0) return;
  const identity = { name: 'Control plane', email: 'control-plane@service.invalid' };
  const id = (output: Buffer): string => output.toString('latin1').trim();
  const blob = id(await runGit(['hash-object', '-w', '--stdin'], { ...options, input: ROOT_README }));
  const tree = id(await runGit(['mktree'], { ...options, input: `100644 blob ${blob}\tREADME.md\n` }));
  const root = commitObject({ tree, parent: undefined, identity, at: now, message: 'Start the repository\n' });
  const { bytes } = await signedCommit(root, sign);
  const commit = id(await runGit(['hash-object', '-w', '-t', 'commit', '--stdin'], { ...options, input: bytes }));
  // Of the entry in the branch's log.
  const committer = { GIT_COMMITTER_NAME: identity.name, GIT_COMMITTER_EMAIL: identity.email };
  try {
    await runGit(['update-ref', ref, commit, '0'.repeat(40)], { cwd: path, env: { GIT_DIR: path, ...committer } });
  } catch (error) {
    // Another process was first: its root commit stands.
    if ((await runGit(['for-each-ref', '--format=%(objectname)', ref], options)).length === 0) throw error;
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
