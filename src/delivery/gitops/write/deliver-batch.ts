import type { ScopeEntry } from '../../../git/embedded-host/git-access.ts';
import type { GitCredential } from '../../../git/git-credential.ts';
import { MissingObjectError } from '../../../git/branch-copy.ts';
import type { Rejected } from '../../../git/rejection.ts';
import { backoffMs, type BackoffPolicy } from '../../../runtime/backoff.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { DeliveryItem, Receipt, Review } from '../../delivery.ts';
import { ChainAttempt, refusedReceipt, type AttemptDeps, type Attempted } from './attempt-chain.ts';
import { ProposalAttempt } from './attempt-proposal.ts';
import { clusterDirectory } from '../layout.ts';
import type { PlannedCommit } from './plan-chain.ts';
import { REFUSED_BY_GIT_HOST } from './refusal-reasons.ts';

export interface DeliverBatchDeps extends AttemptDeps {
  readonly mintCredential: (scope: readonly ScopeEntry[], signal: AbortSignal) => Promise<GitCredential>;
  readonly random: () => number;
  readonly logger: Logger;
}

type Attempt = (group: readonly DeliveryItem[], credential: GitCredential, signal: AbortSignal) => Promise<Attempted>;
type Propose = Extract<Review, { kind: 'propose' }>;

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

/** Brings a batch to the branch: plan, push, and on a refusal or a moved tip plan anew. Not to be run twice at once. */
export class DeliverBatch {
  readonly #deps: DeliverBatchDeps;
  readonly #chain: ChainAttempt;
  readonly #proposal: ProposalAttempt;

  constructor(deps: DeliverBatchDeps) {
    this.#deps = deps;
    this.#chain = new ChainAttempt(deps);
    this.#proposal = new ProposalAttempt({ ...deps, chain: this.#chain });
  }

  /** Lands intents on the branch, in one push where nothing is in the way. One receipt for each. */
  async land(batch: readonly DeliveryItem[], signal: AbortSignal): Promise<readonly Receipt[]> {
    return await this.#run(batch, signal, async (...args) => await this.#chain.run(...args));
  }

  /** Brings one intent to the branch of its proposal. One receipt. */
  async propose(item: DeliveryItem, review: Propose, signal: AbortSignal): Promise<readonly Receipt[]> {
    return await this.#run([item], signal, async (_group, ...args) => await this.#proposal.run(item, review, ...args));
  }

  async #run(batch: readonly DeliveryItem[], signal: AbortSignal, attempt: Attempt): Promise<readonly Receipt[]> {
    const receipts: Receipt[] = [];
    const failures = { moved: 0, auth: 0, unavailable: 0, refused: 0 };
    let isNewCopy = false;
    // Parts of the batch that are pushed as one. A refused one is parted until the commit at fault is alone.
    const groups: DeliveryItem[][] = [[...batch]];
    let credential: { readonly value: GitCredential; readonly at: number } | undefined;
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      const now = this.#deps.clock.now().getTime();
      if (credential === undefined || now - credential.at > CREDENTIAL_MS) {
        credential = { value: await this.#deps.mintCredential(this.#scopeOf(batch), signal), at: now };
      }
      let attempted: Attempted;
      try {
        attempted = await attempt(group, credential.value, signal);
      } catch (error) {
        if (!(error instanceof MissingObjectError)) throw error;
        if (!isNewCopy) {
          this.#deps.logger.warn({ err: error }, 'the local copy of the branch is made anew');
          await this.#deps.writer.startOver();
          isNewCopy = true;
          groups.unshift(group);
          continue;
        }
        // It is missing at the host itself: whoever needs it waits alone, and the others go on without.
        const [first] = group;
        if (group.length > 1) groups.unshift(...halves(group));
        else if (first !== undefined)
          receipts.push({ state: 'retry', intentId: first.intent.id, message: error.message });
        continue;
      }
      const { failure, plan, done } = attempted;
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

  #scopeOf(batch: readonly DeliveryItem[]): readonly ScopeEntry[] {
    const scope = new Map<string, ScopeEntry>();
    for (const { target } of batch) {
      const directory = clusterDirectory(this.#deps.layout(), target.slug);
      scope.set(`${target.clusterId} ${directory}`, { clusterId: target.clusterId, directory });
    }
    return [...scope.values()];
  }
}

/** Which commits of a refused push are at fault, as far as its text says, and how to push the rest. */
function partRefused(
  commits: readonly PlannedCommit[],
  open: readonly DeliveryItem[],
  message: string,
): { readonly refused: readonly Receipt[]; readonly next: DeliveryItem[][] } {
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
  return { refused: [], next: halves(open) };
}

function halves(items: readonly DeliveryItem[]): DeliveryItem[][] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].filter((half) => half.length > 0);
}

/** Of a refusal that speaks of many commits, the line about this one. */
function textAbout(id: string, message: string): string {
  const line = message.split('\n').find((candidate) => candidate.includes(id));
  return (line ?? message).trim().slice(0, 2000);
}

function retryReceipt(intentId: string, failure: Rejected): Receipt {
  const message =
    failure.rejection === 'auth'
      ? `the Git credential is not active yet, or may not write here: ${failure.message}`
      : failure.message;
  return { state: 'retry', intentId, message: message.slice(0, 2000) };
}
