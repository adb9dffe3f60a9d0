import { createInformer } from '../../src/kube/informer.ts';
import type { Informer } from '../../src/kube/cluster-api.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { APPS_API_VERSION, OPERATOR_NAMESPACE, OPS_API_VERSION } from '../../src/resources/labels.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import type { ClusterView } from './follow-intent.ts';
import type { Stage } from './stage.ts';

export interface WatchedCluster extends AsyncDisposable {
  readonly view: () => ClusterView;
}

/** Watches the cluster's own objects for one application, as `kubectl get -w` would. */
export async function watchCluster(
  stage: Stage,
  app: { readonly namespace: string; readonly name: string },
): Promise<WatchedCluster> {
  const stop = new AbortController();
  const logger = createLogger('demo', 'silent');
  const inform = (apiVersion: string, kind: string, namespace: string): Informer<KubeObject> =>
    createInformer<KubeObject>({
      api: stage.api,
      kind: { apiVersion, kind },
      namespace,
      clock: systemClock,
      random: Math.random,
      logger,
    });
  const clusters = inform(OPS_API_VERSION, 'Cluster', OPERATOR_NAMESPACE);
  const instances = inform(APPS_API_VERSION, 'ApplicationInstance', app.namespace);
  const releases = inform('helm.toolkit.fluxcd.io/v2', 'HelmRelease', app.namespace);
  const informers = [clusters, instances, releases];
  const running = informers.map(async (informer) => await informer.run(stop.signal));
  await Promise.all(informers.map(async (informer) => await informer.synced(stop.signal)));
  return {
    view: () => ({
      attemptedRevision: attemptedRevision(clusters.get(OPERATOR_NAMESPACE, stage.slug)),
      instance: instances.get(app.namespace, app.name),
      release: releases.get(app.namespace, app.name),
    }),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.allSettled(running);
    },
  };
}

function attemptedRevision(cluster: KubeObject | undefined): string | undefined {
  return (cluster?.['status'] as { attemptedRevision?: string } | undefined)?.attemptedRevision;
}
