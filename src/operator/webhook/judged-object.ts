import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { APPLICATION_INSTANCE_KIND, type ApplicationInstance } from '../../resources/application-instance.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { APPS_API_VERSION, OPS_API_VERSION } from '../../resources/labels.ts';
import { OPERATION_KIND, type Operation } from '../../resources/operation.ts';
import type { AdmissionRequest } from './admission-review.ts';

/**
 * What the checks read of a spec. The whole schema is the API server's to enforce, and an object of a newer version with more
 * in it is judged by what is known of it.
 */
const ReadInstance = Type.Object({
  catalogEntry: Type.String(),
  chart: Type.Object({ type: Type.String(), url: Type.String(), name: Type.String(), version: Type.String() }),
  targetNamespace: Type.Optional(Type.String()),
  sealedValues: Type.Optional(Type.String()),
  suspend: Type.Optional(Type.Boolean()),
});
const ReadOperation = Type.Object({
  template: Type.String(),
  parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  cancel: Type.Optional(Type.Boolean()),
  targetRef: Type.Optional(
    Type.Object({ kind: Type.String(), name: Type.String(), namespace: Type.Optional(Type.String()) }),
  ),
  approval: Type.Optional(Type.Object({ required: Type.Boolean(), statement: Type.Optional(Type.String()) })),
});

export type Judged =
  | { readonly kind: 'ApplicationInstance'; readonly object: ApplicationInstance }
  | { readonly kind: 'Operation'; readonly object: Operation };

/** The objects that are judged, by their resource and group. */
const KINDS: Readonly<Record<string, Judged['kind']>> = {
  'applicationinstances.apps.service.io': 'ApplicationInstance',
  'operations.ops.service.io': 'Operation',
};

/** Which of our kinds a review is about; undefined: of no kind that is judged. */
export function judgedKind({ resource }: AdmissionRequest): Judged['kind'] | undefined {
  const key = `${resource.resource}.${resource.group}`;
  return Object.hasOwn(KINDS, key) ? KINDS[key] : undefined;
}

/** A reviewed object with its name and namespace, which a review may give beside it. */
export function namedObject(request: AdmissionRequest, object: AdmissionRequest['object']): KubeObject | undefined {
  if (object === undefined || object === null) return undefined;
  const { name = request.name ?? '', namespace = request.namespace } = object.metadata;
  const metadata = { ...object.metadata, name, ...(namespace === undefined ? {} : { namespace }) };
  return { ...object, metadata };
}

/** The object as its kind; undefined when what the checks read is not there. */
export function asJudged(kind: Judged['kind'], object: KubeObject): Judged | undefined {
  const spec = object['spec'];
  if (kind === 'ApplicationInstance') {
    if (!Value.Check(ReadInstance, spec)) return undefined;
    const identity = { apiVersion: APPS_API_VERSION, kind: APPLICATION_INSTANCE_KIND };
    return { kind, object: { ...object, ...identity, spec } as ApplicationInstance };
  }
  if (!Value.Check(ReadOperation, spec)) return undefined;
  return { kind, object: { ...object, apiVersion: OPS_API_VERSION, kind: OPERATION_KIND, spec } };
}
