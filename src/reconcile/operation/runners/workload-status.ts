import { findCondition } from '../../../resources/conditions.ts';
import type { Workload } from './workload-target.ts';

/** How far a workload's controller has come, in the words of `kubectl rollout status`. */
export interface Progress {
  readonly state: 'running' | 'done' | 'failed';
  readonly message: string;
}

/** Whether every pod is of the newest template and available. Pure. */
export function rolloutProgress(workload: Workload): Progress {
  if (!isObserved(workload)) return running('its controller has not looked at the change yet');
  if (workload.kind === 'Deployment') return deploymentProgress(workload);
  return workload.kind === 'DaemonSet' ? daemonSetProgress(workload) : statefulSetProgress(workload);
}

/** Whether it has so many pods, all ready. Pure. */
export function scaleProgress(workload: Workload, wanted: number): Progress {
  if (!isObserved(workload)) return running('its controller has not looked at the change yet');
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = workload.status ?? {};
  // A StatefulSet has no availableReplicas before 1.22.
  const ready = workload.kind === 'Deployment' ? availableReplicas : readyReplicas;
  if (replicas === wanted && ready >= wanted) return { state: 'done', message: `${count(wanted)}, all ready` };
  const stuck = progressCondition(workload);
  const why = stuck?.status === 'False' ? `; ${stuck.message ?? ''}` : '';
  return running(`${ready} of ${count(wanted)} ready, ${replicas} there${why}`);
}

function count(replicas: number): string {
  return replicas === 1 ? '1 replica' : `${replicas} replicas`;
}

function deploymentProgress(workload: Workload): Progress {
  const { spec, status } = workload;
  const wanted = spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status ?? {};
  const condition = progressCondition(workload);
  if (condition?.reason === 'ProgressDeadlineExceeded') {
    const said = condition.message === undefined ? '' : `: ${condition.message}`;
    return { state: 'failed', message: `the rollout exceeded its progress deadline${said}` };
  }
  const paused = spec?.paused === true ? '; it is paused (kubectl rollout resume)' : '';
  if (updatedReplicas < wanted) return running(`${updatedReplicas} of ${wanted} pods restarted${paused}`);
  if (replicas > updatedReplicas) return running(`${replicas - updatedReplicas} old pods are still to end${paused}`);
  if (availableReplicas < updatedReplicas) {
    return running(`${availableReplicas} of ${updatedReplicas} restarted pods are available${paused}`);
  }
  return { state: 'done', message: `${pods(updatedReplicas)} restarted and available` };
}

function daemonSetProgress({ status }: Workload): Progress {
  const { desiredNumberScheduled: wanted = 0, updatedNumberScheduled = 0, numberAvailable = 0 } = status ?? {};
  if (updatedNumberScheduled < wanted) return running(`${updatedNumberScheduled} of ${wanted} pods restarted`);
  if (numberAvailable < wanted) return running(`${numberAvailable} of ${wanted} restarted pods are available`);
  return { state: 'done', message: `${pods(wanted)} restarted and available` };
}

function statefulSetProgress({ spec, status }: Workload): Progress {
  const wanted = spec?.replicas ?? 1;
  const { readyReplicas = 0, updatedReplicas = 0, currentRevision, updateRevision } = status ?? {};
  if (readyReplicas < wanted) return running(`${readyReplicas} of ${wanted} pods are ready`);
  const partition = spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  if (partition > 0) {
    const restarts = Math.max(0, wanted - partition);
    if (updatedReplicas < restarts) return running(`${updatedReplicas} of ${restarts} pods restarted`);
    return {
      state: 'done',
      message: `${pods(restarts)} restarted and ready; its partition ${partition} keeps the pods below it as they were`,
    };
  }
  if (updateRevision !== currentRevision) return running(`${updatedReplicas} of ${wanted} pods restarted`);
  return { state: 'done', message: `${pods(wanted)} restarted and ready` };
}

function pods(amount: number): string {
  return amount === 1 ? '1 pod' : `${amount} pods`;
}

function isObserved({ metadata, status }: Workload): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1);
}

function progressCondition({ status }: Workload) {
  return findCondition(status?.conditions, 'Progressing');
}

function running(message: string): Progress {
  return { state: 'running', message };
}
