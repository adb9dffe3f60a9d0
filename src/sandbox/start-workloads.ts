import { connectCluster } from '../kube/connect-cluster.ts';
import { systemClock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sandbox } from './start-sandbox.ts';
import { startWorkloadController } from './workload-controller/start-workload-controller.ts';

/** Gives a sandbox the stand-in for the controllers of workloads and Jobs; resolves once they look at every one. */
export async function startWorkloads(sandbox: Pick<Sandbox, 'kubeconfig'>, logger: Logger): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'service-sandbox-workloads',
      clock: systemClock,
      random: Math.random,
      logger,
    }),
  );
  const controller = started.use(startWorkloadController({ api, clock: systemClock, logger }));
  await controller.synced();
  return started.move();
}
