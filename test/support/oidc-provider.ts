import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import { Provider } from 'oidc-provider';

/** Who may sign in, by the name that is typed into the form (any password does), which is the subject. */
export interface OidcPerson {
  readonly email?: string;
  readonly email_verified?: boolean;
}

export const OIDC_CLIENT = 'servicectl';
/** Of access tokens; the audience of ID tokens is the client. */
export const OIDC_AUDIENCE = 'https://service.example.com';

interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
  readonly jwk: JWK;
}

interface PageContext {
  body: string;
}
const asPage = (context: PageContext, form: string): void => void (context.body = `<html>${form}</html>`);
const successSource = (context: PageContext): void => void (context.body = '<html>Sign-in Success</html>');

/**
 * An identity provider on loopback: the package `oidc-provider` with device flow and code flow (with PKCE) for one public
 * client, `OIDC_CLIENT`. ID tokens and access tokens (JWTs too) say the address of the account. Keys can be rotated, and
 * the whole of it can be down.
 */
export class OidcProvider implements AsyncDisposable {
  readonly #people: Map<string, OidcPerson>;
  readonly #redirectUris: readonly string[];
  readonly #keys: SigningKey[] = [];
  #server!: Server;
  #answer!: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  #isBroken = false;
  #port = 0;
  /** Requests by path, since the beginning. */
  readonly seen: Record<string, number> = {};

  private constructor(people: Readonly<Record<string, OidcPerson>>, redirectUris: readonly string[]) {
    this.#people = new Map(Object.entries(people));
    this.#redirectUris = redirectUris;
  }

  /** @param redirectUris of the code flow; a native client's on loopback may have any port */
  static async start(
    people: Readonly<Record<string, OidcPerson>>,
    redirectUris: readonly string[] = ['http://127.0.0.1/callback'],
  ): Promise<OidcProvider> {
    const provider = new OidcProvider(people, redirectUris);
    await provider.up();
    await provider.rotateKeys();
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** What a control plane is set to, to trust it. Its audience is the client, so that ID tokens are what it takes. */
  get env(): Readonly<Record<string, string>> {
    return { SERVICE_OIDC_ISSUER: this.issuer, SERVICE_OIDC_AUDIENCE: OIDC_CLIENT };
  }

  setPerson(subject: string, person: OidcPerson): void {
    this.#people.set(subject, person);
  }

  /** Signs with a new key from now on, which is published alone, or with those before it. Sessions are forgotten. */
  async rotateKeys({ keepsOld = false }: { readonly keepsOld?: boolean } = {}): Promise<void> {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const kid = `key-${this.#keys.length + 1}-${Math.random().toString(36).slice(2)}`;
    const jwk = { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
    if (!keepsOld) this.#keys.length = 0;
    this.#keys.unshift({ kid, key: privateKey, jwk });
    this.#answer = new Provider(this.issuer, this.#configuration()).callback();
  }

  /** A token of its present key, with whatever in it: as one of the provider itself would be, had it said so. */
  async mint(claims: JWTPayload, { typ = 'JWT' } = {}): Promise<string> {
    const [signing] = this.#keys;
    if (signing === undefined) throw new Error('it has no key');
    const now = Math.floor(Date.now() / 1000);
    const standard = { iss: this.issuer, aud: OIDC_CLIENT, iat: now, exp: now + 600 };
    return await new SignJWT({ ...standard, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: signing.kid, typ })
      .sign(signing.key);
  }

  /** Answers 503 to everything, or not any more. */
  breakDown(isBroken = true): void {
    this.#isBroken = isBroken;
  }

  /** Listens, at the port that it had before. */
  async up(): Promise<void> {
    this.#server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://127.0.0.1').pathname;
      this.seen[path] = (this.seen[path] ?? 0) + 1;
      if (this.#isBroken) response.writeHead(503).end();
      else void this.#answer(request, response);
    });
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Nothing listens any more, until `up`. */
  async down(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.down();
  }

  #configuration(): Readonly<Record<string, unknown>> {
    const people = this.#people;
    const claimsOf = (subject: string): OidcPerson | undefined => people.get(subject);
    return {
      clients: [
        {
          client_id: OIDC_CLIENT,
          application_type: 'native',
          token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
          response_types: ['code'],
          redirect_uris: [...this.#redirectUris],
        },
      ],
      jwks: { keys: this.#keys.map(({ jwk }) => jwk) },
      scopes: ['openid', 'offline_access', 'email', 'profile'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      // As most providers do: the address stands in the ID token itself.
      conformIdTokenClaims: false,
      cookies: { keys: ['test'] },
      pkce: { required: () => true },
      // A page asks for its token itself, from another origin.
      clientBasedCORS: () => true,
      ttl: {
        AccessToken: 600,
        IdToken: 600,
        DeviceCode: 600,
        RefreshToken: 3600,
        Grant: 3600,
        Session: 3600,
        Interaction: 600,
      },
      issueRefreshToken: () => true,
      features: {
        devInteractions: { enabled: true },
        revocation: { enabled: true },
        deviceFlow: { enabled: true, userCodeInputSource: asPage, userCodeConfirmSource: asPage, successSource },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => OIDC_AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: '',
            audience: OIDC_AUDIENCE,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      extraTokenClaims: (_: unknown, token: { readonly accountId: string }) => ({ ...claimsOf(token.accountId) }),
      findAccount: (_: unknown, subject: string) =>
        claimsOf(subject) === undefined
          ? undefined
          : { accountId: subject, claims: () => ({ sub: subject, ...claimsOf(subject) }) },
    };
  }
}
