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
const STYLES = { merge: 'merge', squash: 'squash', rebase: 'rebase' } as const;

/**
 * Gitea's API v1 (Forgejo's is the same here), after go-gitea/gitea routers/api/v1/repo/pull.go (statuses and words; an edit
 * answers 201, a merge 200 without a body), modules/structs/pull.go and pull_review.go (shapes), services/webhook/deliver.go
 * (headers of webhooks: the signature is the bare hex of HMAC-SHA-256).
 */
export const giteaShape: HostKindShape = {
  kind: 'gitea',
  apiRoot: '/api/v1',
  isAuthorized: (headers, token) => headers.authorization === `token ${token}`,
  unauthorized: { status: 401, body: { message: 'user does not exist [uid: 0, name: ]', url: '/api/swagger' } },
  hasEtags: false,
  answer: async (host, request) => {
    const { method, path } = request;
    if (method === 'GET' && path === BASE)
      return ok({ full_name: `${OWNER}/${NAME}`, default_merge_style: STYLES[host.strategy] });
    if (path === `${BASE}/pulls`) return method === 'POST' ? await open(host, request) : await list(host, request);
    const [, kind, text, rest] = /^\/repos\/[^/]+\/[^/]+\/(pulls|issues)\/(\d+)(\/\w+)?$/.exec(path) ?? [];
    const known = path.startsWith(BASE) ? host.requests.find(({ number }) => number === Number(text)) : undefined;
    if (known === undefined)
      return { status: 404, body: { message: 'The target could not be found.', errors: null, url: '/api/swagger' } };
    if (kind === 'issues' && rest === '/comments') {
      known.comments.push(String(request.body['body']));
      known.updatedAt = host.tick();
      return {
        status: 201,
        body: { id: known.comments.length, body: known.comments.at(-1), user: { login: 'service' } },
      };
    }
    if (rest === '/merge' && method === 'POST') return await merge(host, known, request);
    if (method === 'PATCH') return await edit(host, known, request);
    return ok(await view(host, known));
  },
  webhook: async (host, request, action, secret) => {
    const body = JSON.stringify({
      action: action === 'merged' ? 'closed' : action,
      number: request.number,
      pull_request: await view(host, request),
      repository: { id: 1, name: NAME, full_name: `${OWNER}/${NAME}`, owner: { login: OWNER } },
      sender: { login: request.closedBy ?? 'service' },
      commit_id: '',
      review: null,
    });
    const id = `6e6ff1ae-4c75-4b64-9e5d-${String(host.calls.length).padStart(12, '0')}`;
    const mac = createHmac('sha256', secret).update(body).digest('hex');
    return {
      body,
      headers: {
        'user-agent': 'Go-http-client/1.1',
        'x-gitea-delivery': id,
        'x-gitea-event': 'pull_request',
        'x-gitea-event-type': 'pull_request',
        'x-gitea-signature': mac,
        'x-github-delivery': id,
        'x-github-event': 'pull_request',
        'x-hub-signature-256': `sha256=${mac}`,
      },
    };
  },
};

async function open(host: FakeGitHost, { body }: ApiRequest): Promise<ApiAnswer> {
  const branch = String(body['head']);
  if ((await host.repository.head(branch)) === undefined)
    return { status: 404, body: { message: 'The target could not be found.' } };
  const known = host.requests.find(
    (request) => request.branch === branch && request.state === 'open' && request.fork === undefined,
  );
  if (known !== undefined) {
    const message = `pull request already exists for these targets [id: ${known.number}, issue_id: ${known.number}, head_repo_id: 1, base_repo_id: 1, head_branch: ${branch}, base_branch: main]`;
    return { status: 409, body: { message, url: '/api/swagger' } };
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
  const found = host.requests
    .filter((request) => state === 'all' || (request.state === 'open') === (state === 'open'))
    .toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  return ok(await Promise.all(pageOf(found, query, 'limit').map(async (request) => await view(host, request))));
}

async function edit(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  if (body['state'] === 'closed' && request.state === 'merged')
    return { status: 412, body: { message: 'cannot change state of this pull request, it was already merged' } };
  if (body['state'] === 'closed') await host.closeOnHost(request.number, 'service');
  Object.assign(request, {
    title: body['title'] ?? request.title,
    body: body['body'] ?? request.body,
    updatedAt: host.tick(),
  });
  return { status: 201, body: await view(host, request) };
}

async function merge(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  const refuse = (status: number, message: string): ApiAnswer => ({ status, body: { message, url: '/api/swagger' } });
  if (request.state === 'closed') return refuse(404, 'The target could not be found.');
  if (request.state === 'merged') return refuse(405, '');
  if (host.blocked !== undefined) return refuse(405, host.blocked);
  if (body['head_commit_id'] !== (await host.headOf(request))) return refuse(409, 'head out of date');
  if (body['Do'] !== STYLES[host.strategy])
    return refuse(405, `${String(body['Do'])} is not allowed an allowed merge style for this repository`);
  try {
    await host.mergeOnHost(request.number, host.strategy, 'service');
    return { status: 200 };
  } catch {
    return refuse(409, 'merge failed because of conflict');
  }
}

async function view(host: FakeGitHost, request: FakeRequest) {
  const isMerged = request.state === 'merged';
  const sha = await host.headOf(request);
  return {
    id: request.number,
    url: `${host.url}/${OWNER}/${NAME}/pulls/${request.number}`,
    number: request.number,
    user: { id: 1, login: 'service' },
    title: request.title,
    body: request.body,
    state: request.state === 'open' ? 'open' : 'closed',
    html_url: `${host.url}/${OWNER}/${NAME}/pulls/${request.number}`,
    mergeable: host.blocked === undefined,
    merged: isMerged,
    merged_at: isMerged ? request.updatedAt : null,
    merge_commit_sha: request.mergeCommit ?? null,
    merged_by: isMerged && request.closedBy !== undefined ? { id: 7, login: request.closedBy } : null,
    base: { label: request.base, ref: request.base, sha: (await host.repository.head(request.base)) ?? '', repo_id: 1 },
    head: { label: request.branch, ref: request.branch, sha, repo_id: request.fork === undefined ? 1 : 77 },
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    closed_at: request.state === 'open' ? null : request.updatedAt,
  };
}
