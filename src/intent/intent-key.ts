import { createHash } from 'node:crypto';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { IntentRecord } from './intent-record.ts';

/**
 * Idempotency key of an intent payload: `intent/sha256-<base64url>` over the canonical record without what does not
 * change its effect (id, requestedBy, requestedAt, reason).
 */
export function intentIdempotencyKey(record: IntentRecord): string {
  const { id: _id, requestedBy: _requestedBy, requestedAt: _requestedAt, reason: _reason, ...effect } = record;
  return `intent/sha256-${createHash('sha256').update(canonicalJson(effect), 'utf8').digest('base64url')}`;
}
