import type { KubeObject } from '../../../resources/kube-object.ts';
import { MADE_BY_ANNOTATION, OPERATION_UID_LABEL } from '../../../resources/labels.ts';
import { isSealed, sealOf } from '../../own-seal.ts';
import type { OperationRun, RunnerDeps } from '../template-runner.ts';

const PURPOSE = 'service-operator-made';

/**
 * The object as it is made for the operation: with its label, and with the operator's seal over whose it is. The UID can be
 * read by anybody while an operation waits, so a label alone would let a planted object tell how the operation ended.
 */
export function asMadeHere(object: KubeObject, run: OperationRun, { keyRing }: RunnerDeps): KubeObject {
  const { metadata } = object;
  const ring = keyRing?.();
  // Made without a seal now, it would be taken for planted once the keys are read.
  if (keyRing !== undefined && ring === undefined) throw new Error('the keys of this cluster are not read yet');
  const [key] = ring ?? [];
  const seal = key && sealOf(PURPOSE, contentOf(metadata.name, run), run.policy.clusterId, key);
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [OPERATION_UID_LABEL]: run.operation.metadata.uid ?? '' },
      ...(seal === undefined ? {} : { annotations: { ...metadata.annotations, [MADE_BY_ANNOTATION]: seal } }),
    },
  };
}

/** Whether the object was made by this operator for this operation. Without keys there is no seal, and the label counts. */
export function isMadeHere({ metadata }: KubeObject, run: OperationRun, { keyRing }: RunnerDeps): boolean {
  if (metadata.labels?.[OPERATION_UID_LABEL] !== run.operation.metadata.uid) return false;
  const ring = keyRing?.() ?? [];
  const seal = metadata.annotations?.[MADE_BY_ANNOTATION] ?? '';
  return ring.length === 0 || isSealed(seal, PURPOSE, contentOf(metadata.name, run), run.policy.clusterId, ring);
}

function contentOf(name: string, { operation }: OperationRun): Readonly<Record<string, string>> {
  return { operation: operation.metadata.uid ?? '', name };
}
