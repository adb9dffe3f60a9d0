import type { GitCredential } from '../../git/git-credential.ts';
import type { NativeLink } from '../../git/remote/native-link.ts';
import type { FetchLike } from '../../git/receive-pack.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import type { LookupRules } from '../guarded-lookup.ts';
import type { MasterKey } from '../master-key.ts';
import type { RepositoryRow } from '../store/schema.ts';
import { GithubAppTokens, type InstallationToken } from './github-app-tokens.ts';
import { HostConnection } from './host-connection.ts';
import { hostSettingsOf, openCredentials, type StoredCredentials, type TokenCredential } from './host-credentials.ts';
import { defaultApiUrl, parseRepositoryUrl, webUrlOf, type HostKind } from './repository-address.ts';

/** How long after it was issued a token may still be unknown to some of the host's servers (kargo 6630). */
const FRESH_MS = 30_000;
/** Any user name goes with a token; GitHub asks for this one with an installation's. */
const APP_USERNAME = 'x-access-token';
const TOKEN_USERNAME = 'service';

/** A repository as its host's API names it. */
export interface HostRepository {
  readonly host: HostKind;
  /** Without a slash at its end; absent for a host that has none. */
  readonly apiUrl?: string;
  readonly owner: string;
  readonly name: string;
  /** `owner/name`, with all groups in between. */
  readonly projectPath: string;
  readonly webUrl?: string;
}

export interface HostAccessDeps {
  readonly masterKey: Pick<MasterKey, 'open'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly rules: LookupRules;
}

/** One repository of another host, opened: its connections, and the tokens for Git and for the API. */
export class HostAccess implements AsyncDisposable {
  readonly repository: HostRepository;
  readonly #credentials: StoredCredentials;
  readonly #connection: HostConnection;
  readonly #app: GithubAppTokens | undefined;
  readonly #clock: Clock;

  private constructor(
    repository: HostRepository,
    credentials: StoredCredentials,
    connection: HostConnection,
    deps: HostAccessDeps,
  ) {
    this.repository = repository;
    this.#credentials = credentials;
    this.#connection = connection;
    this.#clock = deps.clock;
    const { write } = credentials;
    this.#app =
      write.kind === 'github-app'
        ? new GithubAppTokens({
            ...deps,
            apiUrl: repository.apiUrl ?? '',
            repository: repository.name,
            credential: write,
            fetchLike: connection.fetchLike,
          })
        : undefined;
  }

  /** @throws Error where the row is not another host's, or its credentials do not open */
  static async open(row: RepositoryRow, deps: HostAccessDeps): Promise<HostAccess> {
    const address = parseRepositoryUrl(row.url);
    if (row.host === null || typeof address === 'string') throw new Error(`${row.name} is not of another Git host`);
    const settings = hostSettingsOf(row);
    const credentials = await openCredentials(deps.masterKey, row);
    const apiUrl = (settings.apiUrl ?? defaultApiUrl(row.host, address))?.replace(/\/+$/, '');
    const webUrl = webUrlOf(address);
    const { owner, name, projectPath } = address;
    const connection = new HostConnection({
      ...deps.rules,
      ...(settings.caCertificate === undefined ? {} : { caCertificate: settings.caCertificate }),
      ...(credentials.proxyUrl === undefined ? {} : { proxyUrl: credentials.proxyUrl }),
    });
    const repository = {
      host: row.host,
      owner,
      name,
      projectPath,
      ...(apiUrl === undefined ? {} : { apiUrl }),
      ...(webUrl === undefined ? {} : { webUrl }),
    };
    return new HostAccess(repository, credentials, connection, deps);
  }

  /** By the repository's own roots and proxy; never follows a redirect. */
  get fetchLike(): FetchLike {
    return this.#connection.fetchLike;
  }

  /** The same for native git and ssh. */
  get native(): NativeLink {
    return this.#connection.native;
  }

  /** With it the host signs its webhooks. */
  get webhookSecret(): Secret {
    return new Secret(this.#credentials.webhookSecret);
  }

  /** What the writer pushes and fetches with. */
  async gitCredential(signal: AbortSignal): Promise<GitCredential> {
    const { write } = this.#credentials;
    if (write.kind === 'ssh') return { privateKey: new Secret(write.privateKey), knownHosts: write.knownHosts };
    if (write.kind === 'token') return basic(write);
    const { token, issuedAt } = await this.installationToken(signal);
    return {
      username: APP_USERNAME,
      password: token,
      isFresh: () => this.#clock.now().getTime() - issuedAt.getTime() < FRESH_MS,
    };
  }

  /** What the operators read with; undefined where none was set: they get none, and the repository must be public. */
  get readCredential(): GitCredential | undefined {
    const { read } = this.#credentials;
    if (read?.kind === 'ssh') return { privateKey: new Secret(read.privateKey), knownHosts: read.knownHosts };
    return read === undefined ? undefined : basic(read);
  }

  /**
   * The token for the host's API: Git's own, or the one set for it beside a deploy key.
   *
   * @throws Error with words for people where there is none
   */
  async apiToken(signal: AbortSignal): Promise<Secret> {
    const { write, api } = this.#credentials;
    if (api !== undefined) return new Secret(api.token);
    if (write.kind === 'token') return new Secret(write.token);
    if (write.kind === 'github-app') return (await this.installationToken(signal)).token;
    throw new Error("a deploy key opens no API: set a token of the host as the repository's api credential");
  }

  get hasApiToken(): boolean {
    return this.#credentials.api !== undefined || this.#credentials.write.kind !== 'ssh';
  }

  /** Whether the token for the API is set beside the credential that writes. */
  get hasOwnApiToken(): boolean {
    return this.#credentials.api !== undefined;
  }

  /** Whether its write credential makes tokens of its own, and the one of now. */
  async installationToken(signal: AbortSignal): Promise<InstallationToken> {
    if (this.#app === undefined) throw new Error('the write credential is not a GitHub App');
    return await this.#app.token(signal);
  }

  get isGithubApp(): boolean {
    return this.#app !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }
}

/** Headers of a request to the API of a host: what each of them documents for tokens of every kind. */
export function apiHeaders(host: HostKind, token: Secret): Record<string, string> {
  if (host === 'gitlab') return { 'private-token': token.expose(), accept: 'application/json' };
  if (host === 'gitea') return { authorization: `token ${token.expose()}`, accept: 'application/json' };
  return {
    authorization: `Bearer ${token.expose()}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
  };
}

function basic({ username, token }: TokenCredential): GitCredential {
  return { username: username ?? TOKEN_USERNAME, password: new Secret(token) };
}
