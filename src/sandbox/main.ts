import { rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startSandbox } from './start-sandbox.ts';

const USAGE = 'usage: node src/sandbox/main.ts --kubeconfig FILE [--port N]';

function fail(message: string): never {
  process.stderr.write(`${message}\n${USAGE}\n`);
  process.exit(2);
}

function readArguments(): { readonly kubeconfig: string; readonly port: number } {
  try {
    const { values } = parseArgs({ options: { kubeconfig: { type: 'string' }, port: { type: 'string' } } });
    const port = Number(values.port ?? 0);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) fail('--port: a number from 0 to 65535');
    return { kubeconfig: values.kubeconfig ?? fail('--kubeconfig FILE is missing'), port };
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

const { kubeconfig, port } = readArguments();
const stop = Promise.withResolvers<void>();
process.once('SIGTERM', () => stop.resolve());
process.once('SIGINT', () => stop.resolve());

await using sandbox = await startSandbox({ port });
await writePrivately(kubeconfig, sandbox.kubeconfig());
process.stdout.write(`${JSON.stringify({ url: sandbox.url, kubeconfig })}\n`);
await stop.promise;
