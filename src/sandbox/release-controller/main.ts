import { parseArgs } from 'node:util';
import { connectCluster } from '../../kube/connect-cluster.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createLogger } from '../../runtime/logger.ts';
import { ChartShelf } from './chart-shelf.ts';
import { startReleaseController } from './start-release-controller.ts';

const TIMES = ['fetch-ms', 'install-ms', 'upgrade-ms', 'uninstall-ms'] as const;
const USAGE = `usage: node src/sandbox/release-controller/main.ts --kubeconfig FILE ${TIMES.map((name) => `[--${name} N]`).join(' ')}`;

function fail(message: string): never {
  process.stderr.write(`${message}\n${USAGE}\n`);
  process.exit(2);
}

function readArguments(): { readonly kubeconfig: string; readonly times: Readonly<Record<string, number>> } {
  try {
    const string = { type: 'string' } as const;
    const options = { kubeconfig: string, ...Object.fromEntries(TIMES.map((name) => [name, string])) };
    const values: Record<string, string | boolean | undefined> = parseArgs({ options }).values;
    const times: Record<string, number> = {};
    for (const name of TIMES) {
      const ms = Number(values[name] ?? 0);
      if (!Number.isInteger(ms) || ms < 0 || ms > 600_000) fail(`--${name}: milliseconds from 0 to 600000`);
      times[name] = ms;
    }
    const kubeconfig = values['kubeconfig'];
    return { kubeconfig: typeof kubeconfig === 'string' ? kubeconfig : fail('--kubeconfig FILE is missing'), times };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { kubeconfig, times } = readArguments();
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());
const logger = createLogger('release-controller', 'warn');

function connect(): ReturnType<typeof connectCluster> {
  try {
    return connectCluster({
      kubeconfig: { kind: 'file', path: kubeconfig },
      userAgent: 'service-sandbox-release-controller',
      clock: systemClock,
      random: Math.random,
      logger,
    });
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

await using api = connect();
await using controller = startReleaseController({
  api,
  clock: systemClock,
  logger,
  charts: new ChartShelf(),
  timing: {
    fetchMs: times['fetch-ms'] ?? 0,
    installMs: times['install-ms'] ?? 0,
    upgradeMs: times['upgrade-ms'] ?? 0,
    uninstallMs: times['uninstall-ms'] ?? 0,
  },
});
const stopped = new Promise<'stopped'>((resolve) => {
  stop.signal.addEventListener('abort', () => resolve('stopped'), { once: true });
});
const state = await Promise.race([controller.synced(stop.signal).then(() => 'ready' as const), stopped]);
if (state === 'ready') {
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
  await stopped;
}
