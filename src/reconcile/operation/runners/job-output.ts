import { KubeError } from '../../../kube/cluster-api.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import type { RunnerDeps } from '../template-runner.ts';

const MAX_OUTPUT_BYTES = 32 * 1024;
const TAIL_LINES = 400;
/** Lines of ten times the usual length still fit. */
const MAX_LOG_BYTES = 512 * 1024;
const MOST_PODS = 20;

interface ContainerStatus {
  readonly name?: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly message?: string };
  };
}

export interface JobPod extends KubeObject {
  readonly spec?: { readonly containers?: readonly { readonly name?: string }[] };
  readonly status?: { readonly containerStatuses?: readonly ContainerStatus[] };
}

/** The newest pod of a Job; undefined where there is none, or where pods may not be listed. */
export async function newestPod(
  { api }: RunnerDeps,
  job: KubeObject,
  signal: AbortSignal,
): Promise<JobPod | undefined> {
  const { name, namespace = '', uid } = job.metadata;
  const options = { namespace, labelSelector: `job-name=${name}`, atMost: MOST_PODS };
  const items = await unlessRefused(signal, async () => {
    return (await api.list<JobPod>({ apiVersion: 'v1', kind: 'Pod' }, options, signal)).items;
  });
  // A label is anybody's to set.
  const own = (items ?? []).filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  return own.toSorted((a, b) => createdAt(b).localeCompare(createdAt(a)))[0];
}

/** Why the pod does not come up, where its containers say so. */
export function waitingReason({ status }: JobPod): string | undefined {
  for (const { state } of status?.containerStatuses ?? []) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || reason === 'ContainerCreating' || reason === 'PodInitializing') continue;
    return message === undefined ? reason : `${reason}: ${message}`;
  }
  return undefined;
}

/**
 * The end of what the pod's first container wrote, at most 32 KiB; its termination message where the log cannot be had
 * (its node is gone, the right is missing). Undefined where there is neither.
 */
export async function jobOutput(deps: RunnerDeps, pod: JobPod, signal: AbortSignal): Promise<string | undefined> {
  const { name, namespace = '' } = pod.metadata;
  const container = pod.spec?.containers?.[0]?.name;
  const log = await unlessRefused(signal, async () => {
    const options = {
      tailLines: TAIL_LINES,
      limitBytes: MAX_LOG_BYTES,
      ...(container === undefined ? {} : { container }),
    };
    return await deps.api.podLog({ namespace, name }, options, signal);
  });
  const said = pod.status?.containerStatuses?.find((status) => status.name === container)?.state?.terminated?.message;
  const text = log === undefined || log === '' ? said : log;
  return text === undefined || text === '' ? undefined : tail(text);
}

/** The last lines that fit; a first one that does not fit whole is left out, or cut where it is the only one. */
export function tail(text: string, maxBytes = MAX_OUTPUT_BYTES): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const note = '[cut: only the end is kept]\n';
  let start = bytes.length - (maxBytes - note.length);
  const line = bytes.indexOf(0x0a, start);
  if (line !== -1 && line + 1 < bytes.length) start = line + 1;
  // Never in the middle of a character of UTF-8.
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return note + bytes.subarray(start).toString();
}

/** What a job wrote is an extra: that it cannot be had, or not in time, is no reason to ask again. An abort is thrown on. */
async function unlessRefused<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof KubeError) || signal.aborted) throw error;
    return undefined;
  }
}

function createdAt({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? '';
}
