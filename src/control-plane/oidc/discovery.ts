import { Type, type Static } from 'typebox';
import { compileParser } from '../../protocol/parse.ts';

const Address = Type.String({ minLength: 1, maxLength: 2048 });

/** Of OpenID Connect Discovery 1.0 (section 3), what is used here. */
const Metadata = Type.Object({
  issuer: Address,
  jwks_uri: Address,
  authorization_endpoint: Address,
  token_endpoint: Address,
  /** RFC 8628, section 4. */
  device_authorization_endpoint: Type.Optional(Address),
  scopes_supported: Type.Optional(Type.Array(Type.String(), { maxItems: 500 })),
});
export type Metadata = Static<typeof Metadata>;

const parseMetadata = compileParser(Metadata);

export function discoveryAddress(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/**
 * What an issuer says of itself.
 *
 * @throws Error with a line that may be shown: it is another issuer's, or names an address that nobody may be sent to
 */
export function readMetadata(document: unknown, issuer: string): Metadata {
  const metadata = parseMetadata(document);
  if (metadata.issuer !== issuer) {
    throw new Error(
      `the discovery document is of the issuer ${metadata.issuer}; SERVICE_OIDC_ISSUER must be exactly that, or it is the wrong one`,
    );
  }
  for (const name of [
    'jwks_uri',
    'authorization_endpoint',
    'token_endpoint',
    'device_authorization_endpoint',
  ] as const) {
    const address = metadata[name];
    if (address !== undefined && !isSafeAddress(address)) {
      throw new Error(`the discovery document names as ${name} what is not an https:// address`);
    }
  }
  return metadata;
}

/** Who is in between could put keys of its own there: plain HTTP is for what does not leave this machine. */
export function isSafeAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
