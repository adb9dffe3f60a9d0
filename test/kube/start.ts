import { parseArgs } from 'node:util';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { defineKinds } from '../../src/kube/define-kinds.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { fluxCrds } from '../../src/sandbox/flux-crds.ts';
import { realClusterSource } from '../support/real-cluster/cluster-source.ts';
import { startRealCluster } from '../support/real-cluster/start-real-cluster.ts';

const USAGE = `usage: node test/kube/start.ts [--flux]

Starts the API server that the tests use, prints the path of its admin's kubeconfig, and ends it at Ctrl-C.

  --flux  with definitions of Flux' kinds, as npm run demo -- --kubeconfig FILE needs them`;

function readArguments(): { readonly flux: boolean } {
  const { values } = parseArgs({
    options: { flux: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  });
  if (!values.help) return { flux: values.flux };
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}

async function installFlux(kubeconfig: string): Promise<void> {
  await using api = connectCluster({
    kubeconfig: { kind: 'text', yaml: kubeconfig },
    userAgent: 'test-kube-start',
    clock: systemClock,
    random: Math.random,
  });
  await defineKinds(api, fluxCrds(), { fieldManager: 'test-kube-start', clock: systemClock });
}

try {
  const { flux } = readArguments();
  const stop = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.resolve());
  const source = realClusterSource();
  const controllerManager = source?.kind !== 'assets' || source.controllerManager !== undefined;
  await using cluster = await startRealCluster({ controllerManager });
  if (flux) await installFlux(cluster.kubeconfig);
  process.stderr.write(`kube-apiserver ${cluster.version} at ${cluster.url}, until Ctrl-C; kubeconfig:\n`);
  process.stdout.write(`${cluster.kubeconfigPath}\n`);
  // Nothing of the cluster's holds this process up by itself.
  const alive = setInterval(() => undefined, 60_000);
  await stop.promise;
  clearInterval(alive);
} catch (fault) {
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n\n${USAGE}\n`);
  process.exitCode = 1;
}
