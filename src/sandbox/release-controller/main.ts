import { parseArgs } from 'node:util';
import { connectCluster } from '../../kube/connect-cluster.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createLogger } from '../../runtime/logger.ts';
import { ChartShelf, demoCharts } from './chart-shelf.ts';
import { startReleaseController } from './start-release-controller.ts';

const USAGE = `usage: node src/sandbox/release-controller/main.ts --kubeconfig FILE [--action-ms N]

Stands in for Flux's source- and helm-controller on a cluster that serves their kinds. --action-ms is how long fetching a
chart and each of Helm's actions take (default 0).`;

function fail(message: string): never {
  process.stderr.write(`${message}\n${USAGE}\n`);
  process.exit(2);
}

function readArguments(): { readonly kubeconfig: string; readonly actionMs: number } {
  try {
    const { values } = parseArgs({ options: { kubeconfig: { type: 'string' }, 'action-ms': { type: 'string' } } });
    const actionMs = Number(values['action-ms'] ?? 0);
    if (!Number.isInteger(actionMs) || actionMs < 0) fail('--action-ms: a whole number of milliseconds');
    return { kubeconfig: values.kubeconfig ?? fail('--kubeconfig FILE is missing'), actionMs };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { kubeconfig, actionMs } = readArguments();
const stop = Promise.withResolvers<void>();
process.once('SIGTERM', () => stop.resolve());
process.once('SIGINT', () => stop.resolve());

const logger = createLogger('release-controller', 'warn');
await using api = connectCluster({
  kubeconfig: { kind: 'file', path: kubeconfig },
  userAgent: 'helm-controller/stand-in',
  clock: systemClock,
  random: Math.random,
  logger,
});
await using controller = startReleaseController({
  api,
  clock: systemClock,
  logger,
  charts: new ChartShelf(demoCharts()),
  timing: { fetchMs: actionMs, installMs: actionMs, upgradeMs: actionMs, uninstallMs: actionMs },
});
await controller.synced();
process.stdout.write(`${JSON.stringify({ ready: true, actionMs })}\n`);
await stop.promise;
