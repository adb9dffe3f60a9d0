import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { Type, type Static } from 'typebox';
import type { FetchLike } from '../../git/receive-pack.ts';
import { Timestamp } from '../../protocol/condition.ts';
import { compileParser } from '../../protocol/parse.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import { PROJECT_VERSION } from '../../runtime/project-version.ts';
import { BodyTooLongError, readBounded } from '../../runtime/read-bounded.ts';
import { Secret } from '../../runtime/secret.ts';
import { untilAborted } from '../../runtime/until-aborted.ts';
import type { GithubAppCredential } from './host-credentials.ts';

/** A token lives an hour. It is renewed between ten and five minutes before its end: not all of them at once. */
const RENEW_MS = 5 * 60_000;
const RENEW_SPREAD_MS = 5 * 60_000;
/** GitHub takes ten minutes at the most, and clocks differ. */
const JWT_BACKDATED_S = 60;
const JWT_LIFETIME_S = 9 * 60;
const REQUEST_TIMEOUT_MS = 15_000;
const MAX_BODY = 64 * 1024;
const ATTEMPTS = 4;
const WAITS = { minMs: 300, maxMs: 3000 };

/** Answer of `POST /app/installations/{id}/access_tokens` (GitHub REST, "Create an installation access token for an app"). */
const TokenAnswer = Type.Object({
  token: Type.String({ minLength: 1 }),
  expires_at: Timestamp,
  permissions: Type.Optional(Type.Record(Type.String(), Type.String())),
});
const parseAnswer = compileParser(TokenAnswer);

export interface InstallationToken {
  readonly token: Secret;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  /** As GitHub granted them: `contents: write`, `pull_requests: write`, `metadata: read`. */
  readonly permissions: Readonly<Record<string, string>>;
}

export interface GithubAppTokensDeps {
  readonly apiUrl: string;
  /** The repository that tokens are narrowed to, without its owner. */
  readonly repository: string;
  readonly credential: GithubAppCredential;
  readonly fetchLike: FetchLike;
  readonly clock: Clock;
  readonly random: () => number;
}

/** GitHub did not issue a token. `isLasting`: a person must correct the App or the repository's credential. */
export class GithubAppError extends Error {
  readonly isLasting: boolean;

  constructor(message: string, isLasting: boolean) {
    super(message);
    this.name = 'GithubAppError';
    this.isLasting = isLasting;
  }
}

/**
 * Installation tokens of a GitHub App for one repository: asked for by a JWT (RS256) of the App's key, kept in memory
 * alone, and renewed before they end.
 */
export class GithubAppTokens {
  readonly #deps: GithubAppTokensDeps;
  #current: { readonly token: InstallationToken; readonly renewAt: number } | undefined;
  #asking: Promise<InstallationToken> | undefined;

  constructor(deps: GithubAppTokensDeps) {
    this.#deps = deps;
  }

  /** @throws GithubAppError, with nothing secret in it */
  async token(signal: AbortSignal): Promise<InstallationToken> {
    const now = this.#deps.clock.now().getTime();
    if (this.#current !== undefined && now < this.#current.renewAt) return this.#current.token;
    // One request for all who wait. It has its own time limit: the first of them to leave must not take it from the rest.
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    const asking = this.#asking;
    asking.catch(() => undefined);
    return await untilAborted(asking, signal);
  }

  async #ask(): Promise<InstallationToken> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const token = await this.#create({ contents: 'write', metadata: 'read', pull_requests: 'write' });
        const left = token.expiresAt.getTime() - RENEW_MS - this.#deps.random() * RENEW_SPREAD_MS;
        this.#current = { token, renewAt: left };
        return token;
      } catch (error) {
        const known = this.#current?.token;
        const isOver = attempt >= ATTEMPTS || (error instanceof GithubAppError && error.isLasting);
        // The old one is still good: GitHub's outage is not ours yet.
        if (isOver && known !== undefined && known.expiresAt.getTime() > this.#deps.clock.now().getTime() + 60_000) {
          return known;
        }
        if (isOver) throw error;
        await this.#deps.clock.sleep(backoffMs(WAITS, attempt, this.#deps.random), AbortSignal.timeout(60_000));
      }
    }
  }

  async #create(permissions: Readonly<Record<string, string>>): Promise<InstallationToken> {
    const { apiUrl, repository, credential, clock } = this.#deps;
    const issuedAt = clock.now();
    const { status, body } = await this.#post(
      `${apiUrl}/app/installations/${credential.installationId}/access_tokens`,
      { repositories: [repository], permissions },
      await this.#jwt(issuedAt),
    );
    if (status === 422 && permissions['pull_requests'] !== undefined) {
      // An App without that right still writes commits; pull requests are refused when one is wanted.
      const { pull_requests: _unavailable, ...rest } = permissions;
      return await this.#create(rest);
    }
    if (status !== 201) throw refusalOf(status, body);
    let parsed: Static<typeof TokenAnswer>;
    try {
      parsed = parseAnswer(body);
    } catch {
      throw new GithubAppError('the API answered 201 without a token: set apiUrl to the API of your GitHub', true);
    }
    return {
      token: new Secret(parsed.token),
      issuedAt,
      expiresAt: new Date(parsed.expires_at),
      permissions: parsed.permissions ?? {},
    };
  }

  /** "Generating a JSON Web Token (JWT) for a GitHub App": RS256 with iat, exp and iss. GitHub's keys are PKCS#1. */
  async #jwt(now: Date): Promise<Secret> {
    const { appId, privateKey } = this.#deps.credential;
    const seconds = Math.floor(now.getTime() / 1000);
    const jwt = new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(appId)
      .setIssuedAt(seconds - JWT_BACKDATED_S)
      .setExpirationTime(seconds + JWT_LIFETIME_S);
    try {
      return new Secret(await jwt.sign(createPrivateKey(privateKey)));
    } catch {
      throw new GithubAppError("the App's private key is not an RSA key: set the PEM that GitHub gave you", true);
    }
  }

  async #post(url: string, body: unknown, jwt: Secret): Promise<{ readonly status: number; readonly body: unknown }> {
    const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    try {
      const answer = await this.#deps.fetchLike(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${jwt.expose()}`,
          accept: 'application/vnd.github+json',
          'content-type': 'application/json',
          'user-agent': `service-control-plane/${PROJECT_VERSION}`,
          'x-github-api-version': '2022-11-28',
        },
        body: JSON.stringify(body),
        signal: timeout,
      });
      const text = await readBounded(answer, MAX_BODY);
      return { status: answer.status, body: jsonOf(text.toString('utf8')) };
    } catch (error) {
      if (error instanceof BodyTooLongError) throw new GithubAppError(`GitHub answers with ${error.message}`, false);
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
      const why = timeout.aborted ? `no answer within ${REQUEST_TIMEOUT_MS / 1000} s` : cause || 'no connection';
      throw new GithubAppError(`GitHub's API cannot be reached for a token: ${why}`, false);
    }
  }
}

function refusalOf(status: number, body: unknown): GithubAppError {
  const said = typeof body === 'object' && body !== null && 'message' in body ? String(body.message).slice(0, 200) : '';
  const words = said === '' ? '' : ` (${said})`;
  if (status === 401) {
    return new GithubAppError(
      `GitHub does not take the App's key${words}: check appId and privateKey, and this machine's clock`,
      true,
    );
  }
  if (status === 404) return new GithubAppError(`GitHub has no such installation of the App${words}`, true);
  if (status === 422) {
    return new GithubAppError(
      `the App's installation does not cover the repository, or may not write its contents${words}`,
      true,
    );
  }
  if (status === 403) return new GithubAppError(`GitHub refuses a token for the installation${words}`, true);
  return new GithubAppError(`GitHub answered ${status} for a token${words}`, false);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
