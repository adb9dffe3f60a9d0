import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Secret } from '../../runtime/secret.ts';
import type { HostKind } from './repository-address.ts';

/** What GitLab's signing token begins with (Standard Webhooks 1.0.0); behind it is the key in base64. */
const SIGNING_PREFIX = 'whsec_';
/** Between the clocks of the host and of this program (Standard Webhooks names five minutes). */
const MAX_SKEW_MS = 5 * 60_000;

/** A delivery as it came, byte for byte. */
export interface WebhookDelivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Whether a delivery was made with the repository's webhook secret, as its host proves that:
 *
 * - GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA-256 of the body (docs.github.com/en/webhooks, "Validating webhook
 *   deliveries")
 * - Gitea and Forgejo: `X-Gitea-Signature: <hex>`, the same (services/webhook/deliver.go of Gitea)
 * - GitLab: `webhook-signature` of Standard Webhooks where a signing token is set (since 19.0), over id, time and body; else
 *   the secret token itself, `X-Gitlab-Token`
 */
export function isSigned(host: HostKind, delivery: WebhookDelivery, secret: Secret, now: Date): boolean {
  const { headers, body } = delivery;
  const key = secret.expose();
  switch (host) {
    case 'github':
      return isSame(textOf(headers['x-hub-signature-256']), `sha256=${hexHmac(key, body)}`);
    case 'gitea':
      return isSame(textOf(headers['x-gitea-signature']), hexHmac(key, body));
    case 'gitlab':
      return headers['webhook-signature'] === undefined
        ? isSame(textOf(headers['x-gitlab-token']), key)
        : isStandard(delivery, key, now);
    case 'git':
      return false;
  }
}

function isStandard({ headers, body }: WebhookDelivery, secret: string, now: Date): boolean {
  const [id, time] = [textOf(headers['webhook-id']), textOf(headers['webhook-timestamp'])];
  if (!/^\d{1,12}$/.test(time) || Math.abs(Number(time) * 1000 - now.getTime()) > MAX_SKEW_MS) return false;
  const encoded = secret.startsWith(SIGNING_PREFIX) ? secret.slice(SIGNING_PREFIX.length) : secret;
  const mac = createHmac('sha256', Buffer.from(encoded, 'base64'));
  const expected = `v1,${mac.update(`${id}.${time}.`).update(body).digest('base64')}`;
  const given = textOf(headers['webhook-signature']).split(' ').slice(0, 8);
  return given.some((signature) => isSame(signature, expected));
}

function hexHmac(key: string, body: Buffer): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

/** In a time that does not depend on where they differ, nor on how long the given one is. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function textOf(header: string | string[] | undefined): string {
  return [header].flat()[0] ?? '';
}
