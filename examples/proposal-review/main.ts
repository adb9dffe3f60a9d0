import { parseArgs } from 'node:util';
import { plainProgress, silentProgress, type Progress } from '../first-app/progress.ts';
import { setStage } from '../first-app/stage.ts';
import { ProposalReview, type Told } from './proposal-review.ts';

const USAGE = `node examples/proposal-review/main.ts [--json]

A control plane, a sandbox cluster and its operator. The cluster's intents wait for approval: an author proposes an upgrade,
a reviewer of role security reads its diff and approves, and it is merged, applied and ready. A second proposal goes stale
before it is approved, and is rendered and approved anew. Everything listens on 127.0.0.1 and is gone at the end.

  --json   print one JSON object and nothing else`;

const CLUSTER = {
  slug: 'prod-eu',
  displayName: 'Production, Europe',
  connectivityMode: 'gitops',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  intervals: { eventBatchMs: 20 },
  git: { review: 'proposal', requiredApprovals: { count: 1, roles: { security: 1 } } },
} as const;

/** Ctrl-C, a TERM signal or a closed pipe: everything is taken down, nothing is an error. */
class Stopped extends Error {}

async function main(json: boolean, stop: AbortSignal): Promise<boolean> {
  const write = (text: string): void => void process.stdout.write(text);
  const progress: Progress = json ? silentProgress : plainProgress(write);
  const staging = setStage({
    progress,
    kubeconfig: undefined,
    keepFolder: () => false,
    keepTraces: false,
    cluster: CLUSTER,
  });
  await using taken = new AsyncDisposableStack();
  taken.defer(async () => await (await staging.catch(() => undefined))?.[Symbol.asyncDispose]());
  const stopped = Promise.withResolvers<never>();
  stop.addEventListener('abort', () => stopped.reject(new Stopped()), { once: true });
  const told: Told = await Promise.race([
    staging.then(async (stage) => await new ProposalReview({ stage, progress }).run()),
    stopped.promise,
  ]);
  if (json) write(`${JSON.stringify(told, null, 2)}\n`);
  else write(told.ok ? '\nEverything went as expected.\n' : '\nNOT everything went as expected: see above.\n');
  return told.ok;
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
process.stdout.on('error', () => stop.abort());
try {
  const { values } = parseArgs({
    options: { json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  });
  if (values.help) process.stdout.write(`${USAGE}\n`);
  else process.exitCode = (await main(values.json, stop.signal)) ? 0 : 1;
} catch (fault) {
  if (fault instanceof Stopped) process.exitCode = 130;
  else {
    process.stderr.write(`proposal-review: ${fault instanceof Error ? fault.message : String(fault)}\n`);
    process.exitCode = 1;
  }
}
