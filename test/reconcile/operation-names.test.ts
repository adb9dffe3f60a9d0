import { describe, expect, it } from 'vitest';
import { decidePush } from '../../src/delivery/push/decide-push.ts';
import { decideApply } from '../../src/reconcile/decide-apply.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import type { Operation, OperationSpec, OperationStatus } from '../../src/resources/operation.ts';
import { anInstance, aNamespace, aPolicy, CLUSTER_ID, live as liveOf } from './manifests.ts';

const SPEC = { template: 'run-job', parameters: { image: 'busybox' } } as const;

function anOperation(intentId: string, source: string, spec: Partial<OperationSpec> = {}): Operation {
  const { metadata } = anInstance({ name: 'job', source, intentId });
  return {
    apiVersion: 'ops.service.io/v1alpha1',
    kind: 'Operation',
    metadata: { ...metadata, namespace: 'shop' },
    spec: { ...SPEC, ...spec },
  };
}

const ENDED: OperationStatus = {
  phase: 'Succeeded',
  attempts: 1,
  conditions: [{ type: 'Succeeded', status: 'True', reason: 'JobCompleted', message: 'done' }],
};
const RUNS: OperationStatus = { phase: 'Running', attempts: 1 };

function live(operation: Operation, status?: OperationStatus): KubeObject {
  return liveOf({ ...operation, ...(status === undefined ? {} : { status }) });
}

function madeByHand(status?: OperationStatus): KubeObject {
  const {
    labels: _labels,
    annotations: _annotations,
    ...metadata
  } = live(anOperation('int-1', '1.1'), status).metadata;
  return { ...live(anOperation('int-1', '1.1'), status), metadata };
}

function saidOf(desired: Operation, there: KubeObject): readonly (string | undefined)[] {
  const decision = decideApply({
    desired,
    live: there,
    namespace: aNamespace(),
    policy: aPolicy(),
    record: undefined,
    lastPair: undefined,
    signature: { state: 'valid' },
  });
  const pushed = decidePush({ desired, live: there, clusterId: CLUSTER_ID, isHandover: false });
  const outcome = decision.kind === 'refuse' ? decision.outcome : undefined;
  const message = outcome !== undefined && 'message' in outcome ? outcome.message : undefined;
  return [message, pushed.kind === 'end' && 'message' in pushed.pushed ? pushed.pushed.message : undefined];
}

describe('an operation under the name of one that has begun', () => {
  it.each<[string, KubeObject, RegExp]>([
    [
      'ended for another intent',
      live(anOperation('int-1', '1.1'), ENDED),
      /came by intent int-1 and has begun.*another name$/,
    ],
    [
      'runs for another intent',
      live(anOperation('int-1', '1.1'), RUNS),
      /came by intent int-1 and has begun.*another name$/,
    ],
    ['was made by hand', madeByHand(ENDED), /was not brought by the control plane and has begun.*another name$/],
  ])('is not made of one that %s, and its end is not taken for its own', (_, there, said) => {
    for (const message of saidOf(anOperation('int-2', '1.2'), there)) expect(message).toMatch(said);
  });

  it('may be handed over where it has not begun', () => {
    for (const message of saidOf(anOperation('int-2', '1.2'), madeByHand()))
      expect(message).toMatch(/hand it over with/);
  });

  it('is the same one where its intent is, and where it is cancelled', () => {
    const there = live(anOperation('int-1', '1.1'), RUNS);
    expect(saidOf(anOperation('int-1', '2.1'), there)).toEqual([undefined, undefined]);
    expect(saidOf(anOperation('int-2', '1.2', { cancel: true }), there)).toEqual([undefined, undefined]);
  });
});
