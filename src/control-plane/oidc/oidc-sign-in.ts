import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Secret } from '../../runtime/secret.ts';
import { identityOfMember, type SignedIn } from '../store/admin-tokens.ts';
import { accessOf, memberScopes } from '../store/members.ts';
import type { Store } from '../store/open-store.ts';
import { memberOf } from './bind-member.ts';
import { organizationsOf } from './choose-organization.ts';
import type { Metadata } from './discovery.ts';
import type { OidcConfig } from './oidc-config.ts';
import { OidcIssuer } from './oidc-issuer.ts';
import { verifyOidcToken } from './verify-token.ts';

export interface OidcSignInDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** Lets in who presents a token of the identity provider, as the member that he or she is. */
export class OidcSignIn implements AsyncDisposable {
  readonly config: OidcConfig;
  readonly #deps: OidcSignInDeps;
  readonly #issuer: OidcIssuer;

  constructor(config: OidcConfig, deps: OidcSignInDeps) {
    this.config = config;
    this.#deps = deps;
    this.#issuer = new OidcIssuer({ ...deps, issuer: config.issuer });
  }

  /**
   * @param organization the one that is meant; without it, the only one that it can be (`chooseMember`)
   * @throws ChooseOrganizationError, AppError `invalid_token`, `expired_token`, `forbidden`, `unavailable`
   */
  async identify(
    token: Secret,
    organization: string | undefined,
  ): Promise<{ readonly identity: SignedIn; readonly lastUsedAt: string | null }> {
    const { store, clock } = this.#deps;
    const now = clock.now();
    const claims = await verifyOidcToken(token.expose(), { ...this.config, keys: this.#issuer, now });
    const { member, all } = await memberOf({ store }, claims, { wanted: organization, now });
    const identity: SignedIn = {
      ...identityOfMember(member),
      access: accessOf(member),
      scopes: memberScopes(member),
      organization: { id: member.organization_id, name: member.organization_name },
      organizations: organizationsOf(all),
      via: 'oidc',
      expiresAt: claims.expiresAt,
    };
    return { identity, lastUsedAt: member.last_seen_at };
  }

  /** Where and as what client to sign in. @throws AppError `unavailable` */
  async metadata(): Promise<Metadata> {
    return await this.#issuer.metadata();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#issuer[Symbol.asyncDispose]();
  }
}
