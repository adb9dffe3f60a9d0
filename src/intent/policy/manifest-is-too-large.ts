import type { IntentRequest } from '../intent-request.ts';
import type { PolicyContext } from '../policy-context.ts';
import { MAX_MANIFEST_BYTES } from '../rendered.ts';
import type { Violation } from '../violation.ts';

/** The rendered manifest is over 512 KiB. Judged once there is one. */
export function manifestIsTooLarge(intent: IntentRequest, context: PolicyContext): Violation[] {
  const bytes = context.manifestBytes ?? 0;
  if (bytes <= MAX_MANIFEST_BYTES) return [];
  const message = `the manifest is ${bytes} bytes with these ${fieldOf(intent)}; at most ${MAX_MANIFEST_BYTES} bytes (512 KiB) are allowed`;
  return [
    { code: 'payload_too_large', path: `/${fieldOf(intent)}`, message, allowed: { maxBytes: MAX_MANIFEST_BYTES } },
  ];
}

function fieldOf({ action }: IntentRequest): string {
  return action === 'operate' ? 'parameters' : 'values';
}
