import { Type, type Static } from 'typebox';
import { Timestamp } from './condition.ts';
import { PublicJwk } from './register.ts';

/** Body of `POST /api/agent/credentials/rotate`; may be absent. */
export const RotateRequest = Type.Object({
  /** PKCS #10 as PEM: asks for a client certificate. */
  csr: Type.Optional(Type.String({ maxLength: 16_384 })),
  /** A new encryption key of the cluster; what was sealed to the earlier one still opens there. */
  public_key: Type.Optional(PublicJwk),
});
export type RotateRequest = Static<typeof RotateRequest>;

/** Answer of `POST /api/agent/credentials/rotate`. `token` is shown this once. */
export const RotateResponse = Type.Object({
  token: Type.String(),
  expires_at: Timestamp,
  rotate_after: Timestamp,
  client_certificate: Type.Optional(Type.String()),
});
export type RotateResponse = Static<typeof RotateResponse>;

/** Body of `POST /api/agent/credentials/recover`: without any credential. */
export const RecoverRequest = Type.Object({ cluster_id: Type.String({ minLength: 1, maxLength: 64 }) });
export type RecoverRequest = Static<typeof RecoverRequest>;

/** Answer: the bearer token as compact JWE to the cluster's registered key; only who holds that key can read it. */
export const RecoverResponse = Type.Object({
  token_jwe: Type.String(),
  expires_at: Timestamp,
  rotate_after: Timestamp,
});
export type RecoverResponse = Static<typeof RecoverResponse>;
