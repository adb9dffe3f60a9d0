import { Type, type Static } from 'typebox';
import {
  requireMergeable,
  type ProposalHostFault,
  type ApprovedMerge,
  type HostedProposal,
  type NewProposal,
  type ProposalText,
} from './proposal-host.ts';
import { HostClient, type HostAnswer, type HostApi } from './host-client.ts';
import { hostShape } from './host-shape.ts';
import { PAGE_SIZE, readChanges, type ChangeCursor, type Changes, type PolledHost } from './polled-host.ts';

const User = Type.Union([Type.Null(), Type.Object({ username: Type.String() })]);
const Commit = Type.Optional(Type.Union([Type.Null(), Type.String()]));

const MergeRequest = Type.Object({
  iid: Type.Integer({ minimum: 1 }),
  web_url: Type.String(),
  /** `opened`, `closed`, `merged`, or `locked` for the moment in which it is merged. */
  state: Type.String(),
  updated_at: Type.String(),
  target_branch: Type.String(),
  target_project_id: Type.Integer(),
  /** Another project for one of a fork; null where that was deleted. */
  source_project_id: Type.Union([Type.Null(), Type.Integer()]),
  sha: Commit,
  merge_commit_sha: Commit,
  squash_commit_sha: Commit,
  /** Since GitLab 14.7; `merged_by` before. */
  merge_user: Type.Optional(User),
  merged_by: Type.Optional(User),
  closed_by: Type.Optional(User),
  /** Since GitLab 15.6. */
  detailed_merge_status: Type.Optional(Type.String()),
});
type MergeRequest = Static<typeof MergeRequest>;

const parseRequest = hostShape('GitLab', MergeRequest);
const parseRequests = hostShape('GitLab', Type.Array(MergeRequest));

/** Passing states: GitLab is still finding out (docs.gitlab.com/api/merge_requests, "Merge status"). */
const FINDING_OUT = ['unchecked', 'checking', 'preparing', 'approvals_syncing'];

const HOST = { title: 'GitLab', noun: 'merge request' } as const;

/**
 * Merge requests of GitLab (docs.gitlab.com/api/merge_requests, …/api/notes, …/api/merge_request_approvals, API v4). One
 * source branch has one open merge request into a target at the most; a second is refused with 409. How it is merged is a
 * setting of the project.
 */
export class GitlabHost implements PolledHost {
  readonly repository: string;
  readonly #client: HostClient;
  readonly #base: string;

  constructor(api: HostApi) {
    this.repository = `${api.owner}/${api.name}`;
    this.#base = `/projects/${encodeURIComponent(this.repository)}/merge_requests`;
    this.#client = new HostClient(api, {
      title: 'GitLab',
      headers: { accept: 'application/json' },
      // Project, group and personal tokens are taken so too (docs.gitlab.com/api/rest/authentication).
      authorization: (token) => `Bearer ${token}`,
      needs: "the scope 'api' and the role Developer, or Maintainer where the branch is protected",
    });
  }

  async open(proposal: NewProposal, signal: AbortSignal): Promise<HostedProposal> {
    const { title, body: description, headBranch, targetBranch } = proposal;
    const known = await this.#ofBranch(headBranch, targetBranch, signal);
    if (known !== undefined) {
      await this.update(known.iid, proposal, signal);
      return describe(known);
    }
    const body = { title, description, source_branch: headBranch, target_branch: targetBranch };
    const created = await this.#client.call({ method: 'POST', path: this.#base, body, takes: [201, 409] }, signal);
    if (created.status === 201) return describe(parseRequest(created.body));
    const meanwhile = await this.#ofBranch(headBranch, targetBranch, signal);
    if (meanwhile !== undefined) return describe(meanwhile);
    throw this.#client.fault('refused', 'does not open the merge request', created);
  }

  async find(number: number, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const request = await this.#get(number, signal);
    return request === undefined ? undefined : describe(request);
  }

  async update(number: number, { title, body }: ProposalText, signal: AbortSignal): Promise<void> {
    await this.#edit(number, { title, description: body }, signal);
  }

  async comment(number: number, markdown: string, signal: AbortSignal): Promise<void> {
    const path = `${this.#base}/${number}/notes`;
    await this.#client.call({ method: 'POST', path, body: { body: markdown }, takes: [201] }, signal);
  }

  async merge(
    number: number,
    { headCommit, targetBranch }: ApprovedMerge,
    signal: AbortSignal,
  ): Promise<HostedProposal> {
    const known = requireMergeable(HOST, { number, targetBranch }, await this.find(number, signal));
    if (known.state === 'merged') return known;
    const merged = await this.#client.call(
      {
        method: 'PUT',
        path: `${this.#base}/${number}/merge`,
        body: { sha: headCommit },
        takes: [200, 401, 405, 406, 409, 422],
      },
      signal,
    );
    if (merged.status === 200) return describe(parseRequest(merged.body));
    throw await this.#refusal(number, headCommit, merged, signal);
  }

  async close(number: number, comment: string | undefined, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const known = await this.find(number, signal);
    if (known?.state !== 'open') return known;
    if (comment !== undefined) await this.comment(number, comment, signal);
    return describe(parseRequest((await this.#edit(number, { state_event: 'close' }, signal)).body));
  }

  async changes(cursor: ChangeCursor, signal: AbortSignal): Promise<Changes> {
    return await readChanges(cursor, async (page, etag) => {
      const query = {
        state: 'all',
        scope: 'all',
        order_by: 'updated_at',
        sort: 'desc',
        per_page: String(PAGE_SIZE),
        page: String(page),
      };
      const got = await this.#client.call({ method: 'GET', path: this.#base, query, etag, takes: [200, 304] }, signal);
      if (got.status === 304) return 'same';
      const items = parseRequests(got.body).map((request) => ({ ...describe(request), changedAt: request.updated_at }));
      return { items, etag: got.etag };
    });
  }

  /** The statuses say little and have changed over the versions; the merge request itself says what is missing. */
  async #refusal(
    number: number,
    headCommit: string,
    answer: HostAnswer,
    signal: AbortSignal,
  ): Promise<ProposalHostFault> {
    if (answer.status === 401) {
      return this.#client.fault('forbidden', 'does not let the credential merge into this branch', answer);
    }
    const now = await this.#get(number, signal);
    if (now?.sha !== headCommit) return this.#client.fault('moved', 'has another head of the merge request', answer);
    const status = now.detailed_merge_status;
    const isPassing = answer.status === 409 || (status !== undefined && FINDING_OUT.includes(status));
    const why = status === undefined ? '' : ` (${status})`;
    return this.#client.fault(isPassing ? 'unavailable' : 'refused', `does not merge the merge request${why}`, answer);
  }

  async #get(number: number, signal: AbortSignal): Promise<MergeRequest | undefined> {
    const got = await this.#client.call({ method: 'GET', path: `${this.#base}/${number}`, takes: [200, 404] }, signal);
    if (got.status === 200) return parseRequest(got.body);
    // The same status hides a project that the credential may not see.
    await this.#client.call({ method: 'GET', path: this.#base, query: { per_page: '1' }, takes: [200] }, signal);
    return undefined;
  }

  async #ofBranch(branch: string, target: string, signal: AbortSignal): Promise<MergeRequest | undefined> {
    const query = { state: 'opened', scope: 'all', source_branch: branch, target_branch: target, per_page: '100' };
    const got = await this.#client.call({ method: 'GET', path: this.#base, query, takes: [200] }, signal);
    // A fork's branches may have any name.
    return parseRequests(got.body).find(
      ({ source_project_id: source, target_project_id: project }) => source === project,
    );
  }

  async #edit(number: number, body: Record<string, string>, signal: AbortSignal): Promise<HostAnswer> {
    return await this.#client.call({ method: 'PUT', path: `${this.#base}/${number}`, body, takes: [200] }, signal);
  }
}

function describe(request: MergeRequest): HostedProposal {
  const isMerged = request.state === 'merged';
  const by = isMerged ? (request.merge_user ?? request.merged_by) : request.closed_by;
  // A project that merges by fast-forward has neither: then the head itself is on the branch.
  const commit = request.merge_commit_sha ?? request.squash_commit_sha ?? request.sha;
  return {
    number: request.iid,
    url: request.web_url,
    targetBranch: request.target_branch,
    state: isMerged ? 'merged' : request.state === 'closed' ? 'closed' : 'open',
    ...(typeof request.sha === 'string' ? { headCommit: request.sha } : {}),
    ...(isMerged && typeof commit === 'string' ? { mergeCommit: commit } : {}),
    ...(by === undefined || by === null ? {} : { closedBy: by.username }),
  };
}
