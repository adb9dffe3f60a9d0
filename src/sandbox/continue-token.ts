import { isJsonObject } from './json-value.ts';
import { badRequest } from './status-error.ts';

/** Where the next page of a listing starts: after `key`, as of `revision`. Opaque to clients. */
export interface ContinueToken {
  readonly revision: number;
  readonly key: string;
}

export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.key })).toString(
    'base64url',
  );
}

/** @throws StatusError 400 */
export function decodeContinue(text: string): ContinueToken {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (isJsonObject(value) && typeof value['rv'] === 'number' && typeof value['start'] === 'string') {
      return { revision: value['rv'], key: value['start'] };
    }
  } catch {
    // Falls through to the refusal.
  }
  throw badRequest('continue key is not valid: illegal base64 data or not a continue token');
}
