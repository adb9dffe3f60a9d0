import { systemClock } from '../runtime/clock.ts';
import { Secret } from '../runtime/secret.ts';
import { readConfig, writeConfig, type OidcLogin } from './cli-config.ts';
import type { CliDeps } from './cli-deps.ts';
import { CliError, EXIT } from './cli-error.ts';
import { withConfigLock } from './config-lock.ts';
import { askIssuer, refusalOf, textIn, type IssuerAnswer } from './issuer-client.ts';

/** A token that ends within this is renewed first: the call that it is for takes its time. */
const MARGIN_MS = 30_000;

type SessionDeps = Pick<CliDeps, 'env' | 'clock'>;

/**
 * The token of a context, renewed where it has ended or was refused. Of commands that run at once one renews, and the others
 * take what it was given: an issuer takes a refresh token once, and ends the whole login where it sees one again
 * (RFC 9700, section 4.14.2).
 *
 * @throws CliError when the login has ended
 */
export async function freshToken(
  name: string,
  deps: SessionDeps,
  { isRefused, login }: { readonly isRefused: boolean; readonly login: string },
): Promise<Secret> {
  const before = loginOf(name, deps, login);
  if (!isRefused && isGood(before, deps)) return new Secret(before.token);
  return await withConfigLock(deps, async () => {
    const now = loginOf(name, deps, login);
    if (now.token !== before.token && isGood(now, deps)) return new Secret(now.token);
    const renewed = await renew(now, deps, login);
    const config = readConfig(deps);
    const context = config.contexts[name];
    if (context !== undefined) {
      writeConfig(deps, { ...config, contexts: { ...config.contexts, [name]: { ...context, oidc: renewed } } });
    }
    return new Secret(renewed.token);
  });
}

/** What a token endpoint gave, as it is kept. Undefined where the token that is used is not in it. */
export function loginFrom(
  answer: IssuerAnswer,
  known: Omit<OidcLogin, 'token' | 'refreshToken' | 'expiresAt'>,
  deps: Pick<CliDeps, 'clock'>,
): OidcLogin | undefined {
  const token = textIn(answer.body, known.use);
  if (token === undefined) return undefined;
  const refreshToken = textIn(answer.body, 'refresh_token');
  const expiresAt = endOf(token, answer, deps.clock ?? systemClock);
  return {
    ...known,
    token,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Of a JWT, what it holds (unverified: its issuer's answer came by TLS, and only the control plane decides); else undefined. */
export function claimsIn(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

async function renew(oidc: OidcLogin, deps: SessionDeps, login: string): Promise<OidcLogin> {
  const { refreshToken, clientId, tokenEndpoint, issuer, use } = oidc;
  const next = `Log in again: ${login}`;
  if (refreshToken === undefined) throw new CliError(EXIT.failed, 'the login has ended', next);
  let answer: IssuerAnswer;
  try {
    answer = await askIssuer(tokenEndpoint, {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: clientId,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error';
    throw new CliError(EXIT.failed, `${issuer} does not renew the login (${why})`, `Try again, or: ${next}`);
  }
  if (answer.status !== 200) {
    throw new CliError(EXIT.failed, `the login has ended: ${issuer} says ${refusalOf(answer)}`, next);
  }
  const renewed = loginFrom(answer, { issuer, clientId, tokenEndpoint, use }, deps);
  if (renewed === undefined) throw new CliError(EXIT.failed, `${issuer} renewed the login without an ${use}`, next);
  // RFC 6749, section 6: without a new one the old one stays.
  return { refreshToken, ...renewed };
}

function loginOf(name: string, deps: SessionDeps, login: string): OidcLogin {
  const oidc = readConfig(deps).contexts[name]?.oidc;
  if (oidc === undefined) throw new CliError(EXIT.usage, `nobody is logged in to ${name}`, `Log in: ${login}`);
  return oidc;
}

function isGood({ expiresAt }: OidcLogin, { clock = systemClock }: SessionDeps): boolean {
  return expiresAt === undefined || Date.parse(expiresAt) - clock.now().getTime() > MARGIN_MS;
}

function endOf(token: string, { body }: IssuerAnswer, clock: { now(): Date }): string | undefined {
  const exp = claimsIn(token)?.['exp'];
  if (typeof exp === 'number') return new Date(exp * 1000).toISOString();
  const seconds = body['expires_in'];
  return typeof seconds === 'number' ? new Date(clock.now().getTime() + seconds * 1000).toISOString() : undefined;
}
