/**
 * A cluster of the benchmark, a process of its own: the sandbox with Flux' definitions, which remembers what was written
 * and when. Writes its admin's kubeconfig to the file that it is given, and answers `GET /` with the writes.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

/** One write that was carried out, as it is answered. */
export interface SeenWrite {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly userAgent: string;
  readonly generation: number;
  /** Of an object that says so: it is Ready at its generation. */
  readonly ready: boolean;
}

interface Answered {
  readonly metadata?: { readonly generation?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const [, , kubeconfig = ''] = process.argv;
const stop = Promise.withResolvers<void>();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.resolve());

await using sandbox = await startSandbox();
const writes: SeenWrite[] = [];
sandbox.audit.listen(({ method, path, userAgent = '', answer }) => {
  const [, resource = path, name = '', subresource = ''] =
    /^\/apis?\/.*?v[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(path) ?? [];
  const { metadata, status } = answer as Answered;
  const { generation = 0 } = metadata ?? {};
  const ready =
    status?.observedGeneration === generation &&
    status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
  writes.push({ at: Date.now(), method, resource, subresource, name, userAgent, generation, ready });
});
const teller = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(writes));
});
await new Promise<void>((resolve) => {
  teller.listen(0, '127.0.0.1', resolve);
});
writeFileSync(kubeconfig, sandbox.kubeconfig(), { mode: 0o600 });
process.stdout.write(`http://127.0.0.1:${(teller.address() as AddressInfo).port}\n`);
await stop.promise;
teller.close();
teller.closeAllConnections();
