import type { KubeObject } from '../resources/kube-object.ts';
import { PAUSED_ANNOTATION } from '../resources/labels.ts';

/** Break-glass: whether the annotation on this object stops writes there. Only "true" does. */
export function isPaused(object: KubeObject | undefined): boolean {
  return object?.metadata.annotations?.[PAUSED_ANNOTATION] === 'true';
}

/** Says where the annotation stands, who set it and when, and how to go on. Undefined when it does not. */
export function pauseOf(object: KubeObject | undefined): string | undefined {
  if (object === undefined || !isPaused(object)) return undefined;
  const { name, namespace } = object.metadata;
  const at = namespace === undefined ? '' : `-n ${namespace} `;
  const group = object.apiVersion.includes('/') ? `.${object.apiVersion.replace(/\/.*$/, '')}` : '';
  return (
    `writes are paused by ${PAUSED_ANNOTATION} on ${object.kind} ${name}${setBy(object)}; to go on: ` +
    `kubectl annotate ${at}${object.kind.toLowerCase()}${group} ${name} ${PAUSED_ANNOTATION}-`
  );
}

/** The field manager that owns the annotation: `kubectl-annotate` for a person, the name of a tool otherwise. */
function setBy({ metadata }: KubeObject): string {
  const owner = metadata.managedFields?.find(({ fieldsV1 }) => {
    const annotations = fieldAt(fieldAt(fieldsV1, 'f:metadata'), 'f:annotations');
    return fieldAt(annotations, `f:${PAUSED_ANNOTATION}`) !== undefined;
  });
  if (owner?.manager === undefined) return '';
  return ` (set by ${owner.manager}${owner.time === undefined ? '' : `, last at ${owner.time}`})`;
}

function fieldAt(fields: unknown, name: string): unknown {
  return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>)[name] : undefined;
}
