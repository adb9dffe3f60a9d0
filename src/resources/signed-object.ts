import { objectIdempotencyKey } from '../protocol/idempotency-key.ts';
import type { KubeObject } from './kube-object.ts';
import { SIGNATURE_ANNOTATION, SOURCE_ANNOTATION } from './labels.ts';
import { parseSource } from './source-annotation.ts';

/**
 * What the signature of a delivered object is over, in every mode: `{apiVersion, kind, namespace, name, spec, source}`
 * (decisions, "Jobs"). Labels, other annotations and the status may change without it.
 */
export function signedContent(object: KubeObject): Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata } = object;
  const { namespace, name, annotations } = metadata;
  return { apiVersion, kind, namespace, name, spec: object['spec'], source: annotations?.[SOURCE_ANNOTATION] };
}

/** `kind` and `idempotencyKey` of that signature's header. Undefined without a place in the order of deliveries. */
export function signedContext(
  object: KubeObject,
): { readonly kind: 'apply'; readonly idempotencyKey: string } | undefined {
  const { namespace = '', name, annotations } = object.metadata;
  const source = parseSource(annotations?.[SOURCE_ANNOTATION]);
  if (source === undefined) return undefined;
  return { kind: 'apply', idempotencyKey: objectIdempotencyKey(object.kind, namespace, name, source.generation) };
}

/** The object with its signature in the annotation `app.service.io/signature`. */
export function withSignature(object: KubeObject, signature: string): KubeObject {
  const annotations = { ...object.metadata.annotations, [SIGNATURE_ANNOTATION]: signature };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
