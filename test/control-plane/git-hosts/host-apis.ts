import { jwtVerify } from 'jose';
import type { KeyObject } from 'node:crypto';
import type { FakeApi, FakeGitHost, KnownToken } from './fake-git-host.ts';

/**
 * GitHub as docs.github.com describes it: "Create an installation access token for an app" (201 with token, expires_at,
 * permissions, repository_selection) and "Get a repository" (permissions). Tokens are numbered, and known to Git at once or
 * after some requests.
 */
export function githubApi(options: {
  readonly host: FakeGitHost;
  readonly appKey: KeyObject;
  readonly now: () => Date;
  readonly token?: Partial<KnownToken>;
  readonly permissions?: Record<string, string>;
}): { readonly api: FakeApi; readonly asked: { claims: Promise<unknown>; body: unknown }[] } {
  const asked: { claims: Promise<unknown>; body: unknown }[] = [];
  const granted = options.permissions ?? { contents: 'write', metadata: 'read', pull_requests: 'write' };
  const api: FakeApi = ({ method, path, headers, body }) => {
    if (method === 'POST' && path === '/api/v3/app/installations/42/access_tokens') {
      const jwt = String(headers.authorization).replace(/^Bearer /, '');
      const claims = jwtVerify(jwt, options.appKey, { algorithms: ['RS256'], currentDate: options.now() });
      const wanted = JSON.parse(body) as { readonly permissions: Record<string, string> };
      asked.push({ claims: claims.then(({ payload }) => payload), body: wanted });
      if (Object.entries(wanted.permissions).some(([name, level]) => granted[name] !== level)) {
        const message = 'The permissions requested are not granted to this installation.';
        return { status: 422, body: { message, documentation_url: 'https://docs.github.com/rest' } };
      }
      const token = `ghs_installation-token-${asked.length}`;
      options.host.tokens.set(token, { access: 'write', ...options.token });
      const expiresAt = new Date(options.now().getTime() + 3_600_000).toISOString().replace('.000', '');
      return {
        status: 201,
        body: { token, expires_at: expiresAt, permissions: wanted.permissions, repository_selection: 'selected' },
      };
    }
    if (method === 'GET' && path === '/api/v3/repos/acme/fleet') {
      const known = options.host.tokens.get(String(headers.authorization).replace(/^Bearer /, ''));
      if (known === undefined) return { status: 401, body: { message: 'Bad credentials' } };
      const push = known.access === 'write';
      return {
        status: 200,
        body: { id: 1, full_name: 'acme/fleet', archived: false, permissions: { admin: false, push, pull: true } },
        headers: { 'github-authentication-token-expiration': '2027-01-31 12:00:00 UTC' },
      };
    }
    return undefined;
  };
  return { api, asked };
}

/** GitLab as docs.gitlab.com describes it: "Personal access tokens API" (`self`) and "Projects API" (permissions). */
export function gitlabApi(options: {
  readonly token: string;
  readonly expiresAt: string;
  readonly level?: number;
  readonly scopes?: readonly string[];
}): FakeApi {
  return ({ method, path, headers }) => {
    if (method !== 'GET') return undefined;
    if (headers['private-token'] !== options.token) return { status: 401, body: { message: '401 Unauthorized' } };
    if (path === '/api/v4/personal_access_tokens/self') {
      const scopes = options.scopes ?? ['api', 'write_repository'];
      return {
        status: 200,
        body: {
          id: 4,
          name: 'fleet',
          revoked: false,
          scopes,
          user_id: 24,
          active: true,
          expires_at: options.expiresAt,
        },
      };
    }
    if (path === '/api/v4/projects/acme%2Ffleet') {
      const access = { access_level: options.level ?? 40, notification_level: 3 };
      return {
        status: 200,
        body: { id: 3, path_with_namespace: 'acme/fleet', permissions: { project_access: access, group_access: null } },
      };
    }
    return undefined;
  };
}

/** Gitea and Forgejo as their API's `repoGet` describes it: `permissions {admin, push, pull}` of whoever asks. */
export function giteaApi(options: {
  readonly token: string;
  readonly push?: boolean;
  readonly archived?: boolean;
}): FakeApi {
  return ({ method, path, headers }) => {
    if (method !== 'GET' || path !== '/api/v1/repos/acme/fleet') return undefined;
    if (headers.authorization !== `token ${options.token}`) {
      return { status: 401, body: { message: 'invalid username, password or token' } };
    }
    const { push = true, archived = false } = options;
    return {
      status: 200,
      body: { id: 1, full_name: 'acme/fleet', archived, permissions: { admin: false, push, pull: true } },
    };
  };
}
