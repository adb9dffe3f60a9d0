import type { CommitSigner, Identity } from '../../git/commit-object.ts';
import type { ScopeEntry } from '../../git/embedded-host/git-access.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { MissingObjectError } from '../../git/branch-copy.ts';
import type { Answered } from '../../git/receive-pack.ts';
import type { Rendered } from '../../intent/rendered.ts';
import { backoffMs, type BackoffPolicy } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Receipt } from '../delivery.ts';
import type { BranchWriter } from './branch-writer.ts';
import { ExpiredTombstones } from './expired-tombstones.ts';
import { clusterDirectory, type RepositoryLayout } from './layout.ts';
import { planChain, type Plan, type PlannedCommit } from './plan-chain.ts';
import { findCommitOfIntent, findCommitOfPath } from './recognise-commit.ts';
import { REFUSED_BY_GIT_HOST, SUPERSEDED } from './refusal-reasons.ts';

export interface DeliverBatchDeps {
  readonly writer: BranchWriter;
  readonly layout: RepositoryLayout;
  readonly mintCredential: (scope: readonly ScopeEntry[], signal: AbortSignal) => Promise<GitCredential>;
  readonly committer: Identity;
  readonly signCommit?: CommitSigner;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

type Failure = Extract<Answered<never>, { state: 'rejected' }>;

/** How often each kind of failure is met in one batch before what is left is told to come back later. */
const ATTEMPTS = { moved: 60, auth: 6, unavailable: 4, refused: 40 } as const;
const WAITS = {
  // Short at first: the next tip is there already. Then long enough to keep twenty writers apart.
  moved: { minMs: 10, maxMs: 1500 },
  // Hosts answer 404 for the first seconds of a new token.
  auth: { minMs: 250, maxMs: 4000 },
  unavailable: { minMs: 250, maxMs: 4000 },
} as const satisfies Record<string, BackoffPolicy>;
/** A credential lives for a minute; one this old is not used for another push. */
const CREDENTIAL_MS = 30_000;
const MAX_REMEMBERED = 20_000;

/** Brings a batch to the branch: plan, push, and on a refusal or a moved tip plan anew. Not to be run twice at once. */
export class DeliverBatch {
  readonly #deps: DeliverBatchDeps;
  readonly #tombstones = new ExpiredTombstones();
  /** Commit by intent, of what this process delivered and the remote still holds. */
  readonly #delivered = new Map<string, string>();

  constructor(deps: DeliverBatchDeps) {
    this.#deps = deps;
  }

  /** One receipt for each intent of the batch. */
  async run(batch: readonly Rendered[], signal: AbortSignal): Promise<readonly Receipt[]> {
    const receipts: Receipt[] = [];
    const failures = { moved: 0, auth: 0, unavailable: 0, refused: 0 };
    // Parts of the batch that are pushed as one. A refused one is parted until the commit at fault is alone.
    const groups: Rendered[][] = [[...batch]];
    let credential: { readonly value: GitCredential; readonly at: number } | undefined;
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      const now = this.#deps.clock.now().getTime();
      if (credential === undefined || now - credential.at > CREDENTIAL_MS) {
        credential = { value: await this.#deps.mintCredential(this.#scopeOf(batch), signal), at: now };
      }
      const { failure, plan, done } = await this.#attempt(group, credential.value, signal);
      receipts.push(...done);
      const settled = new Set(done.map(({ intentId }) => intentId));
      const open = group.filter(({ intent }) => !settled.has(intent.id));
      if (failure === undefined || open.length === 0) continue;
      failures[failure.rejection] += 1;
      if (failures[failure.rejection] >= ATTEMPTS[failure.rejection]) {
        const left = [...open, ...groups.flat()];
        this.#deps.logger.warn({ rejection: failure.rejection, intents: left.length }, failure.message);
        return [...receipts, ...left.map(({ intent }): Receipt => retryReceipt(intent.id, failure))];
      }
      if (failure.rejection === 'refused') {
        const { refused, next } = partRefused(plan?.commits ?? [], open, failure.message);
        receipts.push(...refused);
        groups.unshift(...next);
        continue;
      }
      groups.unshift(open);
      await this.#deps.clock.sleep(
        backoffMs(WAITS[failure.rejection], failures[failure.rejection], this.#deps.random),
        signal,
      );
    }
    return receipts;
  }

  async #attempt(
    group: readonly Rendered[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<{ readonly failure?: Failure; readonly plan?: Plan; readonly done: readonly Receipt[] }> {
    const { writer } = this.#deps;
    try {
      const known = await writer.tip(credential, signal);
      if (known.state === 'rejected') return { failure: known, done: [] };
      if (known.value.rewritten) this.#delivered.clear();
      const plan = await planChain(
        { ...this.#deps, reader: writer.copy, tombstones: this.#tombstones, now: this.#deps.clock.now() },
        known.value.tip,
        group,
      );
      const done = plan.refused.map(({ rendered, refusal }): Receipt => refusedReceipt(rendered.intent.id, refusal));
      const next = plan.tip.commit;
      if (plan.commits.length > 0 && next !== undefined) {
        const objects = plan.commits.flatMap((commit) => commit.objects);
        const pushed = await writer.push({ commit: next, root: plan.tip.root }, objects, credential, signal);
        if (pushed.state === 'rejected') return { failure: pushed, plan, done };
        for (const { rendered, id } of plan.commits) this.#remember(rendered.intent.id, id);
      }
      return { plan, done: [...done, ...(await this.#settle(plan, signal))] };
    } catch (error) {
      if (!(error instanceof MissingObjectError)) throw error;
      this.#deps.logger.warn({ err: error }, 'the local copy of the branch is made anew');
      await writer.startOver();
      return { failure: { state: 'rejected', rejection: 'unavailable', message: error.message }, done: [] };
    }
  }

  /** Receipts once the remote holds the plan's tip. */
  async #settle(plan: Plan, signal: AbortSignal): Promise<readonly Receipt[]> {
    const receipts: Receipt[] = [];
    const delivered = (rendered: Rendered, commit: string): Receipt => ({
      state: 'delivered',
      intentId: rendered.intent.id,
      mode: 'gitops',
      commit,
      revision: plan.directories.get(clusterDirectory(this.#deps.layout, rendered.target.slug)) ?? '',
    });
    for (const { rendered, id } of plan.commits) receipts.push(delivered(rendered, id));
    for (const { rendered, path } of plan.unchanged) {
      const commit = await this.#recognise(plan, rendered, path, signal);
      receipts.push(
        commit === undefined
          ? { state: 'retry', intentId: rendered.intent.id, message: `no commit of the branch explains ${path}` }
          : delivered(rendered, commit),
      );
    }
    for (const rendered of plan.superseded) {
      const commit = await this.#recognise(plan, rendered, undefined, signal);
      const message = 'the repository already holds a newer generation of this object; nothing was overwritten';
      receipts.push(
        commit === undefined
          ? refusedReceipt(rendered.intent.id, { reason: SUPERSEDED, message })
          : delivered(rendered, commit),
      );
    }
    return receipts;
  }

  async #recognise(
    plan: Plan,
    rendered: Rendered,
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const known = this.#delivered.get(rendered.intent.id);
    const tip = plan.tip.commit;
    if (known !== undefined || tip === undefined) return known;
    const { copy } = this.#deps.writer;
    const byTrailer = await findCommitOfIntent(copy, tip, rendered, signal);
    const found = byTrailer ?? (path === undefined ? undefined : await findCommitOfPath(copy, tip, path, signal));
    if (found !== undefined) this.#remember(rendered.intent.id, found);
    return found;
  }

  #remember(intentId: string, commit: string): void {
    if (this.#delivered.size >= MAX_REMEMBERED) this.#delivered.clear();
    this.#delivered.set(intentId, commit);
  }

  #scopeOf(batch: readonly Rendered[]): readonly ScopeEntry[] {
    const scope = new Map<string, ScopeEntry>();
    for (const { target } of batch) {
      const directory = clusterDirectory(this.#deps.layout, target.slug);
      scope.set(`${target.clusterId} ${directory}`, { clusterId: target.clusterId, directory });
    }
    return [...scope.values()];
  }
}

/** Which commits of a refused push are at fault, as far as its text says, and how to push the rest. */
function partRefused(
  commits: readonly PlannedCommit[],
  open: readonly Rendered[],
  message: string,
): { readonly refused: readonly Receipt[]; readonly next: Rendered[][] } {
  const named = commits.filter(({ id }) => message.includes(id));
  const culprits = named.length > 0 ? named : commits.length === 1 ? commits : [];
  if (culprits.length > 0) {
    const ids = new Set(culprits.map(({ rendered }) => rendered.intent.id));
    const rest = open.filter(({ intent }) => !ids.has(intent.id));
    return {
      refused: culprits.map(({ rendered, id }) =>
        refusedReceipt(rendered.intent.id, { reason: REFUSED_BY_GIT_HOST, message: textAbout(id, message) }),
      ),
      next: rest.length === 0 ? [] : [rest],
    };
  }
  const middle = Math.ceil(open.length / 2);
  return { refused: [], next: [open.slice(0, middle), open.slice(middle)].filter((half) => half.length > 0) };
}

/** Of a refusal that speaks of many commits, the line about this one. */
function textAbout(id: string, message: string): string {
  const line = message.split('\n').find((candidate) => candidate.includes(id));
  return (line ?? message).trim().slice(0, 2000);
}

function refusedReceipt(intentId: string, refusal: { readonly reason: string; readonly message: string }): Receipt {
  return { state: 'refused', intentId, ...refusal };
}

function retryReceipt(intentId: string, failure: Failure): Receipt {
  const message =
    failure.rejection === 'auth'
      ? `the Git credential is not active yet, or may not write here: ${failure.message}`
      : failure.message;
  return { state: 'retry', intentId, message: message.slice(0, 2000) };
}
