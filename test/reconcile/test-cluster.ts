import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { ClusterApi } from '../../src/kube/cluster-api.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { aNamespace } from './manifests.ts';

export const logger = createLogger('test', 'silent');

export interface TestCluster extends AsyncDisposable {
  readonly sandbox: Sandbox;
  /** As an admin. */
  readonly api: ClusterApi;
}

/** A sandbox with our kinds, Flux' kinds, the operator's namespace and `shop`. */
export async function startTestCluster(): Promise<TestCluster> {
  const sandbox = await startSandbox({ tls: false });
  const api = connectCluster({
    kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
    userAgent: 'test',
    clock: systemClock,
    random: Math.random,
  });
  const kinds = ['apps.service.io_applicationinstances', 'ops.service.io_operations'].map(async (file) =>
    parse(await readFile(new URL(`../../crds/${file}.yaml`, import.meta.url), 'utf8')),
  );
  const objects = [...((await Promise.all(kinds)) as KubeObject[]), ...fluxCrds()];
  for (const object of [...objects, aNamespace('service-system', { labels: {} }), aNamespace('shop')]) {
    await api.create(object, 'test');
  }
  await sandbox.settled();
  return {
    sandbox,
    api,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
