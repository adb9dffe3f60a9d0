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

const BASE = `/projects/${OWNER}%2F${NAME}/merge_requests`;
const ok = (body: unknown): ApiAnswer => ({ status: 200, body });
const STATES = { open: 'opened', closed: 'closed', merged: 'merged' } as const;

/**
 * GitLab's API v4, as docs.gitlab.com/api/merge_requests and …/api/notes give its shapes, and gitlabhq/gitlabhq
 * lib/api/merge_requests.rb the order of its checks (401, 405, 406, 409; 422 in place of 406 since 17); the refusal of a
 * second request after voxpupuli/modulesync 195. Webhooks: docs.gitlab.com/user/project/integrations/webhook_events and
 * gitlab-org/gitlab!230944 (signing token, Standard Webhooks).
 */
export const gitlabShape: HostKindShape = {
  kind: 'gitlab',
  apiRoot: '/api/v4',
  isAuthorized: (headers, token) => headers['private-token'] === token || headers.authorization === `Bearer ${token}`,
  unauthorized: { status: 401, body: { message: '401 Unauthorized' } },
  hasEtags: true,
  answer: async (host, request) => {
    const { method, path } = request;
    if (path === BASE) return method === 'POST' ? await open(host, request) : await list(host, request);
    const [, text, rest] = /^\/projects\/[^/]+\/merge_requests\/(\d+)(\/\w+)?$/.exec(path) ?? [];
    const known = path.startsWith(BASE) ? host.requests.find(({ number }) => number === Number(text)) : undefined;
    if (known === undefined) return { status: 404, body: { message: '404 Not found' } };
    if (rest === '/notes' && method === 'POST') {
      known.comments.push(String(request.body['body']));
      known.updatedAt = host.tick();
      return {
        status: 201,
        body: { id: known.comments.length, body: known.comments.at(-1), author: { username: 'service' } },
      };
    }
    if (rest === '/merge') return await merge(host, known, request);
    if (method === 'PUT') return await edit(host, known, request);
    return ok(await view(host, known));
  },
  webhook: async (host, request, action, secret) => {
    const body = JSON.stringify({
      object_kind: 'merge_request',
      event_type: 'merge_request',
      user: { id: 1, name: 'A Reviewer', username: request.closedBy ?? 'service' },
      project: { id: 3, name: NAME, path_with_namespace: `${OWNER}/${NAME}`, default_branch: 'main' },
      object_attributes: {
        id: 99,
        iid: request.number,
        target_branch: request.base,
        source_branch: request.branch,
        state: STATES[request.state],
        action: { opened: 'open', closed: 'close', reopened: 'reopen', merged: 'merge' }[action],
        merge_commit_sha: request.mergeCommit ?? null,
        last_commit: { id: await host.headOf(request) },
      },
      labels: [],
      changes: {},
    });
    const id = `f5e5f430-f57b-4e6e-9fac-${String(host.calls.length).padStart(12, '0')}`;
    return {
      body,
      headers: {
        'user-agent': 'GitLab/18.0.0',
        'x-gitlab-event': 'Merge Request Hook',
        'x-gitlab-event-uuid': id,
        'idempotency-key': id,
        'x-gitlab-token': secret,
      },
    };
  },
};

/** The same event of a project whose webhook has a signing token in place of a secret token. */
export function signedByGitlab(
  body: string,
  secret: string,
  at: Date,
  id = 'f5e5f430-f57b-4e6e-9fac-000000000001',
): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return {
    'x-gitlab-event': 'Merge Request Hook',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${mac}`,
  };
}

async function open(host: FakeGitHost, { body }: ApiRequest): Promise<ApiAnswer> {
  const branch = String(body['source_branch']);
  const known = host.requests.find(
    (request) => request.branch === branch && request.state === 'open' && request.fork === undefined,
  );
  if (known !== undefined) {
    return {
      status: 409,
      body: { message: [`Another open merge request already exists for this source branch: !${known.number}`] },
    };
  }
  const made = await host.add({
    title: String(body['title']),
    body: String(body['description']),
    branch,
    base: String(body['target_branch']),
  });
  return { status: 201, body: await view(host, made) };
}

async function list(host: FakeGitHost, { query }: ApiRequest): Promise<ApiAnswer> {
  const state = query.get('state') ?? 'all';
  const branch = query.get('source_branch');
  const found = host.requests
    .filter((request) => state === 'all' || STATES[request.state] === state)
    .filter((request) => branch === null || request.branch === branch)
    .toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt));
  return ok(await Promise.all(pageOf(found, query, 'per_page').map(async (request) => await view(host, request))));
}

async function edit(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  if (body['state_event'] === 'close' && request.state === 'open') await host.closeOnHost(request.number, 'service');
  Object.assign(request, {
    title: body['title'] ?? request.title,
    body: body['description'] ?? request.body,
    updatedAt: host.tick(),
  });
  return ok(await view(host, request));
}

async function merge(host: FakeGitHost, request: FakeRequest, { body }: ApiRequest): Promise<ApiAnswer> {
  if (request.state !== 'open' || host.blocked !== undefined)
    return { status: 405, body: { message: '405 Method Not Allowed' } };
  if (body['sha'] !== (await host.headOf(request)))
    return { status: 409, body: { message: 'SHA does not match HEAD of source branch' } };
  try {
    await host.mergeOnHost(request.number, host.strategy, 'service');
    return ok(await view(host, request));
  } catch {
    return { status: 422, body: { message: 'Branch cannot be merged' } };
  }
}

async function view(host: FakeGitHost, request: FakeRequest) {
  const user =
    request.closedBy === undefined ? null : { id: 7, username: request.closedBy, name: 'A Reviewer', state: 'active' };
  const isMerged = request.state === 'merged';
  return {
    id: 1000 + request.number,
    iid: request.number,
    project_id: 3,
    source_project_id: request.fork === undefined ? 3 : 77,
    target_project_id: 3,
    title: request.title,
    description: request.body,
    state: STATES[request.state],
    created_at: request.createdAt,
    updated_at: request.updatedAt,
    merged_by: isMerged ? user : null,
    merge_user: isMerged ? user : null,
    closed_by: request.state === 'closed' ? user : null,
    target_branch: request.base,
    source_branch: request.branch,
    draft: /^(\[draft\]|\(draft\)|draft:)/i.test(request.title),
    merge_status: host.blocked === undefined ? 'can_be_merged' : 'cannot_be_merged',
    detailed_merge_status: host.blocked ?? 'mergeable',
    sha: await host.headOf(request),
    merge_commit_sha: request.mergeCommit ?? null,
    squash_commit_sha: null,
    web_url: `${host.url}/${OWNER}/${NAME}/-/merge_requests/${request.number}`,
    references: { short: `!${request.number}`, full: `${OWNER}/${NAME}!${request.number}` },
  };
}
