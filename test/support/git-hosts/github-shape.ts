import { createHmac } from 'node:crypto';
import {
  NAME,
  OWNER,
  pageOf,
  type ApiAnswer,
  type ApiRequest,
  type FakeGitHost,
  type FakeRequest,
  type HostKindShape,
} from './fake-host.ts';

const BASE = `/repos/${OWNER}/${NAME}`;
const ok = (body: unknown): ApiAnswer => ({ status: 200, body });
const NOT_FOUND: ApiAnswer = {
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' },
};

/**
 * GitHub's REST API, version 2022-11-28, as docs.github.com/en/rest/pulls/pulls and …/rest/issues/comments give its shapes;
 * the webhook's after octokit/webhooks, payload-examples/api.github.com/pull_request; the words of refusals after
 * issues that quote them (422: qiita.com/kyanny 9d1f738b500b500aca1b; 409 on merge: dlang/dlang-bot 77; 405:
 * NixOS/nixpkgs-merge-bot 179).
 */
export const githubShape: HostKindShape = {
  kind: 'github',
  apiRoot: '/api/v3',
  isAuthorized: (headers, token) => headers.authorization === `Bearer ${token}`,
  unauthorized: {
    status: 401,
    body: { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest', status: '401' },
  },
  hasEtags: true,
  answer: async (host, request) => {
    if (request.headers['x-github-api-version'] !== '2022-11-28')
      return { status: 400, body: { message: 'no version' } };
    const { method, path } = request;
    if (method === 'GET' && path === BASE)
      return ok({
        full_name: `${OWNER}/${NAME}`,
        allow_merge_commit: host.strategy === 'merge',
        allow_squash_merge: host.strategy === 'squash',
        allow_rebase_merge: host.strategy === 'rebase',
      });
    if (path === `${BASE}/pulls`) return method === 'POST' ? await open(host, request) : await list(host, request);
    const [, kind, text, rest] = /^\/repos\/[^/]+\/[^/]+\/(pulls|issues)\/(\d+)(\/\w+)?$/.exec(path) ?? [];
    const known = host.requests.find(({ number }) => number === Number(text));
    if (known === undefined) return NOT_FOUND;
    if (kind === 'issues' && rest === '/comments' && method === 'POST') {
      known.comments.push(String(request.body['body']));
      known.updatedAt = host.tick();
      return {
        status: 201,
        body: { id: known.comments.length, body: known.comments.at(-1), user: { login: 'service' } },
      };
    }
    if (kind === 'issues')
      return ok({ number: known.number, closed_by: known.closedBy === undefined ? null : { login: known.closedBy } });
    if (rest === '/merge' && method === 'PUT') return await merge(host, known, request);
    if (method === 'PATCH') return await edit(host, known, request);
    return ok(await view(host, known));
  },
  webhook: async (host, request, action, secret) => {
    const body = JSON.stringify({
      action: action === 'merged' ? 'closed' : action,
      number: request.number,
      pull_request: await view(host, request),
      repository: { id: 186853002, name: NAME, full_name: `${OWNER}/${NAME}`, private: true, owner: { login: OWNER } },
      sender: { login: request.closedBy ?? 'service', type: 'User' },
    });
    return {
      body,
      headers: {
        'user-agent': 'GitHub-Hookshot/044aadd',
        'x-github-delivery': `72d3162e-cc78-11e3-81ab-${String(host.calls.length).padStart(12, '0')}`,
        'x-github-event': 'pull_request',
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
    };
  },
};

async function open(host: FakeGitHost, { body }: ApiRequest): Promise<ApiAnswer> {
  const branch = String(body['head']).replace(`${OWNER}:`, '');
  if ((await host.repository.head(branch)) === undefined) {
    return {
      status: 422,
      body: { message: 'Validation Failed', errors: [{ resource: 'PullRequest', field: 'head', code: 'invalid' }] },
    };
  }
  if (
    host.requests.some((request) => request.branch === branch && request.state === 'open' && request.fork === undefined)
  ) {
    return {
      status: 422,
      body: {
        message: 'Validation Failed',
        errors: [
          { resource: 'PullRequest', code: 'custom', message: `A pull request already exists for ${OWNER}:${branch}.` },
        ],
      },
    };
  }
  const made = await host.add({
    title: String(body['title']),
    body: String(body['body']),
    branch,
    base: String(body['base']),
  });
  return { status: 201, body: await view(host, made) };
}

async function list(host: FakeGitHost, { query }: ApiRequest): Promise<ApiAnswer> {
  const state = query.get('state') ?? 'open';
  const head = query.get('head');
  const found = host.requests
    .filter((request) => state === 'all' || (request.state === 'open') === (state === 'open'))
    .filter(({ branch }) => head === null || head === `${OWNER}:${branch}`)
    .toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  const views = pageOf(found, query, 'per_page').map(async (request) => {
    const { merged: _merged, merged_by: _by, ...inList } = await view(host, request);
    return inList;
  });
  return ok(await Promise.all(views));
}

async function edit(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  if (body['state'] === 'closed' && request.state === 'merged')
    return {
      status: 422,
      body: { message: 'Validation Failed', errors: [{ resource: 'PullRequest', field: 'state' }] },
    };
  if (body['state'] === 'closed') await host.closeOnHost(request.number, 'service');
  Object.assign(request, {
    title: body['title'] ?? request.title,
    body: body['body'] ?? request.body,
    updatedAt: host.tick(),
  });
  return ok(await view(host, request));
}

async function merge(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  const refuse = (status: number, message: string): ApiAnswer => ({
    status,
    body: {
      message,
      documentation_url: 'https://docs.github.com/rest/pulls/pulls#merge-a-pull-request',
      status: String(status),
    },
  });
  if (request.state !== 'open') return refuse(405, 'Pull Request is not mergeable');
  if (host.blocked !== undefined) return refuse(405, host.blocked);
  if (body['sha'] !== (await host.headOf(request)))
    return refuse(409, 'Head branch was modified. Review and try the merge again.');
  if (body['merge_method'] !== host.strategy) return refuse(405, 'Merge commits are not allowed on this repository.');
  try {
    const sha = await host.mergeOnHost(request.number, host.strategy, 'service');
    return ok({ sha, merged: true, message: 'Pull Request successfully merged' });
  } catch {
    return refuse(405, 'Pull Request is not mergeable');
  }
}

async function view(host: FakeGitHost, request: FakeRequest) {
  const isMerged = request.state === 'merged';
  const by = isMerged && request.closedBy !== undefined ? { login: request.closedBy } : null;
  return {
    url: `${host.apiUrl}${BASE}/pulls/${request.number}`,
    id: 279147437 + request.number,
    html_url: `${host.url}/${OWNER}/${NAME}/pull/${request.number}`,
    number: request.number,
    state: request.state === 'open' ? 'open' : 'closed',
    locked: false,
    title: request.title,
    user: { login: 'service', type: 'User' },
    body: request.body,
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    closed_at: request.state === 'open' ? null : request.updatedAt,
    merged_at: isMerged ? request.updatedAt : null,
    // Of one that is open: GitHub's commit to try the merge.
    merge_commit_sha: request.mergeCommit ?? 'c4295bd74fb0f4fda03689c3df3f2803b658fd85',
    head: {
      label: `${request.fork ?? OWNER}:${request.branch}`,
      ref: request.branch,
      sha: await host.headOf(request),
      repo: { full_name: `${request.fork ?? OWNER}/${NAME}` },
    },
    base: {
      label: `${OWNER}:${request.base}`,
      ref: request.base,
      sha: (await host.repository.head(request.base)) ?? '',
      repo: { full_name: `${OWNER}/${NAME}` },
    },
    draft: false,
    merged: isMerged,
    merged_by: by,
  };
}
