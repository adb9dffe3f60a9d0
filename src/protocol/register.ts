import { Type, type Static } from 'typebox';
import { Timestamp } from './condition.ts';
import { ConnectivityMode } from './connectivity-mode.ts';

/** A public key as RFC 7517 JWK. Private members are refused where one is uploaded. */
export const PublicJwk = Type.Object({
  kty: Type.String({ maxLength: 16 }),
  crv: Type.Optional(Type.String({ maxLength: 32 })),
  x: Type.Optional(Type.String({ maxLength: 512 })),
  y: Type.Optional(Type.String({ maxLength: 512 })),
  kid: Type.Optional(Type.String({ maxLength: 256 })),
  use: Type.Optional(Type.String({ maxLength: 16 })),
  alg: Type.Optional(Type.String({ maxLength: 32 })),
});
export type PublicJwk = Static<typeof PublicJwk>;

export const JwkSet = Type.Object({ keys: Type.Array(PublicJwk, { maxItems: 16 }) });
export type JwkSet = Static<typeof JwkSet>;

/** Body of `POST /api/agent/register`. The token may come as `Authorization: Bearer` instead. */
export const RegisterRequest = Type.Object({
  token: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  cluster_uid: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  public_key: Type.Optional(PublicJwk),
  csr: Type.Optional(Type.String({ maxLength: 16384 })),
  operator_version: Type.Optional(
    Type.String({
      pattern: '^[\\u0020-\\u007e]{1,64}$',
      description: 'one line of 1 to 64 printable ASCII characters',
    }),
  ),
});
export type RegisterRequest = Static<typeof RegisterRequest>;

/** Answer of `POST /api/agent/register`. `token` is shown this once. */
export const RegisterResponse = Type.Object({
  cluster_id: Type.String(),
  token: Type.String(),
  expires_at: Timestamp,
  rotate_after: Timestamp,
  connectivity_mode: ConnectivityMode,
  signing_public_keys: JwkSet,
  /** PEM root of the server certificate; empty where the control plane has none to tell: without TLS of its own, or with a public root. */
  ca_certificate: Type.String(),
  /** PEM: the certificate that `csr` asked for, then the authority's. */
  client_certificate: Type.Optional(Type.String()),
});
export type RegisterResponse = Static<typeof RegisterResponse>;
