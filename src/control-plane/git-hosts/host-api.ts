import { Type } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import { BodyTooLongError, readBounded } from '../../runtime/read-bounded.ts';
import { apiHeaders, type HostAccess } from './host-access.ts';

/** What a host's API tells of a credential, without a commit. Absent members: it does not tell. */
export interface HostReport {
  readonly mayWrite?: boolean;
  /** Whether it may open and read pull or merge requests. */
  readonly mayPropose?: boolean;
  readonly isArchived?: boolean;
  /** RFC 3339. */
  readonly expiresAt?: string;
}

/** The API did not answer as one. `message` is for people. */
export class HostApiError extends Error {
  readonly status: number | undefined;
  /** It says no to whoever asks, and would say so again. */
  readonly isRefusal: boolean;

  constructor(message: string, { status, isRefusal = false }: { status?: number; isRefusal?: boolean } = {}) {
    super(message);
    this.name = 'HostApiError';
    this.status = status;
    this.isRefusal = isRefusal;
  }
}

const TIMEOUT_MS = 15_000;
const MAX_BODY = 1024 * 1024;

/**
 * `GET /repos/{owner}/{repo}` of GitHub (REST, "Get a repository") and of Gitea and Forgejo (API, "repoGet"): both answer
 * with `permissions` of whoever asks.
 */
const parseRepository = compileParser(
  Type.Object({
    archived: Type.Optional(Type.Boolean()),
    permissions: Type.Optional(Type.Object({ push: Type.Optional(Type.Boolean()) })),
  }),
);

const Access = Type.Optional(Type.Union([Type.Null(), Type.Object({ access_level: Type.Integer() })]));
/** `GET /projects/{id}` of GitLab (Projects API, "Retrieve a project"). */
const parseProject = compileParser(
  Type.Object({
    archived: Type.Optional(Type.Boolean()),
    permissions: Type.Optional(Type.Object({ project_access: Access, group_access: Access })),
  }),
);
/** `GET /personal_access_tokens/self` of GitLab, which answers for project and group tokens too. */
const parseSelf = compileParser(
  Type.Object({
    expires_at: Type.Optional(Type.Union([Type.Null(), Type.String()])),
    scopes: Type.Optional(Type.Array(Type.String())),
  }),
);
/** GitLab's Developer, the least that pushes to a branch that is not protected. */
const DEVELOPER = 30;

/** @throws HostApiError; GithubAppError where no token is issued */
export async function askHost(access: HostAccess, signal: AbortSignal): Promise<HostReport> {
  const { host, projectPath, apiUrl } = access.repository;
  if (apiUrl === undefined || !access.hasApiToken) return {};
  if (host === 'gitlab') return await askGitlab(access, signal);
  const path = `/repos/${projectPath.split('/').map(encodeURIComponent).join('/')}`;
  const { body, headers } = await get(access, path, signal);
  const repository = read(parseRepository, body);
  const mayWrite = repository.permissions?.push;
  const common = {
    ...(repository.archived === true ? { isArchived: true } : {}),
    ...(mayWrite === undefined ? {} : { mayWrite }),
  };
  if (host === 'gitea') return common;
  if (access.isGithubApp) {
    // An installation's own rights say more than those that the repository shows to it.
    const { permissions } = await access.installationToken(signal);
    return {
      ...common,
      mayWrite: permissions['contents'] === 'write',
      mayPropose: permissions['pull_requests'] === 'write',
    };
  }
  const expiresAt = githubExpiry(headers.get('github-authentication-token-expiration'));
  return { ...common, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

async function askGitlab(access: HostAccess, signal: AbortSignal): Promise<HostReport> {
  const self = read(parseSelf, (await get(access, '/personal_access_tokens/self', signal)).body);
  const scopes = self.scopes ?? [];
  const opensApi = scopes.includes('api');
  const mayRead = opensApi || scopes.includes('read_api');
  // A date; the token ends as that day begins (GitLab, "Access token expiration").
  const ends = self.expires_at ?? undefined;
  const expiry = ends === undefined ? {} : { expiresAt: `${ends.slice(0, 10)}T00:00:00Z` };
  const rights = { mayWrite: opensApi || scopes.includes('write_repository'), mayPropose: opensApi };
  if (!mayRead) return { ...expiry, ...rights };
  const path = `/projects/${encodeURIComponent(access.repository.projectPath)}`;
  const project = read(parseProject, (await get(access, path, signal)).body);
  const levels = [project.permissions?.project_access, project.permissions?.group_access].flatMap(
    (one) => one?.access_level ?? [],
  );
  return {
    ...expiry,
    ...rights,
    // Both are null for access that is inherited further up: that says nothing.
    ...(levels.length > 0 && Math.max(...levels) < DEVELOPER ? { mayWrite: false, mayPropose: false } : {}),
    ...(project.archived === true ? { isArchived: true } : {}),
  };
}

/** `2026-12-31 23:59:59 UTC` or with an offset (GitHub, "Token expiration"). */
function githubExpiry(header: string | null): string | undefined {
  const time =
    header === null ? Number.NaN : Date.parse(header.replace(' UTC', 'Z').replace(' ', 'T').replace(' ', ''));
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

async function get(
  access: HostAccess,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly body: unknown; readonly headers: Headers }> {
  const { host, apiUrl = '' } = access.repository;
  const token = await access.apiToken(signal);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  let answer: Response;
  let text: string;
  try {
    answer = await access.fetchLike(`${apiUrl}${path}`, {
      method: 'GET',
      headers: { ...apiHeaders(host, token), 'user-agent': `service-control-plane/${PROJECT_VERSION}` },
      signal: AbortSignal.any([signal, timeout]),
    });
    text = (await readBounded(answer, MAX_BODY)).toString('utf8');
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BodyTooLongError) throw new HostApiError(`its API answers with ${error.message}`);
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
    const why = timeout.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : cause || 'no connection';
    throw new HostApiError(`its API cannot be reached: ${why}`);
  }
  if (answer.status >= 300 && answer.status < 400) {
    throw new HostApiError(`its API redirects (${answer.status}): set apiUrl to where it is now`, {
      status: answer.status,
    });
  }
  if (!answer.ok) {
    const { status, headers } = answer;
    // GitHub answers 403 also to one that asks too often.
    const isLimited = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
    const isRefusal = status === 401 || status === 404 || (status === 403 && !isLimited);
    throw new HostApiError(`its API answered ${status} to ${path}`, { status, isRefusal });
  }
  try {
    return { body: JSON.parse(text) as unknown, headers: answer.headers };
  } catch {
    throw new HostApiError('its API answered with something that is not JSON: check apiUrl');
  }
}

function read<T>(parse: (value: unknown) => T, body: unknown): T {
  try {
    return parse(body);
  } catch {
    throw new HostApiError('its API answers in a shape that is not known: check host and apiUrl');
  }
}
