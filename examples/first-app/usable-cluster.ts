import { KubeError, type ClusterApi } from '../../src/kube/cluster-api.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { OPS_API_VERSION } from '../../src/resources/labels.ts';

/**
 * Whether Flux' helm-controller runs here.
 *
 * @throws Error when not even its kinds are served
 */
export async function hasFlux(api: ClusterApi): Promise<boolean> {
  try {
    await api.list(HELM_RELEASE, { limit: 1 });
  } catch (fault) {
    if (fault instanceof KubeError && fault.status === 404) {
      throw new Error('this cluster does not serve HelmRelease (helm.toolkit.fluxcd.io/v2): install Flux there first', {
        cause: fault,
      });
    }
    throw fault;
  }
  try {
    const { items } = await api.list(
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      { fieldSelector: 'metadata.name=helm-controller' },
    );
    return items.length > 0;
  } catch (fault) {
    if (fault instanceof KubeError && fault.status === 404) return false;
    throw fault;
  }
}

/** A cluster that somebody's operator serves is not ours to try things on. */
export async function refuseIfInUse(api: ClusterApi): Promise<void> {
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name: 'clusters.ops.service.io',
  };
  if ((await api.get(definition)) === undefined) return;
  const { items } = await api.list({ apiVersion: OPS_API_VERSION, kind: 'Cluster' });
  const [found] = items;
  if (found === undefined) return;
  const { namespace, name } = found.metadata;
  throw new Error(
    `this cluster is registered already (Cluster ${namespace}/${name}): the demo does not touch what another operator ` +
      'serves, or what an earlier demo was told to keep',
  );
}
