import canonicalize from 'canonicalize';

/**
 * The RFC 8785 (JCS) encoding of a JSON value: what MACs, signatures and hashes are made over. Members that are
 * `undefined` are left out, as JSON.stringify does.
 *
 * @throws TypeError for a value without a JSON form (undefined, NaN, Infinity, a lone surrogate, a cycle)
 */
export function canonicalJson(value: unknown): string {
  let text: string | undefined;
  try {
    text = canonicalize(value);
  } catch (error) {
    throw new TypeError(`not representable as canonical JSON: ${error instanceof Error ? error.message : 'unknown'}`, {
      cause: error,
    });
  }
  if (text === undefined) throw new TypeError('not representable as canonical JSON: no value');
  return text;
}
