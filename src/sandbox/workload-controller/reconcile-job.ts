import type { ClusterApi } from '../../kube/cluster-api.ts';
import { findCondition } from '../../resources/conditions.ts';
import type { Condition } from '../../protocol/condition.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import type { Clock } from '../../runtime/clock.ts';
import { annotationOf, behaviourOf, logOf, POD_LOG_ANNOTATION } from './steering.ts';

/** Of what the stand-in writes. */
export const WORKLOAD_FIELD_MANAGER = 'kube-controller-manager';

interface JobParts {
  readonly spec?: {
    readonly activeDeadlineSeconds?: number;
    readonly suspend?: boolean;
    readonly template?: {
      readonly metadata?: { readonly labels?: Record<string, string> } | null;
      readonly spec?: PodSpec;
    };
  };
  readonly status?: { readonly startTime?: string; readonly conditions?: readonly Condition[] };
}

interface PodSpec {
  readonly containers?: readonly { readonly name?: string; readonly image?: string }[];
}

/**
 * Takes a Job as far as it goes: one pod, which ends at once or never. One that hangs ends at its activeDeadlineSeconds.
 *
 * @returns milliseconds until there is something to do
 */
export async function reconcileJob(
  { api, clock }: { readonly api: ClusterApi; readonly clock: Clock },
  job: KubeObject,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { spec, status } = job as JobParts;
  const isOver = (['Complete', 'Failed'] as const).some(
    (type) => findCondition(status?.conditions, type)?.status === 'True',
  );
  if (isOver || spec?.suspend === true || job.metadata.deletionTimestamp !== undefined) return undefined;
  const now = clock.now();
  const startTime = status?.startTime ?? rfc3339(now);
  const write = async (next: Record<string, unknown>): Promise<void> => {
    const patch = { status: { startTime, ...next } };
    await api.mergePatch(refOf(job), patch, { fieldManager: WORKLOAD_FIELD_MANAGER, subresource: 'status' }, signal);
  };
  const behaviour = behaviourOf(job);
  const late = spec?.activeDeadlineSeconds;
  const leftMs = late === undefined ? undefined : new Date(startTime).getTime() + late * 1000 - now.getTime();
  if (behaviour === 'hangs' && (leftMs === undefined || leftMs > 0)) {
    await makePod(api, job, 'Running', signal);
    if (status?.startTime === undefined) await write({ active: 1 });
    return leftMs;
  }
  if (behaviour === 'hangs') {
    await deletePod(api, job, signal);
    const message = 'Job was active longer than specified deadline';
    await write({ active: 0, failed: 1, conditions: [ended('Failed', now, { reason: 'DeadlineExceeded', message })] });
    return undefined;
  }
  await makePod(api, job, behaviour === 'succeeds' ? 'Succeeded' : 'Failed', signal);
  if (behaviour === 'succeeds') {
    await write({ active: 0, succeeded: 1, completionTime: rfc3339(now), conditions: [ended('Complete', now, {})] });
  } else {
    const said = { reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
    await write({ active: 0, failed: 1, conditions: [ended('Failed', now, said)] });
  }
  return undefined;
}

function podRef(job: KubeObject) {
  return { apiVersion: 'v1', kind: 'Pod', namespace: job.metadata.namespace ?? '', name: `${job.metadata.name}-pod00` };
}

/** Not scheduled anywhere, so that an API server with a real kubelet behind it does not ask one for its log. */
async function makePod(
  api: ClusterApi,
  job: KubeObject,
  phase: 'Running' | 'Succeeded' | 'Failed',
  signal: AbortSignal,
): Promise<void> {
  const { name, uid = '' } = job.metadata;
  const { template } = (job as JobParts).spec ?? {};
  const ref = podRef(job);
  const log = logOf(job);
  const logs = annotationOf(job, POD_LOG_ANNOTATION) === undefined && log === '' ? {} : { [POD_LOG_ANNOTATION]: log };
  const pod = {
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: {
      name: ref.name,
      namespace: ref.namespace,
      labels: { ...template?.metadata?.labels, 'controller-uid': uid, 'job-name': name },
      annotations: logs,
      ownerReferences: [
        { apiVersion: job.apiVersion, kind: job.kind, name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: template?.spec ?? {},
  };
  if ((await api.get(ref, signal)) === undefined) await api.create(pod, WORKLOAD_FIELD_MANAGER, signal);
  const exitCode = phase === 'Failed' ? 1 : 0;
  const state =
    phase === 'Running'
      ? { running: {} }
      : { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message: log } };
  const containerStatuses = (template?.spec?.containers ?? []).map(({ name: container = '', image = '' }) => ({
    name: container,
    image,
    imageID: '',
    ready: phase === 'Running',
    restartCount: 0,
    state,
  }));
  const options = { fieldManager: 'kubelet', subresource: 'status' } as const;
  await api.mergePatch(ref, { status: { phase, containerStatuses } }, options, signal);
}

async function deletePod(api: ClusterApi, job: KubeObject, signal: AbortSignal): Promise<void> {
  await api.delete(podRef(job), {}, signal);
}

function ended(type: string, now: Date, said: { readonly reason?: string; readonly message?: string }) {
  return { type, status: 'True', lastProbeTime: rfc3339(now), lastTransitionTime: rfc3339(now), ...said };
}

function rfc3339(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
