import { session } from './session.ts';

const KEY = 'service-sign-in';
const TIMEOUT_MS = 15_000;

/** What `GET /login` says about the identity provider. */
export interface OidcProvider {
  readonly issuer: string;
  readonly clientId: string;
  /** Whom the token must be for; where it is the client, that is the ID token. */
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
}

/** Kept in this tab while the browser is at the provider. */
interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly clientId: string;
  readonly tokenEndpoint: string;
  readonly token: 'id_token' | 'access_token';
  /** Where the reader wanted to go. */
  readonly hash: string;
}

/** A browser gives its cryptography to pages of https and of this machine alone. */
export const canSignInByOidc = (): boolean => globalThis.isSecureContext;

const redirectUri = (): string => `${location.origin}/`;

/** Leaves for the provider: authorization code with PKCE (RFC 7636, S256). */
export async function beginSignIn(provider: OidcProvider): Promise<void> {
  const [state, verifier] = [randomText(), randomText()];
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const { clientId, tokenEndpoint } = provider;
  const token = provider.audience === clientId ? 'id_token' : 'access_token';
  const pending: Pending = { state, verifier, clientId, tokenEndpoint, token, hash: location.hash };
  sessionStorage.setItem(KEY, JSON.stringify(pending));
  const address = new URL(provider.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri(),
    // Nothing is kept beyond the tab, so nothing to come in again with is asked for.
    scope: provider.scopes.filter((scope) => scope !== 'offline_access').join(' '),
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Back from the provider: changes the code for a token. Answers why it went wrong, if it did. */
export async function finishSignIn(): Promise<string | undefined> {
  const answer = new URLSearchParams(location.search);
  if (!answer.has('state')) return undefined;
  const stored = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  const pending = stored === null ? undefined : (JSON.parse(stored) as Pending);
  // The code is of use once, and belongs in no history.
  history.replaceState(null, '', `/${pending?.hash ?? ''}`);
  if (pending === undefined || pending.state !== answer.get('state')) {
    return 'The identity provider answered a sign-in that this tab did not begin. Sign in again.';
  }
  const code = answer.get('code');
  if (code === null) {
    const why = answer.get('error_description') ?? answer.get('error') ?? 'it gave no code';
    return `The identity provider did not let you in: ${why}`;
  }
  try {
    session.open(await redeem(code, pending));
    return undefined;
  } catch (error) {
    return `The identity provider did not give a token: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function redeem(code: string, { verifier, clientId, tokenEndpoint, token }: Pending): Promise<string> {
  const answer = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri(),
      client_id: clientId,
      code_verifier: verifier,
    }),
    credentials: 'omit',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const body = (await answer.json()) as Readonly<Record<string, string | undefined>>;
  if (!answer.ok) throw new Error(body['error_description'] ?? body['error'] ?? `it answered ${answer.status}`);
  const given = body[token];
  if (given === undefined) throw new Error(`its answer has no ${token}`);
  return given;
}

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
