import { approvedSpecHash } from '../protocol/approval-statement.ts';

/**
 * What may have been approved for the spec to be as it is: the spec, and the same without `suspend` and `cancel`. Who
 * suspends what was approved, lets it go on again or cancels it, does nothing that another would have to approve.
 */
export function approvableHashes(spec: object): readonly string[] {
  const plain = withoutStops(spec);
  const isPlain = Object.keys(plain).length === Object.keys(spec).length;
  return (isPlain ? [spec] : [spec, plain]).flatMap((one) => hashOf(one) ?? []);
}

/** The hash that a spec is released under where it needs no approval; undefined: it has no canonical form. */
export function releasableHash(spec: object): string | undefined {
  return hashOf(withoutStops(spec));
}

function withoutStops(spec: object): object {
  const { suspend: _suspend, cancel: _cancel, ...rest } = spec as Readonly<Record<string, unknown>>;
  return rest;
}

function hashOf(spec: object): string | undefined {
  try {
    return approvedSpecHash(spec as Readonly<Record<string, unknown>>);
  } catch {
    return undefined;
  }
}
