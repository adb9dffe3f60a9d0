import { isObjectId } from '../../../git/git-object.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import type { DeliveryItem, Review } from '../../delivery.ts';
import { refusedReceipt, type Attempted, type AttemptDeps, type ChainAttempt } from './attempt-chain.ts';
import type { PlannedCommit } from './plan-chain.ts';
import { PROPOSAL_BRANCH_TAKEN } from './refusal-reasons.ts';

type Propose = Extract<Review, { kind: 'propose' }>;

interface ProposedHead {
  readonly intentId: string;
  readonly committer: string;
  readonly parents: string;
  readonly tree: string;
}

/**
 * One try to bring an intent to a branch of its own, as the one commit that it would be on the shared branch now. The
 * proposal branch goes from the head that was looked at to the new one by compare-and-swap, and only if that head is ours:
 * what a person has pushed there is never overwritten.
 */
export class ProposalAttempt {
  readonly #deps: AttemptDeps & { readonly chain: ChainAttempt };

  constructor(deps: AttemptDeps & { readonly chain: ChainAttempt }) {
    this.#deps = deps;
  }

  async run(item: DeliveryItem, review: Propose, credential: GitCredential, signal: AbortSignal): Promise<Attempted> {
    const { writer, chain } = this.#deps;
    const plan = await chain.plan([item], credential, signal);
    if ('state' in plan) return { failure: plan, done: [] };
    const [commit] = plan.commits;
    if (commit === undefined) {
      const refused = plan.refused.map(({ refusal }) => refusedReceipt(item.intent.id, refusal));
      return { plan, done: [...refused, ...(await chain.settle(plan, signal))] };
    }
    const found = await writer.branchHead(review.branch, credential, signal);
    if (found.state === 'rejected') return { failure: found, plan, done: [] };
    const head = found.value;
    if (head !== undefined) {
      const known = await this.#read(head, signal);
      if (head !== review.replaces && !this.#isOurs(known, item)) {
        const message = `the branch ${review.branch} holds work that is not the control plane's (${head}); delete the branch, or rename it, and ask again`;
        return { plan, done: [refusedReceipt(item.intent.id, { reason: PROPOSAL_BRANCH_TAKEN, message })] };
      }
      if (this.#isOurs(known, item) && known?.tree === commit.root && known.parents === (plan.base ?? '')) {
        return { plan, done: [proposed(review, commit, plan.base, head)] };
      }
    }
    const pushed = await writer.moveBranch(
      { branch: review.branch, before: head, after: commit.id, objects: commit.objects },
      credential,
      signal,
    );
    if (pushed.state === 'rejected') return { failure: pushed, plan, done: [] };
    return { plan, done: [proposed(review, commit, plan.base, commit.id)] };
  }

  /** Undefined: it is not in the copy. */
  async #read(head: string, signal: AbortSignal): Promise<ProposedHead | undefined> {
    const format = '%cn <%ce>%n%P%n%T%n%(trailers:key=Intent-Id,valueonly,unfold,separator=%x2C)';
    const args = ['log', '-1', '--no-color', '--no-decorate', '--no-show-signature', '--no-mailmap'];
    const output = await this.#deps.writer.copy.query([...args, `--format=${format}`, head, '--'], signal);
    const [committer = '', parents = '', tree = '', intentId = ''] = output.split('\n');
    return isObjectId(tree) ? { committer, parents, tree, intentId } : undefined;
  }

  #isOurs(head: ProposedHead | undefined, item: DeliveryItem): boolean {
    const { name, email } = this.#deps.committer;
    return head?.intentId === item.intent.id && head.committer === `${name} <${email}>`;
  }
}

function proposed(
  review: Propose,
  commit: PlannedCommit,
  base: string | undefined,
  head: string,
): Attempted['done'][number] {
  return {
    state: 'proposed',
    intentId: commit.rendered.intent.id,
    branch: review.branch,
    title: commit.subject,
    ...(base === undefined ? {} : { base }),
    head,
    pins: commit.pins,
  };
}
