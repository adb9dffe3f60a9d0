import { Type } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';
import { Secret } from '../../runtime/secret.ts';
import type { Challenge } from './challenge.ts';
import { isLoopback } from './registry-address.ts';
import { readText, type RegistryAnswer, type RegistryClient } from './registry-client.ts';
import { RegistryFault } from './registry-fault.ts';

const MAX_TOKEN_BYTES = 64 * 1024;
/** Where the answer says nothing (distribution, "Token Authentication Specification"). */
const DEFAULT_LIFETIME_SECONDS = 60;
/** A token is not used so shortly before it ends that it may end on the way. */
const MARGIN_MS = 5000;

const TokenText = Type.Optional(Type.String({ pattern: '^[\\x21-\\x7e]+$' }));
/** `access_token` is the same by its OAuth name. */
const parseToken = compileParser(
  Type.Object({
    token: TokenText,
    access_token: TokenText,
    expires_in: Type.Optional(Type.Number({ minimum: 0 })),
  }),
);

export interface OciAuthorizationDeps {
  readonly client: Pick<RegistryClient, 'get'>;
  readonly basic: Secret | undefined;
  readonly now: () => Date;
  readonly signal: AbortSignal;
  readonly base: URL;
  readonly repository: string;
}

/**
 * What one listing is authorized with. Nothing is sent before the registry asks for it:
 *
 * - `Basic`: the credential itself, to the registry
 * - `Bearer` (RFC 6750, and distribution's token specification): a token, of the realm that the registry names; the credential
 *   goes to that realm, and without one an anonymous token is asked for
 */
export class OciAuthorization {
  readonly #deps: OciAuthorizationDeps;
  #held: { readonly value: Secret; readonly until: number } | undefined;
  logins = 0;

  constructor(deps: OciAuthorizationDeps) {
    this.#deps = deps;
  }

  /** The value of `Authorization`; undefined before the registry has asked for one, and when it has ended. */
  current(): Secret | undefined {
    const { now } = this.#deps;
    return this.#held !== undefined && now().getTime() < this.#held.until ? this.#held.value : undefined;
  }

  refused(host: string): string {
    const what = this.#deps.basic === undefined ? 'it wants a credential' : 'it does not take the credential';
    return `${host} refuses to list ${this.#deps.repository} (401): ${what}; set one with servicectl catalog login`;
  }

  /** @throws RegistryFault where the challenges cannot be met */
  async logIn(challenges: readonly Challenge[]): Promise<void> {
    this.logins += 1;
    const { basic, base } = this.#deps;
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    if (bearer !== undefined) {
      this.#held = await this.#token(bearer);
      return;
    }
    const wantsBasic = challenges.some(({ scheme }) => scheme === 'basic');
    if (wantsBasic && basic !== undefined) {
      this.#held = { value: basic, until: Number.POSITIVE_INFINITY };
      return;
    }
    if (wantsBasic) throw new RegistryFault('refused', this.refused(base.host));
    throw new RegistryFault('unusable', `${base.host} answered 401 and names neither Bearer nor Basic to log in with`);
  }

  async #token({ parameters }: Challenge): Promise<{ readonly value: Secret; readonly until: number }> {
    const { base, client, basic, signal, repository, now } = this.#deps;
    const realm = parameters.get('realm') ?? '';
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    // Of a registry on this machine that speaks plain HTTP, the place may do so too, on this machine.
    const isInClear = base.protocol === 'http:' && url?.protocol === 'http:' && isLoopback(url);
    if (url === undefined || (url.protocol !== 'https:' && !isInClear)) {
      throw new RegistryFault('unusable', `${base.host} names a place to log in at that is not an https:// address`);
    }
    const service = parameters.get('service');
    if (service !== undefined) url.searchParams.set('service', service);
    // Never more than to read this one repository, whatever a challenge names.
    url.searchParams.set('scope', `repository:${repository}:pull`);
    const options = { accept: 'application/json', authorization: basic };
    const token = await client.get(url, options, async (answer) => await this.#readToken(answer), signal);
    const lifetimeMs = (token.expires_in ?? DEFAULT_LIFETIME_SECONDS) * 1000;
    const value = token.token ?? token.access_token;
    if (value === undefined) throw new RegistryFault('unusable', `${url.host} answers with no token`);
    // One that lives shorter than the margin is used all the same: until the registry says that it has ended.
    const until = now().getTime() + Math.max(lifetimeMs - MARGIN_MS, MARGIN_MS);
    return { value: new Secret(`Bearer ${value}`), until };
  }

  async #readToken(answer: RegistryAnswer): Promise<ReturnType<typeof parseToken>> {
    const { status, url } = answer;
    if (status === 401 || status === 403) throw new RegistryFault('refused', this.refused(url.host));
    if (status !== 200)
      throw new RegistryFault('unusable', `${url.host} answered ${status} where a token was asked for`);
    const text = await readText(answer, MAX_TOKEN_BYTES);
    try {
      return parseToken(JSON.parse(text));
    } catch {
      throw new RegistryFault('unusable', `${url.host} answers with something that is not a token`);
    }
  }
}
