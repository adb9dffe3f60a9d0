import { describe, expect, it } from 'vitest';
import { rolloutProgress, scaleProgress } from '../../../../src/reconcile/operation/runners/workload-status.ts';
import type { Workload } from '../../../../src/reconcile/operation/runners/workload-target.ts';

type Spec = NonNullable<Workload['spec']>;
type Status = NonNullable<Workload['status']>;

function a(kind: string, spec: Spec, status: Status): Workload {
  const metadata = { name: 'web', namespace: 'shop', generation: 2 };
  return { apiVersion: 'apps/v1', kind, metadata, spec, status: { observedGeneration: 2, ...status } };
}

const late = {
  type: 'Progressing',
  status: 'False',
  reason: 'ProgressDeadlineExceeded',
  message: 'timed out',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const;
const revisions = { currentRevision: 'a', updateRevision: 'b' };

describe('a rollout', () => {
  it.each<[string, Spec, Status, string]>([
    ['Deployment', {}, { observedGeneration: 1 }, 'running: its controller has not looked at the change yet'],
    ['Deployment', { replicas: 3 }, { replicas: 3, updatedReplicas: 1 }, 'running: 1 of 3 pods restarted'],
    [
      'Deployment',
      { replicas: 3, paused: true },
      { replicas: 3, updatedReplicas: 1 },
      'running: 1 of 3 pods restarted; it is paused (kubectl rollout resume)',
    ],
    ['Deployment', { replicas: 3 }, { replicas: 4, updatedReplicas: 3 }, 'running: 1 old pods are still to end'],
    [
      'Deployment',
      { replicas: 3 },
      { replicas: 3, updatedReplicas: 3, availableReplicas: 2 },
      'running: 2 of 3 restarted pods are available',
    ],
    [
      'Deployment',
      {},
      { replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
      'done: 1 pod restarted and available',
    ],
    ['Deployment', { replicas: 0 }, {}, 'done: 0 pods restarted and available'],
    [
      'Deployment',
      { replicas: 3 },
      { conditions: [late] },
      'failed: the rollout exceeded its progress deadline: timed out',
    ],
    ['DaemonSet', {}, { desiredNumberScheduled: 3, updatedNumberScheduled: 1 }, 'running: 1 of 3 pods restarted'],
    [
      'DaemonSet',
      {},
      { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2 },
      'running: 2 of 3 restarted pods are available',
    ],
    ['StatefulSet', { replicas: 2 }, { readyReplicas: 1 }, 'running: 1 of 2 pods are ready'],
    [
      'StatefulSet',
      { replicas: 2 },
      { readyReplicas: 2, updatedReplicas: 1, ...revisions },
      'running: 1 of 2 pods restarted',
    ],
    [
      'StatefulSet',
      { replicas: 3, updateStrategy: { rollingUpdate: { partition: 1 } } },
      { readyReplicas: 3, updatedReplicas: 1, ...revisions },
      'running: 1 of 2 pods restarted',
    ],
    [
      'StatefulSet',
      { replicas: 3, updateStrategy: { rollingUpdate: { partition: 1 } } },
      { readyReplicas: 3, updatedReplicas: 2, ...revisions },
      'done: 2 pods restarted and ready; its partition 1 keeps the pods below it as they were',
    ],
    ['StatefulSet', { replicas: 2 }, { readyReplicas: 2, updatedReplicas: 2 }, 'done: 2 pods restarted and ready'],
  ])('of a %s with %j and %j', (kind, spec, status, said) => {
    const { state, message } = rolloutProgress(a(kind, spec, status));
    expect(`${state}: ${message}`).toBe(said);
  });
});

describe('a change of the number of replicas', () => {
  it.each<[string, number, Status, string]>([
    ['Deployment', 3, { observedGeneration: 1, replicas: 3, availableReplicas: 3 }, 'running: its controller'],
    [
      'Deployment',
      3,
      { replicas: 3, readyReplicas: 3, availableReplicas: 2 },
      'running: 2 of 3 replicas ready, 3 there',
    ],
    ['Deployment', 1, { replicas: 3, availableReplicas: 3 }, 'running: 3 of 1 replica ready, 3 there'],
    ['Deployment', 0, {}, 'done: 0 replicas, all ready'],
    ['Deployment', 3, { replicas: 3, conditions: [late] }, 'running: 0 of 3 replicas ready, 3 there; timed out'],
    // Before 1.22 a StatefulSet has no availableReplicas.
    ['StatefulSet', 2, { replicas: 2, readyReplicas: 2 }, 'done: 2 replicas, all ready'],
  ])('of a %s to %i with %j', (kind, wanted, status, said) => {
    const { state, message } = scaleProgress(a(kind, {}, status), wanted);
    expect(`${state}: ${message}`.startsWith(said)).toBe(true);
  });
});
