import { once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../runtime/clock.ts';
import { createLogger } from '../runtime/logger.ts';
import { startFlux } from './start-flux.ts';
import { startSandbox } from './start-sandbox.ts';
import { startVelero } from './start-velero.ts';
import { startWorkloads } from './start-workloads.ts';

const USAGE = `usage: node src/sandbox/main.ts --kubeconfig FILE [--port N] [--flux] [--velero]

Starts a Kubernetes API server in memory, writes its admin's kubeconfig to FILE, and ends at Ctrl-C.

  --flux    with Flux' definitions, and stand-ins for its controllers and for those of Deployments, StatefulSets, DaemonSets
            and Jobs, which play charts and pods and start no container
  --velero  with Velero's kinds and a stand-in for its server, which keeps backups in memory, in the namespace velero

Accounts may do everything: no role or binding limits anybody here, so push mode's probe warns of too many rights.`;

function fail(message: string): never {
  process.stderr.write(`${message}\n${USAGE}\n`);
  process.exit(2);
}

interface Arguments {
  readonly kubeconfig: string;
  readonly port: number;
  readonly flux: boolean;
  readonly velero: boolean;
}

function readArguments(): Arguments {
  try {
    const { values } = parseArgs({
      options: {
        kubeconfig: { type: 'string' },
        port: { type: 'string' },
        flux: { type: 'boolean', default: false },
        velero: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(`${USAGE}\n`);
      process.exit(0);
    }
    const port = Number(values.port ?? 0);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) fail('--port: a number from 0 to 65535');
    const { flux, velero } = values;
    return { kubeconfig: values.kubeconfig ?? fail('--kubeconfig FILE is missing'), port, flux, velero };
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

/** Written beside and moved, so that nobody reads half a file and an older file's wider mode does not stay. */
async function writePrivately(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

const { kubeconfig, port, flux, velero } = readArguments();
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort());

try {
  await using sandbox = await startSandbox({ port });
  const deps = { logger: createLogger('sandbox', 'warn'), clock: systemClock, signal: stop.signal };
  await using _flux = flux ? await startFlux(sandbox, deps) : undefined;
  await using _workloads = flux ? await startWorkloads(sandbox, deps) : undefined;
  await using _velero = velero ? await startVelero(sandbox, deps) : undefined;
  await writePrivately(kubeconfig, sandbox.kubeconfig()).catch((error: NodeJS.ErrnoException) =>
    fail(`--kubeconfig ${kubeconfig}: cannot be written (${error.code})`),
  );
  process.stdout.write(`${JSON.stringify({ url: sandbox.url, kubeconfig })}\n`);
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
} catch (error) {
  // Ended while it was starting.
  if (!stop.signal.aborted) throw error;
}
