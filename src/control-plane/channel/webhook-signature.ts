import { createHmac } from 'node:crypto';
import { Secret } from '../../runtime/secret.ts';

const PREFIX = 'whsec_';
const KEY_BYTES = 32;

/** A key to sign with, as receivers are given it: `whsec_` and base64 (Standard Webhooks 1.0.0, "Signature scheme"). */
export function newWebhookSecret(randomBytes: (n: number) => Uint8Array): Secret {
  return new Secret(`${PREFIX}${Buffer.from(randomBytes(KEY_BYTES)).toString('base64')}`);
}

/**
 * The headers of one attempt (Standard Webhooks 1.0.0): `webhook-id` is the same at each attempt, `webhook-timestamp` is
 * Unix seconds, `webhook-signature` is `v1,` and the base64 of HMAC-SHA-256 over `<id>.<timestamp>.<body>`.
 */
export function signWebhook(message: {
  readonly secret: Secret;
  readonly id: string;
  readonly at: Date;
  /** As it is sent, byte for byte. */
  readonly body: string;
}): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const { secret, id, at, body } = message;
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(secret.expose().slice(PREFIX.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8').digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` };
}
