import { connectCluster } from '../kube/connect-cluster.ts';
import type { SandboxPartDeps } from './sandbox-part.ts';
import type { Sandbox } from './start-sandbox.ts';
import { startWorkloadController } from './workload-controller/start-workload-controller.ts';

/** Gives a sandbox the stand-in for the controllers of workloads and Jobs; resolves once they look at every one. */
export async function startWorkloads(
  sandbox: Pick<Sandbox, 'kubeconfig'>,
  { logger, clock, signal }: SandboxPartDeps,
): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'service-sandbox-workloads',
      clock,
      random: Math.random,
      logger,
    }),
  );
  const controller = started.use(startWorkloadController({ api, clock, logger }));
  await controller.synced(signal);
  return started.move();
}
