import { setImmediate as turn } from 'node:timers/promises';
import { readProjectedCommit, SOURCE_TRAILER } from '../../../git/projection/projected-commit.ts';
import { trustedSigners, verifyCommit, type TrustedSigner } from '../../../git/signing/commit-signature.ts';
import type { GitTarget } from './git-target.ts';
import { CommitReader, type HistoryCommit, type Line } from './commit-reader.ts';
import type { Descent } from './descent.ts';
import type { GitCommand } from './git-command.ts';
import { gitFaultOf } from './git-fault.ts';
import type { Standing, TrustedStanding } from './trusted-standing.ts';

export interface CommitVerifierDeps {
  /** Runs in the copy. */
  readonly git: GitCommand;
  readonly standing: TrustedStanding;
  /** Deepens a copy that was made anew, until it shows what was trusted before. */
  readonly descent: Pick<Descent, 'isShown'>;
  /** The cluster's directory in the repository; empty for the whole of it. */
  readonly path: string;
}

/** Commits since the last time. More of them were not made by what delivers to a cluster. */
const MAX_COMMITS = 20_000;
/** Among so many the last trusted tip mostly is. */
const NEAR_COMMITS = 200;
/** Verified in one turn of the event loop. */
const TURN_COMMITS = 64;

/**
 * Says whether a fetched tip may be read: who signed what led to it. A signature at the tip is for its own change, made on
 * top of whatever stood there; so each commit since the last tip that was trusted, and that changes the cluster's
 * directory, must be signed. Merges count as what they bring to their first parent. Without a last one (a
 * fresh copy is one commit deep) the tip's signature alone says that the directory is as it should be. A copy that was made
 * anew is deepened down to the last one.
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
      await this.#deps.standing.forget();
      return undefined;
    }
    if (allowedSigners.length === 0) {
      return 'signed commits are required here, and the control plane names nobody whose signature counts: set git.requireSignedCommits of this cluster there';
    }
    const before = await this.#deps.standing.read();
    const trust = { signers: trustedSigners(allowedSigners), revision: trustedRevision };
    const found = await this.#judge(tip, before, trust, signal);
    if ('why' in found) {
      const revision = (await this.#commits.directories([tip], signal)).get(tip);
      return revision === undefined ? found.why : `${found.why}; the directory there is revision ${revision}`;
    }
    if (before?.tip !== tip || before.signed !== found.signed)
      await this.#deps.standing.write({ tip, signed: found.signed });
    return undefined;
  }

  async #judge(
    tip: string,
    before: Standing | undefined,
    trust: { readonly signers: readonly TrustedSigner[]; readonly revision: string | undefined },
    signal: AbortSignal,
  ): Promise<{ readonly signed: string } | { readonly why: string }> {
    const { signers } = trust;
    const since = await this.#since(before?.tip, tip, signal);
    const { commits, goesOn } = since;
    const refused = await refusedOf(commits, signers, signal);
    const asked = commits.filter(({ id }) => refused.has(id)).flatMap(({ id, parent }) => [id, parent ?? id]);
    const looked = trust.revision === undefined ? asked : [tip, ...asked];
    const directories = await this.#commits.directories(looked, signal);
    const isVouched = (id: string): boolean => trust.revision !== undefined && directories.get(id) === trust.revision;
    if (isVouched(tip)) return { signed: tip };
    // Who made what stands there cannot be told, whoever signed the tip.
    if (since.lost !== undefined) return { why: `commit ${short(tip)} ${lineLost(since.lost)}` };
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
   * what they do to the directory cannot be told from one to the next. A copy that was made anew is deepened; `lost` where
   * it still ends before anything is met that was trusted.
   */
  async #since(
    last: string | undefined,
    tip: string,
    signal: AbortSignal,
  ): Promise<{ readonly commits: readonly HistoryCommit[]; readonly goesOn: boolean; readonly lost?: string }> {
    if (last === tip) return { commits: [], goesOn: true };
    const [newest] = await this.#commits.read([tip], signal);
    if (newest === undefined) throw gitFaultOf(new Error(`commit ${tip} cannot be read`));
    if (last === undefined) return { commits: [newest], goesOn: false };
    const near = await this.#commits.line(tip, NEAR_COMMITS, signal);
    const at = near.ids.indexOf(last);
    if (at > 0) return { commits: await this.#commits.read(near.ids.slice(0, at), signal), goesOn: true };
    if (await this.#isCut(near, signal)) await this.#deps.descent.isShown(last, tip, signal);
    const line = await this.#commits.since(tip, last, MAX_COMMITS, signal);
    const commits = await this.#commits.read(line.ids, signal);
    if (await this.#isCut(line, signal)) return { commits, goesOn: false, lost: last };
    // The branch went back to what is behind the last one: its tip is looked at as one that is new.
    if (commits.length === 0) return { commits: [newest], goesOn: false };
    return { commits, goesOn: commits.at(-1)?.parent === last };
  }

  /** Whether the copy ends there, and the history does not. */
  async #isCut({ ids, ends }: Line, signal: AbortSignal): Promise<boolean> {
    const [oldest] = ends ? await this.#commits.read(ids.slice(-1), signal) : [];
    return oldest?.parent !== undefined;
  }

  /** Of a cluster's own repository with the commit that people know, the one of the shared repository. */
  #named({ id, bytes }: HistoryCommit): string {
    const source = this.#deps.path === '' ? readProjectedCommit(bytes)?.source : undefined;
    return source === undefined ? short(id) : `${short(id)} (${SOURCE_TRAILER} ${short(source)})`;
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

function lineLost(last: string): string {
  return `does not go on from ${short(last)}, which was trusted here last, as far as the repository shows`;
}

function short(id: string): string {
  return id.slice(0, 12);
}
