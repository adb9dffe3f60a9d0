import { connectCluster } from '../../src/kube/connect-cluster.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { ChartShelf, type ShelfChart } from '../../src/sandbox/release-controller/chart-shelf.ts';
import { startReleaseController } from '../../src/sandbox/release-controller/start-release-controller.ts';
import type { OperatorWorld } from './operator-world.ts';

/** A stand-in for Flux in the world's cluster, which takes no time for what it does but upgrades. */
export function playReleases(world: OperatorWorld, charts: readonly ShelfChart[], upgradeMs = 0): AsyncDisposable {
  const api = connectCluster({
    kubeconfig: { kind: 'text', yaml: world.cluster.sandbox.kubeconfig() },
    userAgent: 'release-controller',
    clock: systemClock,
    random: Math.random,
  });
  const controller = startReleaseController({
    api,
    clock: systemClock,
    logger: createLogger('test', 'silent'),
    charts: new ChartShelf(charts),
    timing: { fetchMs: 0, installMs: 0, upgradeMs, uninstallMs: 0 },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await controller[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}
