import { Type, type Static } from 'typebox';
import {
  requireMergeable,
  type ProposalHostFault,
  type ApprovedMerge,
  type HostedProposal,
  type NewProposal,
  type ProposalText,
} from './proposal-host.ts';
import { HostClient, wordsOf, type HostAnswer, type HostApi } from './host-client.ts';
import { hostShape } from './host-shape.ts';
import { PAGE_SIZE, readChanges, type ChangeCursor, type Changes, type PolledHost } from './polled-host.ts';
import { PullRequestCalls } from './pull-request-calls.ts';

const User = Type.Union([Type.Null(), Type.Object({ login: Type.String() })]);
const NullableText = Type.Optional(Type.Union([Type.Null(), Type.String()]));

const PullRequest = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  html_url: Type.String(),
  state: Type.String(),
  merged: Type.Boolean(),
  updated_at: Type.String(),
  merge_commit_sha: NullableText,
  merged_by: Type.Optional(User),
  head: Type.Object({ ref: Type.String(), sha: Type.String(), repo_id: Type.Integer() }),
  base: Type.Object({ ref: Type.String(), repo_id: Type.Integer() }),
});
type PullRequest = Static<typeof PullRequest>;

const parseRequest = hostShape('Gitea', PullRequest);
const parseRequests = hostShape('Gitea', Type.Array(PullRequest));

/** Pages of open pull requests that are searched for one of a branch: the list has no filter by it. */
const MAX_SEARCHED = 20;
const STYLES = ['merge', 'rebase', 'rebase-merge', 'squash', 'fast-forward-only'];

const HOST = { title: 'Gitea', noun: 'pull request' } as const;

/**
 * Pull requests of Gitea and Forgejo (`routers/api/v1/repo/pull.go`, `modules/structs/pull.go` in their sources; the API's
 * page `/api/swagger`). One head branch has one open pull request into a base at the most; a second is refused with 409.
 */
export class GiteaHost implements PolledHost {
  readonly repository: string;
  readonly #client: HostClient;
  readonly #calls: PullRequestCalls;
  readonly #base: string;

  constructor(api: HostApi) {
    this.repository = `${api.owner}/${api.name}`;
    this.#base = `/repos/${encodeURIComponent(api.owner)}/${encodeURIComponent(api.name)}`;
    this.#client = new HostClient(api, {
      title: 'Gitea',
      headers: { accept: 'application/json' },
      authorization: (token) => `token ${token}`,
      needs: "the scopes 'write:repository' and 'write:issue', of an account that may write to the repository",
    });
    this.#calls = new PullRequestCalls(this.#client, this.#base);
  }

  async open(proposal: NewProposal, signal: AbortSignal): Promise<HostedProposal> {
    const { title, body, headBranch: head, targetBranch: base } = proposal;
    const created = await this.#client.call(
      { method: 'POST', path: `${this.#base}/pulls`, body: { title, body, head, base }, takes: [201, 409] },
      signal,
    );
    if (created.status === 201) return describe(parseRequest(created.body));
    const known = await this.#ofBranch(head, base, signal);
    if (known === undefined) throw this.#client.fault('refused', 'does not open the pull request', created);
    await this.update(known.number, proposal, signal);
    return describe(known);
  }

  async find(number: number, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const got = await this.#calls.get(number, signal);
    return got === undefined ? undefined : describe(parseRequest(got.body));
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
    const body = { Do: await this.#style(signal), head_commit_id: headCommit };
    const path = `${this.#base}/pulls/${number}/merge`;
    const merged = await this.#client.call({ method: 'POST', path, body, takes: [200, 404, 405, 409] }, signal);
    if (merged.status !== 200) throw this.#refusal(merged);
    return (await this.find(number, signal)) ?? known;
  }

  async close(number: number, comment: string | undefined, signal: AbortSignal): Promise<HostedProposal | undefined> {
    const known = await this.find(number, signal);
    if (known?.state !== 'open') return known;
    if (comment !== undefined) await this.comment(number, comment, signal);
    return describe(parseRequest((await this.#calls.edit(number, { state: 'closed' }, signal)).body));
  }

  async changes(cursor: ChangeCursor, signal: AbortSignal): Promise<Changes> {
    return await readChanges(cursor, async (page, etag) => {
      const query = { state: 'all', sort: 'recentupdate', limit: String(PAGE_SIZE), page: String(page) };
      const path = `${this.#base}/pulls`;
      const got = await this.#client.call({ method: 'GET', path, query, etag, takes: [200, 304] }, signal);
      if (got.status === 304) return 'same';
      const items = parseRequests(got.body).map((request) => ({ ...describe(request), changedAt: request.updated_at }));
      return { items, etag: got.etag };
    });
  }

  #refusal(answer: HostAnswer): ProposalHostFault {
    const words = wordsOf(answer.body);
    const what = 'does not merge the pull request';
    if (answer.status === 409 && /out of date/i.test(words)) return this.#client.fault('moved', what, answer);
    if (answer.status === 405 && /not allowed to merge/i.test(words)) {
      return this.#client.fault('forbidden', what, answer);
    }
    // It has not looked yet whether the branch can be merged.
    const isPassing = answer.status === 405 && /try again later/i.test(words);
    return this.#client.fault(isPassing ? 'unavailable' : 'refused', what, answer);
  }

  async #ofBranch(branch: string, base: string, signal: AbortSignal): Promise<PullRequest | undefined> {
    for (let page = 1; page <= MAX_SEARCHED; page += 1) {
      const query = { state: 'open', sort: 'recentupdate', limit: String(PAGE_SIZE), page: String(page) };
      const got = await this.#client.call({ method: 'GET', path: `${this.#base}/pulls`, query, takes: [200] }, signal);
      const requests = parseRequests(got.body);
      const found = requests.find(
        (request) =>
          request.head.ref === branch && request.base.ref === base && request.head.repo_id === request.base.repo_id,
      );
      if (found !== undefined || requests.length === 0) return found;
    }
    return undefined;
  }

  /** How the repository merges unless somebody chooses; older versions do not tell. */
  async #style(signal: AbortSignal): Promise<string> {
    const { default_merge_style: style } = await this.#calls.repository(signal);
    return typeof style === 'string' && STYLES.includes(style) ? style : 'merge';
  }
}

function describe(request: PullRequest): HostedProposal {
  const { number, html_url: url, merged, head, merge_commit_sha: sha, merged_by: by } = request;
  return {
    number,
    url,
    state: merged ? 'merged' : request.state === 'open' ? 'open' : 'closed',
    targetBranch: request.base.ref,
    // Empty once the branch is gone.
    ...(head.sha === '' ? {} : { headCommit: head.sha }),
    ...(merged && typeof sha === 'string' ? { mergeCommit: sha } : {}),
    ...(by === undefined || by === null ? {} : { closedBy: by.login }),
  };
}
