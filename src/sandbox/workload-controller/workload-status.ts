import { createHash } from 'node:crypto';
import { findCondition, setCondition } from '../../resources/conditions.ts';
import type { Condition } from '../../protocol/condition.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import { behaviourOf } from './steering.ts';

/** A DaemonSet has a pod on each of so many nodes, which are not there either. */
const NODES = 3;

interface Spec {
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly template?: unknown;
  readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
}

interface Status {
  readonly updateRevision?: string;
  readonly currentRevision?: string;
  readonly conditions?: readonly Condition[];
}

/** What the controller of a Deployment, StatefulSet or DaemonSet says of it, once all pods are as far as they come. Pure. */
export function workloadStatus(object: KubeObject, now: Date): Readonly<Record<string, unknown>> {
  const spec = (object['spec'] ?? {}) as Spec;
  const status = (object['status'] ?? {}) as Status;
  const observedGeneration = object.metadata.generation ?? 1;
  if (object.kind === 'DaemonSet') return { observedGeneration, ...daemonSet(object, spec) };
  const rest = object.kind === 'Deployment' ? deployment(object, spec, status, now) : statefulSet(object, spec, status);
  return { observedGeneration, ...rest };
}

function deployment(object: KubeObject, spec: Spec, status: Status, now: Date): Readonly<Record<string, unknown>> {
  const { replicas = 1, paused = false } = spec;
  const set = `${object.metadata.name}-${revisionOf(object)}`;
  const behaviour = behaviourOf(object);
  const before = status.conditions ?? [];
  const isNew = findCondition(before, 'Progressing')?.message?.includes(`"${set}"`) !== true;
  // A paused one scales, and rolls nothing out.
  const keepsOld = paused && isNew && before.length > 0;
  const comesUp = behaviour === 'succeeds' && !keepsOld;
  const up = comesUp ? replicas : 0;
  const progressing = {
    succeeds: {
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `ReplicaSet "${set}" has successfully progressed.`,
    },
    hangs: { status: 'True', reason: 'ReplicaSetUpdated', message: `ReplicaSet "${set}" is progressing.` },
    fails: {
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `ReplicaSet "${set}" has timed out progressing.`,
    },
  } as const;
  const available =
    up === replicas
      ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
      : {
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        };
  const says = keepsOld
    ? ({ status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' } as const)
    : progressing[behaviour];
  const conditions = setCondition(
    setCondition(before, { type: 'Available', ...(available as { status: 'True' }) }, now),
    { type: 'Progressing', ...says },
    now,
  );
  return {
    replicas,
    updatedReplicas: keepsOld ? 0 : replicas,
    readyReplicas: keepsOld ? replicas : up,
    availableReplicas: keepsOld ? replicas : up,
    unavailableReplicas: keepsOld ? 0 : replicas - up,
    conditions: conditions.map((condition) => ({ lastUpdateTime: condition.lastTransitionTime, ...condition })),
  };
}

function statefulSet(object: KubeObject, spec: Spec, status: Status): Readonly<Record<string, unknown>> {
  const { replicas = 1, updateStrategy } = spec;
  const updateRevision = `${object.metadata.name}-${revisionOf(object)}`;
  const before = status.currentRevision ?? updateRevision;
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  const isNew = before !== updateRevision;
  const comesUp = behaviourOf(object) === 'succeeds';
  const waits = isNew && (updateStrategy?.type === 'OnDelete' || partition > 0 || !comesUp);
  const updated = isNew && (updateStrategy?.type === 'OnDelete' || !comesUp) ? 0 : Math.max(0, replicas - partition);
  return {
    replicas,
    readyReplicas: comesUp ? replicas : 0,
    updatedReplicas: isNew ? updated : replicas,
    currentReplicas: isNew ? replicas - updated : replicas,
    currentRevision: waits ? before : updateRevision,
    updateRevision,
    collisionCount: 0,
  };
}

function daemonSet(object: KubeObject, { updateStrategy }: Spec): Readonly<Record<string, unknown>> {
  const comesUp = behaviourOf(object) === 'succeeds';
  return {
    desiredNumberScheduled: NODES,
    currentNumberScheduled: NODES,
    updatedNumberScheduled: updateStrategy?.type === 'OnDelete' ? 0 : NODES,
    numberMisscheduled: 0,
    numberReady: comesUp ? NODES : 0,
    numberAvailable: comesUp ? NODES : 0,
    numberUnavailable: comesUp ? 0 : NODES,
  };
}

/** Two templates that differ in anything have two revisions. */
function revisionOf(object: KubeObject): string {
  const { template } = (object['spec'] ?? {}) as Spec;
  return createHash('sha256')
    .update(JSON.stringify(template ?? null))
    .digest('hex')
    .slice(0, 10);
}
