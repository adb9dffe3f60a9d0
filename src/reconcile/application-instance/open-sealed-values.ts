import { createHash } from 'node:crypto';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { decryptWith, JweError } from '../../protocol/jwe.ts';
import type { ApplicationInstance } from '../../resources/application-instance.ts';
import { sealedAudience } from '../../resources/sealed-audience.ts';
import type { Secret } from '../../runtime/secret.ts';
import { sealedShapeOf, type SealedShape } from './sealed-shape.ts';

export type Opening =
  | { readonly state: 'opened'; readonly values: Secret; readonly shape: SealedShape; readonly valuesKey: string }
  /** The cluster's keys are not read yet. */
  | { readonly state: 'waiting' }
  | { readonly state: 'failed'; readonly message: string };

/**
 * Opens `spec.sealedValues` for this cluster, namespace and name. `kid` and `aud` are checked before anything is decrypted.
 * The message of a failure never holds what was in them.
 */
export async function openSealedValues(
  { metadata, spec: { sealedValues = '' } }: ApplicationInstance,
  clusterId: string,
  ring: readonly Secret[] | undefined,
): Promise<Opening> {
  if (ring === undefined) return { state: 'waiting' };
  const audience = sealedAudience(clusterId, metadata.namespace ?? '', metadata.name);
  try {
    const values = await decryptWith(ring, sealedValues, { audience });
    const shape = shapeOf(values);
    if (shape === undefined) return { state: 'failed', message: 'what was sealed is not a JSON object' };
    return { state: 'opened', values, shape, valuesKey: valuesKeyOf(sealedValues) };
  } catch (error) {
    if (!(error instanceof JweError)) throw error;
    return { state: 'failed', message: error.message };
  }
}

/**
 * The member of the Secret that holds the values, named after the sealed text: other values are another spec to the release
 * controller, which looks at once, and never takes those of one version of the chart for another's.
 */
export function valuesKeyOf(sealedValues: string): string {
  return `values-${createHash('sha256').update(sealedValues, 'utf8').digest('hex').slice(0, 16)}.yaml`;
}

function shapeOf(values: Secret): SealedShape | undefined {
  try {
    const value = parseExactJson(values.expose());
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (Object.keys(value).length === 0 ? {} : sealedShapeOf(value)) : undefined;
  } catch {
    // The parser's own words would quote the text.
    return undefined;
  }
}
