import { createHash, createHmac } from 'node:crypto';
import type { IntentRequest } from '../intent/intent-request.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import type { MasterKey } from './master-key.ts';

/**
 * Tells a repeated request from another one, lower-case hex. With secret values it is keyed: from a plain hash they could
 * be guessed by whoever reads the database.
 */
export function requestHash(request: IntentRequest, masterKey: Pick<MasterKey, 'derive'>): string {
  const text = canonicalJson(request);
  const hash =
    request.secretValues === undefined
      ? createHash('sha256')
      : createHmac('sha256', masterKey.derive('intent-request-hash'));
  return hash.update(text, 'utf8').digest('hex');
}
