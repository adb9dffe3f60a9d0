/** A pull or merge request as its Git host has it now. */
export interface HostedProposal {
  readonly number: number;
  /** Where a person reads it. */
  readonly url: string;
  /**
   * `merged` is what the host says; whether it was merged as what was proposed, the branch says (the blobs that it holds).
   */
  readonly state: 'open' | 'closed' | 'merged';
  /** Head of its branch as the host knows it. */
  readonly headCommit?: string;
  /** Commit of the target branch that the host's merge made. */
  readonly mergeCommit?: string;
  /** Branch that it is merged into: people may point it at another one than it was opened for. */
  readonly targetBranch: string;
  /** Who closed or merged it, as the host names people. */
  readonly closedBy?: string;
}

/** What a pull or merge request is opened or rewritten with. */
export interface ProposalText {
  /** One line. */
  readonly title: string;
  /** Markdown. */
  readonly body: string;
}

export interface NewProposal extends ProposalText {
  /** Branch that it brings, without `refs/heads/`. It is there already. */
  readonly headBranch: string;
  readonly targetBranch: string;
}

/** What may be merged, and nothing else. */
export interface ApprovedMerge {
  readonly headCommit: string;
  readonly targetBranch: string;
}

/** Says of a request that points at another branch than it was opened for what to do; undefined: it does not. */
export function astrayText(
  title: string,
  request: Pick<HostedProposal, 'number' | 'targetBranch'>,
  branch: string,
): string | undefined {
  if (request.targetBranch === branch) return undefined;
  return `on ${title} its request ${request.number} goes into ${request.targetBranch} and not into ${branch}: point it back there, or close it; until then it is not merged`;
}

/**
 * A request right before it is merged: as it stands where it is merged already, else one that still goes where it was
 * approved for.
 *
 * @throws ProposalHostFault `refused`
 */
export function requireMergeable(
  host: { readonly title: string; readonly noun: string },
  asked: { readonly number: number; readonly targetBranch: string },
  found: HostedProposal | undefined,
): HostedProposal {
  const { title, noun } = host;
  if (found === undefined) throw new ProposalHostFault('refused', `${title} has no ${noun} ${asked.number}`);
  const astray = found.state === 'merged' ? undefined : astrayText(title, found, asked.targetBranch);
  if (astray !== undefined) throw new ProposalHostFault('refused', astray);
  return found;
}

/**
 * Pull and merge requests of one repository on its host. Every call is bounded in time and repeated with jitter where that
 * is safe; a credential is never in what is thrown.
 *
 * Each method may throw `ProposalHostFault`.
 */
export interface ProposalHost {
  /**
   * The open one of that head branch where there is one, brought up to the text; else a new one. A branch of the same name
   * in a fork is another branch.
   */
  open(proposal: NewProposal, signal: AbortSignal): Promise<HostedProposal>;
  /** Undefined: the host does not have it. */
  find(number: number, signal: AbortSignal): Promise<HostedProposal | undefined>;
  update(number: number, text: ProposalText, signal: AbortSignal): Promise<void>;
  comment(number: number, markdown: string, signal: AbortSignal): Promise<void>;
  /** Merges it only if it is still what was approved: that head, into that branch. Merged already is no fault. */
  merge(number: number, approved: ApprovedMerge, signal: AbortSignal): Promise<HostedProposal>;
  /**
   * Closes it without merging, the comment first where there is one. Closed, merged or gone already is no fault: the answer
   * says which.
   */
  close(number: number, comment: string | undefined, signal: AbortSignal): Promise<HostedProposal | undefined>;
}

/** Why a host did not do what it was asked for. */
export class ProposalHostFault extends Error {
  /**
   * `unavailable`: the same again may work; `forbidden`: the credential may not; `refused`: the host's rules are against it
   * (a missing approval, a failed check, a conflict); `moved`: the head is another commit than the one that was named.
   */
  readonly kind: 'unavailable' | 'forbidden' | 'refused' | 'moved';

  constructor(kind: ProposalHostFault['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProposalHostFault';
    this.kind = kind;
  }
}
