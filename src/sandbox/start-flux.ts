import { connectCluster } from '../kube/connect-cluster.ts';
import { defineKinds } from '../kube/define-kinds.ts';
import { fluxCrds } from './flux-crds.ts';
import { ChartShelf } from './release-controller/chart-shelf.ts';
import { startReleaseController } from './release-controller/start-release-controller.ts';
import type { SandboxPartDeps } from './sandbox-part.ts';
import type { Sandbox } from './start-sandbox.ts';

const AT_ONCE = { fetchMs: 0, installMs: 0, upgradeMs: 0, uninstallMs: 0 };

/** Gives a sandbox Flux' definitions and the stand-in for its controllers; resolves once they look at every release. */
export async function startFlux(
  sandbox: Pick<Sandbox, 'kubeconfig'>,
  { logger, clock, signal }: SandboxPartDeps,
): Promise<AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const api = started.use(
    connectCluster({
      kubeconfig: { kind: 'text', yaml: sandbox.kubeconfig() },
      userAgent: 'service-sandbox-flux',
      clock,
      random: Math.random,
      logger,
    }),
  );
  const bounds = { clock, ...(signal === undefined ? {} : { signal }) };
  await defineKinds(api, fluxCrds(), { fieldManager: 'service-sandbox', ...bounds });
  const charts = new ChartShelf();
  const controller = started.use(startReleaseController({ api, clock, logger, charts, timing: AT_ONCE }));
  await controller.synced(signal);
  return started.move();
}
