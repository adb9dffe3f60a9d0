import { setOwn } from '../../protocol/own-property.ts';

/** Which members sealed values set, all the way down, without what they set them to. */
export type SealedShape = true | { readonly [member: string]: SealedShape };

export function sealedShapeOf(value: unknown): SealedShape {
  if (!isMap(value) || Object.keys(value).length === 0) return true;
  const shape: Record<string, SealedShape> = {};
  for (const [name, member] of Object.entries(value)) setOwn(shape, name, sealedShapeOf(member));
  return shape;
}

/**
 * Values without what the sealed ones set. Flux merges `spec.values` over everything of `valuesFrom`, so a default that
 * stayed there would win over the secret that was asked for in its place.
 */
export function withoutSealed(
  values: Readonly<Record<string, unknown>>,
  shape: SealedShape,
): Record<string, unknown> | undefined {
  if (shape === true) return undefined;
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const sealed = Object.hasOwn(shape, name) ? shape[name] : undefined;
    const kept = sealed === undefined ? value : isMap(value) ? withoutSealed(value, sealed) : undefined;
    if (kept !== undefined) setOwn(rest, name, kept);
  }
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
