import { KubeError } from '../kube/cluster-api.ts';
import { KIND_NOT_FOUND } from '../kube/kube-fault.ts';
import { APPLICATION_INSTANCE_KIND } from '../resources/application-instance.ts';
import { HELM_RELEASE } from '../resources/flux-helm-release.ts';
import { HELM_REPOSITORY } from '../resources/flux-helm-repository.ts';
import { OCI_REPOSITORY } from '../resources/flux-oci-repository.ts';
import type { KubeObject, ObjectRef } from '../resources/kube-object.ts';
import { APPLICATION_INSTANCE_LABEL, MANAGED_BY_LABEL, MANAGED_BY_VALUE } from '../resources/labels.ts';
import { isDenied } from '../kube/read-failure.ts';
import type { Pass } from './pass.ts';

const MADE_KINDS = [HELM_RELEASE, OCI_REPOSITORY, HELM_REPOSITORY];

/**
 * What was made of an instance that is gone, in words for people, with how to end it; undefined when nothing is there.
 * Nobody but a person takes it away: whoever deleted the instance by hand may have wanted it to stay.
 *
 * @throws KubeError
 */
export async function leftOverOf(pass: Pass, ref: ObjectRef, signal: AbortSignal): Promise<string | undefined> {
  const { namespace, name, kind } = ref;
  if (kind !== APPLICATION_INSTANCE_KIND || namespace === undefined || !pass.mayRead(ref)) return undefined;
  const made = await pass.onceFor(namespace, async () => await madeIn(pass, namespace, signal));
  if (made === 'hidden') {
    return (
      `the operator may not see what there is in namespace ${namespace}: ` +
      `kubectl -n ${namespace} get helmreleases,ocirepositories,helmrepositories -l ${APPLICATION_INSTANCE_LABEL}=${name}`
    );
  }
  const left = made.filter(({ metadata }) => metadata.labels?.[APPLICATION_INSTANCE_LABEL] === name);
  if (left.length === 0) return undefined;
  const named = left.map((object) => `${object.kind} ${namespace}/${object.metadata.name}`).join(', ');
  const targets = left.map((object) => `${object.kind.toLowerCase()}/${object.metadata.name}`).join(' ');
  return `what was made of it stays: ${named}; to uninstall that too: kubectl -n ${namespace} delete ${targets}`;
}

/** What stands in a namespace that was made of instances, and is not on its way out. */
export type MadeObjects = readonly KubeObject[] | 'hidden';

async function madeIn(pass: Pass, namespace: string, signal: AbortSignal): Promise<MadeObjects> {
  const found: KubeObject[] = [];
  for (const kind of MADE_KINDS) {
    const options = { namespace, labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY_VALUE}` };
    try {
      const { items } = await pass.deps.api.list<KubeObject>(kind, options, signal);
      found.push(...items.map((item) => ({ ...item, ...kind })));
    } catch (error) {
      if (isDenied(error)) return 'hidden';
      if (!(error instanceof KubeError) || error.reason !== KIND_NOT_FOUND) throw error;
    }
  }
  return found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
