import { KubeError } from '../../../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../../../kube/kube-fault.ts';
import type { KubeObject } from '../../../resources/kube-object.ts';
import type { WatchedView } from '../../watched.ts';
import { NEXT, type InstancePass, type StepResult } from '../instance-pass.ts';

export async function observeDownstream(pass: InstancePass): Promise<StepResult> {
  const { releases, ociRepositories, helmRepositories } = pass.watches.flux;
  pass.release = await read(pass, releases);
  pass.ociRepository = await read(pass, ociRepositories);
  pass.helmRepository = await read(pass, helmRepositories);
  return NEXT;
}

async function read<T extends KubeObject>(pass: InstancePass, watched: WatchedView<T>): Promise<T | undefined> {
  const { name, namespace, deletionTimestamp } = pass.instance.metadata;
  try {
    return await watched.get(namespace, name, pass.signal);
  } catch (error) {
    // With its kind an object is gone too: an instance that is to go must not wait for Flux to be installed again.
    const isKindGone = error instanceof KubeError && error.reason === KIND_NOT_FOUND;
    if (isKindGone && deletionTimestamp !== undefined) return undefined;
    throw error;
  }
}
