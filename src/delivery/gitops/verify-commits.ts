import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { readProjectedCommit, SOURCE_TRAILER } from '../../git/projection/projected-commit.ts';
import { trustedSigners, verifyCommit, type TrustedSigner } from '../../git/signing/commit-signature.ts';
import type { GitTarget } from './git-target.ts';
import { CommitReader, type HistoryCommit } from './commit-reader.ts';
import type { GitCommand } from './git-command.ts';
import { gitFaultOf } from './git-fault.ts';

export interface CommitVerifierDeps {
  /** Runs in the copy. */
  readonly git: GitCommand;
  /** Of the copy, with `.git` in it. */
  readonly directory: string;
  /** The cluster's directory in the repository; empty for the whole of it. */
  readonly path: string;
}

/** What was found to be trusted last. In the copy, so that it outlives the process and goes with the copy. */
interface Standing {
  readonly tip: string;
  /** The commit whose signature the directory at `tip` stands on. */
  readonly signed: string;
}

const STANDING_FILE = 'service-verified';
/** Commits since the last time. More of them were not made by what delivers to a cluster. */
const MAX_COMMITS = 20_000;
/** Verified in one turn of the event loop. */
const TURN_COMMITS = 64;

/**
 * Says whether a fetched tip may be read: who signed what led to it. A signature at the tip is for its own change, made on
 * top of whatever stood there; so each commit since the last tip that was trusted, and that changes the cluster's
 * directory, must be signed. Merges count as what they bring to their first parent. Without a last one (a fresh copy is
 * one commit deep) the tip's signature alone says that the directory is as it should be.
 */
export class CommitVerifier {
  readonly #deps: CommitVerifierDeps;
  readonly #commits: CommitReader;

  constructor(deps: CommitVerifierDeps) {
    this.#deps = deps;
    this.#commits = new CommitReader(deps);
  }

  /** Why nothing of this tip may be read, as a sentence without its end; undefined when it may. @throws GitFault */
  async refusal(
    tip: string,
    target: Pick<GitTarget, 'allowedSigners' | 'trustedRevision'>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { allowedSigners, trustedRevision } = target;
    // Nobody looks at signatures: what was trusted before says nothing about what comes once somebody does.
    if (allowedSigners === undefined) {
      await rm(this.#file, { force: true });
      return undefined;
    }
    if (allowedSigners.length === 0) {
      return 'signed commits are required here, and the control plane names nobody whose signature counts: set git.requireSignedCommits of this cluster there';
    }
    const before = await this.#standing();
    const trust = { signers: trustedSigners(allowedSigners), revision: trustedRevision };
    const found = await this.#judge(tip, before, trust, signal);
    if ('why' in found) {
      const revision = (await this.#commits.directories([tip], signal)).get(tip);
      return revision === undefined ? found.why : `${found.why}; the directory there is revision ${revision}`;
    }
    if (before?.tip !== tip || before.signed !== found.signed) await this.#remember({ tip, signed: found.signed });
    return undefined;
  }

  async #judge(
    tip: string,
    before: Standing | undefined,
    trust: { readonly signers: readonly TrustedSigner[]; readonly revision: string | undefined },
    signal: AbortSignal,
  ): Promise<{ readonly signed: string } | { readonly why: string }> {
    const { signers } = trust;
    const { commits, goesOn } = await this.#since(before?.tip, tip, signal);
    const refused = await refusedOf(commits, signers, signal);
    const asked = commits.filter(({ id }) => refused.has(id)).flatMap(({ id, parent }) => [id, parent ?? id]);
    const looked = trust.revision === undefined ? asked : [tip, ...asked];
    const directories = await this.#commits.directories(looked, signal);
    const isVouched = (id: string): boolean => trust.revision !== undefined && directories.get(id) === trust.revision;
    if (isVouched(tip)) return { signed: tip };
    let signed: string | undefined;
    for (const commit of commits) {
      const why = refused.get(commit.id);
      if (why === undefined) {
        signed ??= commit.id;
        continue;
      }
      // All that is below it led to this, which a person looked at.
      if (isVouched(commit.id)) return { signed: signed ?? commit.id };
      const isElsewhere = commit.parent !== undefined && directories.get(commit.id) === directories.get(commit.parent);
      if (!goesOn || !isElsewhere)
        return { why: sentence(this.#named(commit), why, commit.id === tip ? undefined : tip) };
    }
    if (signed !== undefined || before === undefined) return { signed: signed ?? tip };
    // Nothing has changed here: what it stood on must still count, as a key may have been revoked since.
    const [standing] = await this.#commits.read([before.signed], signal);
    if (standing === undefined) return { why: `commit ${short(tip)} rests on one that is not there any more` };
    const verdict = verifyCommit(standing.bytes, signers);
    if (verdict.state === 'trusted') return { signed: standing.id };
    return { why: sentence(this.#named(standing), verdict.why, standing.id === tip ? undefined : tip) };
  }

  /**
   * Commits from the tip down its first parents to the last trusted tip, without that one. `goesOn` is false where they do
   * not lead there, because the branch was rewritten or merged the other way round: then each of them must be signed, as
   * what they do to the directory cannot be told from one to the next.
   */
  async #since(
    last: string | undefined,
    tip: string,
    signal: AbortSignal,
  ): Promise<{ readonly commits: readonly HistoryCommit[]; readonly goesOn: boolean }> {
    if (last === tip) return { commits: [], goesOn: true };
    const [newest] = await this.#commits.read([tip], signal);
    if (newest === undefined) throw gitFaultOf(new Error(`commit ${tip} cannot be read`));
    if (last === undefined) return { commits: [newest], goesOn: false };
    if (newest.parent === last) return { commits: [newest], goesOn: true };
    const ids = await this.#commits.firstParents(tip, last, MAX_COMMITS, signal);
    const commits = await this.#commits.read(ids, signal);
    // The branch went back to what is behind the last one: its tip is looked at as one that is new.
    if (commits.length === 0) return { commits: [newest], goesOn: false };
    return { commits, goesOn: commits.at(-1)?.parent === last };
  }

  /** Of a cluster's own repository with the commit that people know, the one of the shared repository. */
  #named({ id, bytes }: HistoryCommit): string {
    const source = this.#deps.path === '' ? readProjectedCommit(bytes)?.source : undefined;
    return source === undefined ? short(id) : `${short(id)} (${SOURCE_TRAILER} ${short(source)})`;
  }

  get #file(): string {
    return join(this.#deps.directory, '.git', STANDING_FILE);
  }

  async #standing(): Promise<Standing | undefined> {
    const [tip, signed] = (await readFile(this.#file, 'utf8').catch(() => '')).trim().split(' ');
    return tip === undefined || signed === undefined || tip === '' ? undefined : { tip, signed };
  }

  async #remember({ tip, signed }: Standing): Promise<void> {
    await writeFile(this.#file, `${tip} ${signed}\n`);
  }
}

/** Why each commit that no signer vouches for does not count, by id. */
async function refusedOf(
  commits: readonly HistoryCommit[],
  signers: readonly TrustedSigner[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const refused = new Map<string, string>();
  for (const [index, { id, bytes }] of commits.entries()) {
    if (index % TURN_COMMITS === TURN_COMMITS - 1) await turn(undefined, { signal });
    const verdict = verifyCommit(bytes, signers);
    if (verdict.state === 'refused') refused.set(id, verdict.why);
  }
  return refused;
}

function sentence(commit: string, why: string, tip: string | undefined): string {
  const where = tip === undefined ? '' : `, on which the tip ${short(tip)} rests,`;
  return `commit ${commit}${where} ${why}`;
}

function short(id: string): string {
  return id.slice(0, 12);
}
