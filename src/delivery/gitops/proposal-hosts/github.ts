import { Type, type Static } from 'typebox';
import {
  requireMergeable,
  type ApprovedMerge,
  type HostedProposal,
  type NewProposal,
  type ProposalText,
} from './proposal-host.ts';
import { HostClient, wordsOf, type HostApi } from './host-client.ts';
import { hostShape } from './host-shape.ts';
import { PAGE_SIZE, readChanges, type ChangeCursor, type Changes, type PolledHost } from './polled-host.ts';
import { PullRequestCalls } from './pull-request-calls.ts';

const User = Type.Union([Type.Null(), Type.Object({ login: Type.String() })]);
const NullableText = Type.Union([Type.Null(), Type.String()]);
const Repository = Type.Object({ full_name: Type.String() });

/** What is read of a pull request: of one, and of one in a list, which has neither `merged` nor `merged_by`. */
const PullRequest = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  html_url: Type.String(),
  state: Type.String(),
  updated_at: Type.String(),
  merged_at: NullableText,
  merge_commit_sha: Type.Optional(NullableText),
  merged_by: Type.Optional(User),
  /** Without a repository where its fork was deleted. */
  head: Type.Object({ sha: Type.String(), ref: Type.String(), repo: Type.Union([Type.Null(), Repository]) }),
  base: Type.Object({ ref: Type.String(), repo: Repository }),
});
type PullRequest = Static<typeof PullRequest>;

const parseRequest = hostShape('GitHub', PullRequest);
const parseRequests = hostShape('GitHub', Type.Array(PullRequest));
const parseIssue = hostShape('GitHub', Type.Object({ closed_by: Type.Optional(User) }));
const parseMerge = hostShape('GitHub', Type.Object({ sha: Type.String() }));

const HOST = { title: 'GitHub', noun: 'pull request' } as const;

/**
 * Pull requests of GitHub (docs.github.com/en/rest/pulls/pulls, …/rest/issues/comments, version 2022-11-28), of GitHub
 * Enterprise Server too. One head branch has one open pull request into a base at the most; a second is refused with 422.
 */
export class GithubHost implements PolledHost {
  readonly repository: string;
  readonly #client: HostClient;
  readonly #calls: PullRequestCalls;
  readonly #owner: string;
  readonly #base: string;

  constructor(api: HostApi) {
    this.repository = `${api.owner}/${api.name}`;
    this.#owner = api.owner;
    this.#base = `/repos/${encodeURIComponent(api.owner)}/${encodeURIComponent(api.name)}`;
    this.#client = new HostClient(api, {
      title: 'GitHub',
      headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
      authorization: (token) => `Bearer ${token}`,
      // docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
      writeGapMs: 1000,
      needs:
        "the permissions 'Pull requests: read and write' and 'Contents: read and write' (of a classic token: the scope 'repo')",
    });
    this.#calls = new PullRequestCalls(this.#client, this.#base);
  }

  async open(proposal: NewProposal, signal: AbortSignal): Promise<HostedProposal> {
    const { title, body, headBranch, targetBranch } = proposal;
    const known = await this.#ofBranch(headBranch, targetBranch, signal);
    if (known !== undefined) {
      await this.update(known.number, proposal, signal);
      return describe(known);
    }
    const created = await this.#client.call(
      {
        method: 'POST',
        path: `${this.#base}/pulls`,
        body: { title, body, head: headBranch, base: targetBranch },
        takes: [201, 422],
      },
      signal,
    );
    if (created.status === 201) return describe(parseRequest(created.body));
    // Opened in between, by a request of ours whose answer was lost.
    const meanwhile = await this.#ofBranch(headBranch, targetBranch, signal);
    if (meanwhile !== undefined) return describe(meanwhile);
    // The branch was pushed a moment ago, and GitHub has yet to notice.
    const isUnseen = /"field":"head"/.test(wordsOf(created.body));
    throw this.#client.fault(isUnseen ? 'unavailable' : 'refused', 'does not open the pull request', created);
  }

  async find(number: number, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const got = await this.#calls.get(number, signal);
    if (got === undefined) return undefined;
    const request = parseRequest(got.body);
    const found = describe(request);
    const closedBy = found.state === 'closed' ? await this.#closedBy(number, signal) : found.closedBy;
    return { ...found, ...(closedBy === undefined ? {} : { closedBy }) };
  }

  async update(number: number, { title, body }: ProposalText, signal: AbortSignal): Promise<void> {
    await this.#calls.edit(number, { title, body }, signal);
  }

  async comment(number: number, markdown: string, signal: AbortSignal): Promise<void> {
    await this.#calls.comment(number, markdown, signal);
  }

  async merge(
    number: number,
    { headCommit, targetBranch }: ApprovedMerge,
    signal: AbortSignal,
  ): Promise<HostedProposal> {
    const known = requireMergeable(HOST, { number, targetBranch }, await this.find(number, signal));
    if (known.state === 'merged') return known;
    const method = await this.#mergeMethod(signal);
    const merged = await this.#client.call(
      {
        method: 'PUT',
        path: `${this.#base}/pulls/${number}/merge`,
        body: { sha: headCommit, merge_method: method },
        takes: [200, 405, 409, 422],
      },
      signal,
    );
    if (merged.status === 200) return { ...known, state: 'merged', mergeCommit: parseMerge(merged.body).sha };
    if (merged.status === 409) throw this.#client.fault('moved', 'has another head of the pull request', merged);
    // A merge into a branch that moves at this moment; the words are all that tells it from a rule.
    const mayPass = merged.status === 405 && /base branch was modified/i.test(wordsOf(merged.body));
    throw this.#client.fault(mayPass ? 'unavailable' : 'refused', 'does not merge the pull request', merged);
  }

  async close(number: number, comment: string | undefined, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const known = await this.find(number, signal);
    if (known?.state !== 'open') return known;
    if (comment !== undefined) await this.comment(number, comment, signal);
    return describe(parseRequest((await this.#calls.edit(number, { state: 'closed' }, signal)).body));
  }

  async changes(cursor: ChangeCursor, signal: AbortSignal): Promise<Changes> {
    return await readChanges(cursor, async (page, etag) => {
      const query = {
        state: 'all',
        sort: 'updated',
        direction: 'desc',
        per_page: String(PAGE_SIZE),
        page: String(page),
      };
      const got = await this.#client.call(
        { method: 'GET', path: `${this.#base}/pulls`, query, etag, takes: [200, 304] },
        signal,
      );
      if (got.status === 304) return 'same';
      const items = parseRequests(got.body).map((request) => ({ ...describe(request), changedAt: request.updated_at }));
      return { items, etag: got.etag };
    });
  }

  async #ofBranch(branch: string, base: string, signal: AbortSignal): Promise<PullRequest | undefined> {
    const query = { state: 'open', head: `${this.#owner}:${branch}`, base, per_page: '100' };
    const got = await this.#client.call({ method: 'GET', path: `${this.#base}/pulls`, query, takes: [200] }, signal);
    // An unknown owner in `head` makes GitHub pass the filter over; and one owner may have forks of its own repositories.
    return parseRequests(got.body).find(
      (request) => request.head.ref === branch && request.head.repo?.full_name === request.base.repo.full_name,
    );
  }

  /** The first that the repository allows: each brings the same blobs, and a merge commit keeps ours as it was signed. */
  async #mergeMethod(signal: AbortSignal): Promise<'merge' | 'squash' | 'rebase'> {
    const allowed = await this.#calls.repository(signal);
    // Absent for a credential that may not push.
    if (allowed['allow_merge_commit'] !== false) return 'merge';
    return allowed['allow_squash_merge'] === false ? 'rebase' : 'squash';
  }

  async #closedBy(number: number, signal: AbortSignal): Promise<string | undefined> {
    const path = `${this.#base}/issues/${number}`;
    const got = await this.#client.call({ method: 'GET', path, takes: [200, 403, 404] }, signal);
    return got.status === 200 ? parseIssue(got.body).closed_by?.login : undefined;
  }
}

function describe(request: PullRequest): HostedProposal {
  const { number, html_url: url, head, merged_at: mergedAt, merge_commit_sha: sha, merged_by: by } = request;
  const isMerged = mergedAt !== null;
  return {
    number,
    url,
    state: isMerged ? 'merged' : request.state === 'open' ? 'open' : 'closed',
    headCommit: head.sha,
    targetBranch: request.base.ref,
    // Until it is merged this is a commit that GitHub makes to try.
    ...(isMerged && typeof sha === 'string' ? { mergeCommit: sha } : {}),
    ...(by === undefined || by === null ? {} : { closedBy: by.login }),
  };
}
