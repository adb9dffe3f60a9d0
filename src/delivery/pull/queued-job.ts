import { intentIdempotencyKey } from '../../intent/intent-key.ts';
import type { RenderInputs } from '../../intent/render.ts';
import type { Rendered } from '../../intent/rendered.ts';
import type { JobKind } from '../../protocol/job.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { APPROVAL_ANNOTATION, SIGNATURE_ANNOTATION } from '../../resources/labels.ts';
import { formatSource } from '../../resources/source-annotation.ts';

/** What a job asks for, before the queue gives it an id and its times. */
export interface QueuedJob {
  readonly intentId: string;
  readonly kind: JobKind;
  readonly targetKind: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly deliveryEpoch: number;
  readonly idempotencyKey: string;
  /** JSON. */
  readonly payload: string;
}

/**
 * The job of a rendered intent: `apply` with the whole manifest, `delete` with an object reference and its place in the order, or
 * `intent` with the record itself, which the operator renders, and its place.
 *
 * @param deliverIntents the cluster's setting
 */
export function queuedJob(rendered: Rendered, deliverIntents: boolean): QueuedJob {
  const { intent, target } = rendered;
  return {
    intentId: intent.id,
    targetKind: rendered.kind === 'apply' ? rendered.object.kind : rendered.tombstone.kind,
    namespace: intent.namespace,
    name: intent.name,
    generation: intent.generation,
    deliveryEpoch: target.deliveryEpoch,
    ...(deliverIntents
      ? { kind: 'intent', ...intentPayload(rendered) }
      : {
          kind: rendered.kind,
          idempotencyKey: rendered.idempotencyKey,
          payload: JSON.stringify(rendered.kind === 'apply' ? rendered.object : objectReference(rendered)),
        }),
  };
}

/**
 * The record as the operator renders it. Default values stand in the catalog of the control plane alone, so they are among
 * its values already, under the key of the record that was accepted; what of a rendered object the operator cannot make itself goes beside them.
 */
function intentPayload(rendered: Rendered): Pick<QueuedJob, 'idempotencyKey' | 'payload'> {
  const { intent } = rendered;
  const source = sourceOf(rendered);
  if (rendered.kind === 'delete') {
    const { uid } = rendered.tombstone;
    const payload = JSON.stringify({ ...intent, ...(uid === undefined ? {} : { objectUid: uid }), source });
    return { idempotencyKey: intentIdempotencyKey(intent), payload };
  }
  const values = (rendered.object['spec'] as { readonly values?: Record<string, unknown> } | undefined)?.values;
  const record = values === undefined ? intent : { ...intent, values };
  const objectSignature = rendered.object.metadata.annotations?.[SIGNATURE_ANNOTATION];
  const approval = approvalOf(rendered.object);
  const payload = JSON.stringify({
    ...record,
    ...(objectSignature === undefined ? {} : { objectSignature }),
    ...(approval === undefined ? {} : { approval }),
    source,
  });
  return { idempotencyKey: intentIdempotencyKey(intent), payload };
}

/** That it needs an approval, and the one that was given: neither is in the record. */
function approvalOf(object: KubeObject): RenderInputs['approval'] {
  const inSpec = (object['spec'] as { readonly approval?: RenderInputs['approval'] } | undefined)?.approval;
  const statement = object.metadata.annotations?.[APPROVAL_ANNOTATION];
  return inSpec ?? (statement === undefined ? undefined : { required: true, statement });
}

function objectReference(rendered: Extract<Rendered, { kind: 'delete' }>): object {
  const { apiVersion, kind, namespace, name, uid } = rendered.tombstone;
  return { apiVersion, kind, namespace, name, ...(uid === undefined ? {} : { uid }), source: sourceOf(rendered) };
}

/** Under the signature too: by the members of the job alone an old deletion could be sent again as a new one. */
function sourceOf({ intent, target }: Rendered): string {
  return formatSource({ epoch: target.deliveryEpoch, generation: intent.generation });
}
