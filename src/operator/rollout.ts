import type { KubeObject } from '../resources/kube-object.ts';

/** The part of an `apps/v1` Deployment that is looked at. */
export interface DeploymentObject extends KubeObject {
  spec?: {
    replicas?: number;
    template?: { spec?: { containers?: readonly { readonly name: string; readonly image?: string }[] } };
  };
  status?: {
    observedGeneration?: number;
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

export interface Rollout {
  readonly state: 'done' | 'going' | 'failed';
  readonly message: string;
}

/** How far a Deployment is with its newest template, as `kubectl rollout status` tells it. */
export function rolloutOf({ metadata, spec, status }: DeploymentObject): Rollout {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { state: 'going', message: 'the change has not been seen yet' };
  }
  const conditions = status?.conditions ?? [];
  const failed = conditions.find(
    ({ type, status: is, reason }) =>
      (type === 'Progressing' && is === 'False' && reason === 'ProgressDeadlineExceeded') ||
      (type === 'ReplicaFailure' && is === 'True'),
  );
  if (failed !== undefined) return { state: 'failed', message: failed.message ?? failed.reason ?? failed.type };
  const wanted = spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = status ?? {};
  const message = `${updatedReplicas} of ${wanted} pods are new, ${readyReplicas} of ${replicas} are ready`;
  const done = updatedReplicas >= wanted && replicas === updatedReplicas && readyReplicas >= wanted;
  return { state: done ? 'done' : 'going', message };
}
