import { createHash } from 'node:crypto';
import { canonicalJson } from '../protocol/canonical-json.ts';

/** Tells one manifest from another: base64url of SHA-256 over its canonical JSON. */
export function fingerprint(manifest: unknown): string {
  return createHash('sha256').update(canonicalJson(manifest)).digest('base64url');
}

/**
 * Whether everything that `desired` says is so in `live`. What `live` has beyond it (defaults, other managers' fields) does
 * not count; lists are compared whole, but for objects inside them, as server-side apply does with atomic lists.
 */
export function holds(live: unknown, desired: unknown): boolean {
  if (Array.isArray(desired)) {
    return (
      Array.isArray(live) && live.length === desired.length && desired.every((item, index) => holds(live[index], item))
    );
  }
  if (isRecord(desired)) {
    if (!isRecord(live)) return Object.keys(desired).length === 0 && live === undefined;
    return Object.entries(desired).every(([key, value]) => value === undefined || holds(live[key], value));
  }
  // API servers differ in whether they keep an explicit null.
  return live === desired || (desired === null && live === undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
