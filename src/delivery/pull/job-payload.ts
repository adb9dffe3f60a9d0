import type { EventKind } from '../../protocol/event.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import type { Job } from '../../protocol/job.ts';
import { decryptWith, JweError } from '../../protocol/jwe.ts';
import { PayloadSignatureError, verifyPayload } from '../../protocol/payload-signature.ts';
import type { PublicJwk } from '../../protocol/register.ts';
import type { Secret } from '../../runtime/secret.ts';

/** How the cluster wants payloads to travel, and what it opens and verifies them with. */
export interface PayloadSecurity {
  readonly clusterId: string;
  readonly signingKeys: readonly PublicJwk[];
  readonly requireSignedPayloads: boolean;
  readonly requireEncryptedSecretPayloads: boolean;
  /** Private keys of the cluster, the current one first. */
  readonly keyRing: readonly Secret[];
}

/** Why a job's payload is not taken, in words that never hold what is in it. */
export interface PayloadRefusal {
  readonly message: string;
  /** It is of a delivery epoch that the configuration does not know: that may be the older of the two. */
  readonly isAhead?: true;
  /** The audit event that it is worth. */
  readonly event?: Extract<EventKind, 'JobPayloadSignatureInvalid' | 'JobPayloadDecryptionFailed'>;
}

export type PayloadReading =
  | { readonly ok: true; readonly payload: Readonly<Record<string, unknown>>; readonly isSigned: boolean }
  | { readonly ok: false; readonly refusal: PayloadRefusal };

/**
 * The plain payload of a job: decrypted where it came encrypted, then verified (the control plane signs, then encrypts).
 * Whatever is wrong with it is an answer, not an error.
 */
export async function openPayload(job: Job, security: PayloadSecurity): Promise<PayloadReading> {
  const { payload, encryptedPayload } = job;
  if (payload !== undefined && encryptedPayload !== undefined) {
    return refuse('the job carries both payload and encryptedPayload; one of them is expected');
  }
  if (payload !== undefined) return await verify(job, payload, security);
  if (encryptedPayload === undefined) return refuse('the job carries neither payload nor encryptedPayload');
  const decrypted = await decrypt(encryptedPayload, security);
  return decrypted.ok ? await verify(job, decrypted.payload, security) : decrypted;
}

async function decrypt(encryptedPayload: string, { keyRing }: PayloadSecurity): Promise<PayloadReading> {
  const event = 'JobPayloadDecryptionFailed';
  let text: Secret;
  try {
    text = await decryptWith(keyRing, encryptedPayload);
  } catch (error) {
    if (!(error instanceof JweError)) throw error;
    return refuse(`the payload cannot be decrypted (${error.code}): ${error.message}`, event);
  }
  const payload = parseObject(text);
  // What a parser says of its text would quote it.
  return payload === undefined
    ? refuse('the payload cannot be read: what was decrypted is not one JSON object', event)
    : { ok: true, payload, isSigned: false };
}

async function verify(
  job: Job,
  payload: Readonly<Record<string, unknown>>,
  security: PayloadSecurity,
): Promise<PayloadReading> {
  const { kind, idempotencyKey, expiresAt, signature } = job;
  const event = 'JobPayloadSignatureInvalid';
  if (signature === undefined) {
    if (!security.requireSignedPayloads) return { ok: true, payload, isSigned: false };
    return refuse('the payload carries no signature, and this cluster requires one (requireSignedPayloads)', event);
  }
  try {
    const expected = { cluster_id: security.clusterId, kind, idempotencyKey, expiresAt };
    await verifyPayload({ jws: signature, payload, keys: security.signingKeys, expected });
    return { ok: true, payload, isSigned: true };
  } catch (error) {
    if (!(error instanceof PayloadSignatureError)) throw error;
    return refuse(`the signature of the payload is not taken (${error.code}): ${error.message}`, event);
  }
}

function parseObject(text: Secret): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseExactJson(text.expose());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function refuse(message: string, event?: PayloadRefusal['event']): PayloadReading {
  return { ok: false, refusal: { message, ...(event === undefined ? {} : { event }) } };
}
