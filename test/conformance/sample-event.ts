import { randomUUID } from 'node:crypto';

/** A ConditionTransition of an instance that nobody has, as an operator would post it. */
export function sampleEvent(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const uid = randomUUID();
  const now = new Date().toISOString();
  return {
    eventKey: `condition/apps.service.io/v1alpha1/ApplicationInstance/conformance/sample/${uid}/Ready/True@1`,
    kind: 'ConditionTransition',
    resourceRef: {
      apiVersion: 'apps.service.io/v1alpha1',
      kind: 'ApplicationInstance',
      namespace: 'conformance',
      name: 'sample',
      uid,
      generation: 1,
    },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'HelmReleaseReady', message: 'conformance', lastTransitionTime: now },
    ],
    timestamp: now,
    ...changes,
  };
}

/** An event of a direct kind about the cluster itself. */
export function sampleClusterEvent(
  kind: string,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const uid = randomUUID();
  const now = new Date().toISOString();
  return {
    eventKey: `${kind}/${uid}/Authenticated`,
    kind,
    resourceRef: {
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Cluster',
      namespace: 'service-system',
      name: 'conformance',
      uid,
    },
    conditions: [
      { type: 'Authenticated', status: 'True', reason: kind, message: 'conformance', lastTransitionTime: now },
    ],
    timestamp: now,
    ...changes,
  };
}
