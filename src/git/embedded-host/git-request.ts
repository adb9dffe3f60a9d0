/** The two services of smart HTTP (gitprotocol-http). */
export type GitService = 'git-upload-pack' | 'git-receive-pack';

/** What a request under `/git/` asks for. */
export type GitRequest =
  | {
      readonly kind: 'smart';
      /** Without `.git`: `acme`, or `clusters/prod-eu`. */
      readonly repository: string;
      readonly service: GitService;
      /** `advertise` is GET `info/refs`, `exchange` is POST to the service. */
      readonly step: 'advertise' | 'exchange';
    }
  | { readonly kind: 'dumb' }
  | { readonly kind: 'method-not-allowed'; readonly allow: 'GET' | 'POST' }
  | { readonly kind: 'not-found' };

/** A request to one of Git's services. */
export type SmartRequest = Extract<GitRequest, { kind: 'smart' }>;

const SEGMENT = String.raw`[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,99}`;

/**
 * Repository names as they stand in a URL and on disk: one or two segments, or those of another organization's cluster
 * (`acme/clusters/prod-eu`); nothing that a path could climb with.
 */
export const REPOSITORY_NAME = new RegExp(`^${SEGMENT}(?:/${SEGMENT}|/clusters/${SEGMENT})?$`);

const ENDPOINT = /^\/git\/([^?]+?)\.git\/(info\/refs|git-upload-pack|git-receive-pack|.*)$/;

/** Reads method and URL. Percent-encoding is not decoded: no name that is served needs it, so `%2e%2e` finds nothing. */
export function parseGitRequest(method: string, url: string): GitRequest {
  const [path = '', query = ''] = url.split('?', 2);
  const match = ENDPOINT.exec(path);
  const repository = match?.[1];
  if (repository === undefined || !isRepositoryName(repository)) return { kind: 'not-found' };
  const endpoint = match?.[2];
  if (endpoint === 'info/refs') {
    if (method !== 'GET') return { kind: 'method-not-allowed', allow: 'GET' };
    const service = new URLSearchParams(query).get('service');
    if (service !== 'git-upload-pack' && service !== 'git-receive-pack') return { kind: 'dumb' };
    return { kind: 'smart', repository, service, step: 'advertise' };
  }
  if (endpoint === 'git-upload-pack' || endpoint === 'git-receive-pack') {
    if (method !== 'POST') return { kind: 'method-not-allowed', allow: 'POST' };
    return { kind: 'smart', repository, service: endpoint, step: 'exchange' };
  }
  return { kind: 'dumb' };
}

export function isRepositoryName(name: string): boolean {
  return REPOSITORY_NAME.test(name) && !name.split('/').some((part) => part.endsWith('.git') || part.endsWith('.lock'));
}

/** The password of a Basic `Authorization` header (any user name), or the token of a Bearer one. */
export function tokenOf(authorization: string | undefined): string | undefined {
  const [scheme, value] = (authorization ?? '').split(' ', 2);
  if (value === undefined || value === '') return undefined;
  if (scheme?.toLowerCase() === 'bearer') return value;
  if (scheme?.toLowerCase() !== 'basic') return undefined;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  const password = colon < 0 ? '' : pair.slice(colon + 1);
  return password === '' ? undefined : password;
}
