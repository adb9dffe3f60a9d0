import { ConfigError } from '../config-error.ts';
import type { ConfigVariables } from '../config-variables.ts';
import { isSafeAddress } from './discovery.ts';

export interface OidcConfig {
  /** Exactly as the provider's tokens say it. */
  readonly issuer: string;
  /** Whom its tokens must be for. */
  readonly audience: string;
  /** As which client people sign in. */
  readonly clientId: string;
}

/** @throws ConfigError */
export function readOidc(variables: ConfigVariables): OidcConfig | undefined {
  const {
    SERVICE_OIDC_ISSUER: issuer,
    SERVICE_OIDC_AUDIENCE: audience,
    SERVICE_OIDC_CLIENT_ID: clientId = audience,
  } = variables;
  if (issuer === undefined) {
    const other = audience === undefined ? 'SERVICE_OIDC_CLIENT_ID' : 'SERVICE_OIDC_AUDIENCE';
    if (clientId !== undefined) throw new ConfigError('SERVICE_OIDC_ISSUER', `must be set together with ${other}`);
    return undefined;
  }
  if (!isSafeAddress(issuer)) {
    throw new ConfigError(
      'SERVICE_OIDC_ISSUER',
      "must be an https:// address (http:// on this machine alone): keys that are read over plain HTTP could be anybody's",
    );
  }
  if (audience === undefined || clientId === undefined) {
    throw new ConfigError('SERVICE_OIDC_AUDIENCE', 'must be set together with SERVICE_OIDC_ISSUER');
  }
  return { issuer, audience, clientId };
}
