import type { CommitSigner, Identity } from '../../../git/commit-object.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import type { Rejected } from '../../../git/rejection.ts';
import type { Rendered } from '../../../intent/rendered.ts';
import type { Clock } from '../../../runtime/clock.ts';
import type { DeliveryItem, Receipt } from '../../delivery.ts';
import type { BranchWriter } from './branch-writer.ts';
import { ExpiredTombstones } from './expired-tombstones.ts';
import { SOURCE_ANNOTATION } from '../../../resources/labels.ts';
import { clusterDirectory, manifestPath, type RepositoryLayout } from '../layout.ts';
import { planChain, type Plan, type PlanDeps } from './plan-chain.ts';
import { findCommitOfPath, findCommitsOfIntents } from './recognise-commit.ts';
import { SUPERSEDED } from '../../refusal-reasons.ts';

export interface AttemptDeps {
  readonly writer: BranchWriter;
  /** As it is when it is asked: it may be moved. */
  readonly layout: () => RepositoryLayout;
  readonly committer: Identity;
  readonly signCommit?: CommitSigner;
  readonly clock: Clock;
}

/** What one try at a part of a batch came to. */
export interface Attempted {
  readonly failure?: Rejected;
  readonly plan?: Plan;
  /** Of those that are settled, whatever becomes of the rest. */
  readonly done: readonly Receipt[];
}

const MAX_REMEMBERED = 20_000;

/** One try to land intents on the branch itself: plan on its tip, push, and find receipts. Not to be run twice at once. */
export class ChainAttempt {
  readonly #deps: AttemptDeps;
  readonly #tombstones = new ExpiredTombstones();
  /** Commit by intent, of what this process delivered and the remote still holds. */
  readonly #delivered = new Map<string, string>();

  constructor(deps: AttemptDeps) {
    this.#deps = deps;
  }

  async run(group: readonly DeliveryItem[], credential: GitCredential, signal: AbortSignal): Promise<Attempted> {
    const { writer } = this.#deps;
    const planned = await this.plan(group, credential, signal);
    if ('state' in planned) return { failure: planned, done: [] };
    const done = planned.refused.map(({ rendered, refusal }): Receipt => refusedReceipt(rendered.intent.id, refusal));
    const next = planned.tip.commit;
    if (planned.commits.length > 0 && next !== undefined) {
      const objects = planned.commits.flatMap((commit) => commit.objects);
      const pushed = await writer.push({ commit: next, root: planned.tip.root }, objects, credential, signal);
      if (pushed.state === 'rejected') return { failure: pushed, plan: planned, done };
      for (const { rendered, id } of planned.commits) this.#remember(rendered, id);
    }
    return { plan: planned, done: [...done, ...(await this.settle(planned, signal))] };
  }

  /** What the intents mean for the branch as the host has it. */
  async plan(
    group: readonly DeliveryItem[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<(Plan & { readonly base: string | undefined }) | Rejected> {
    const { writer, clock } = this.#deps;
    const known = await writer.tip(credential, signal);
    if (known.state === 'rejected') return known;
    if (known.value.rewritten) this.#delivered.clear();
    const { tip } = known.value;
    const deps: PlanDeps = {
      ...this.#deps,
      layout: this.#deps.layout(),
      reader: writer.copy,
      tombstones: this.#tombstones,
      now: clock.now(),
    };
    return { ...(await planChain(deps, tip, group)), base: tip.commit };
  }

  /** Receipts once the remote holds the plan's tip; those that were refused in the plan have theirs already. */
  async settle(plan: Plan, signal: AbortSignal): Promise<readonly Receipt[]> {
    const receipts: Receipt[] = [];
    const delivered = (rendered: Rendered, commit: string): Receipt => ({
      state: 'delivered',
      intentId: rendered.intent.id,
      mode: 'gitops',
      commit,
      revision: plan.directories.get(clusterDirectory(this.#deps.layout(), rendered.target.slug)) ?? '',
    });
    for (const { rendered, id } of plan.commits) receipts.push(delivered(rendered, id));
    for (const { rendered, message } of plan.moved) {
      receipts.push({ state: 'moved', intentId: rendered.intent.id, message });
    }
    const asked = [...plan.unchanged, ...plan.superseded.map((rendered) => ({ rendered, path: undefined }))];
    const known = await this.#recognise(plan, asked, signal);
    for (const { rendered, path } of asked) {
      const { id } = rendered.intent;
      const commit = known.get(id);
      if (commit !== undefined) {
        receipts.push(delivered(rendered, commit));
      } else if (path === undefined) {
        const file = `${clusterDirectory(this.#deps.layout(), rendered.target.slug)}/${manifestPath(rendered)}`;
        const message =
          'the repository already holds a newer generation of this object; nothing was overwritten. ' +
          `If nobody asked for one, correct the annotation ${SOURCE_ANNOTATION} in ${file} (or the pair in its tombstone) and ask again`;
        receipts.push(refusedReceipt(id, { reason: SUPERSEDED, message }));
      } else {
        receipts.push({ state: 'retry', intentId: id, message: `no commit of the branch explains ${path}` });
      }
    }
    return receipts;
  }

  /**
   * The commits that brought what is there: by their trailers, all at once, and else by what last changed the path. An intent
   * that is handed over may have been brought here long ago, under another epoch: it counts by what stands there alone.
   */
  async #recognise(
    plan: Plan,
    asked: readonly { readonly rendered: DeliveryItem; readonly path: string | undefined }[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const known = new Map<string, string>();
    const { copy } = this.#deps.writer;
    const tip = plan.tip.commit;
    for (const { rendered } of asked) {
      const commit = rendered.isHandover === true ? undefined : this.#delivered.get(rendered.intent.id);
      if (commit !== undefined) known.set(rendered.intent.id, commit);
    }
    const unknown = asked.filter(({ rendered }) => !known.has(rendered.intent.id));
    if (tip === undefined || unknown.length === 0) return known;
    const firstTime = unknown.filter(({ rendered }) => rendered.isHandover !== true);
    const intents = firstTime.map(({ rendered }) => rendered.intent);
    const byTrailer = await findCommitsOfIntents(copy, tip, intents, signal);
    for (const { rendered, path } of unknown) {
      const { id } = rendered.intent;
      const commit =
        byTrailer.get(id) ?? (path === undefined ? undefined : await findCommitOfPath(copy, tip, path, signal));
      if (commit === undefined) continue;
      known.set(id, commit);
      this.#remember(rendered, commit);
    }
    return known;
  }

  #remember({ intent: { id: intentId }, isHandover }: DeliveryItem, commit: string): void {
    // Under another epoch the same intent is another commit.
    if (isHandover === true) return;
    if (this.#delivered.size >= MAX_REMEMBERED) this.#delivered.clear();
    this.#delivered.set(intentId, commit);
  }
}

export function refusedReceipt(
  intentId: string,
  refusal: { readonly reason: string; readonly message: string },
): Receipt {
  return { state: 'refused', intentId, ...refusal };
}
