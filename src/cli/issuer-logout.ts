import type { OidcLogin } from './cli-config.ts';
import { askIssuer, refusalOf, textIn } from './issuer-client.ts';

/**
 * Ends a login at its issuer (RFC 7009), where that can be asked for.
 *
 * @returns why it may go on there; undefined when it has ended, or when there is nothing that could go on
 */
export async function revokeLogin({ issuer, clientId, refreshToken }: OidcLogin): Promise<string | undefined> {
  if (refreshToken === undefined) return undefined;
  try {
    const { body } = await askIssuer(`${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`);
    const endpoint = textIn(body, 'revocation_endpoint');
    if (endpoint === undefined) return `${issuer} has no way to ask for it`;
    const form = { token: refreshToken, token_type_hint: 'refresh_token', client_id: clientId };
    const answer = await askIssuer(endpoint, form);
    return answer.status === 200 ? undefined : refusalOf(answer);
  } catch (error) {
    return error instanceof Error ? error.message : 'unknown error';
  }
}
