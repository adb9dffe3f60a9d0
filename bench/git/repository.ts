import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { clusterDirectory, type RepositoryLayout } from '../../src/delivery/gitops/layout.ts';
import { gitEnvironment, runGit } from '../../src/git/git-process.ts';
import type { Rendered } from '../../src/intent/rendered.ts';

export const slugOf = (index: number): string => `cluster-${String(index).padStart(6, '0')}`;
/** Clusters far apart, so that nothing is measured twice in the same place. */
export const pick = (round: number, count: number): string =>
  slugOf(createHash('sha256').update(String(round)).digest().readUInt32BE(0) % count);

export function renderedFor(slug: string, generation: number): Rendered {
  const id = `intent-${slug}-${generation}`;
  const object = {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    metadata: { name: 'podinfo', namespace: 'shop', annotations: { 'app.service.io/source': `1.${generation}` } },
    spec: { chart: { version: `6.5.${generation}` } },
  };
  return {
    kind: 'apply',
    intent: {
      intentVersion: 'v1alpha1',
      id,
      action: 'update',
      namespace: 'shop',
      name: 'podinfo',
      generation,
      requestedBy: 'bench',
      requestedAt: new Date().toISOString(),
    },
    target: { clusterId: `c-${slug}`, slug, deliveryEpoch: 1 },
    idempotencyKey: `apply/shop/podinfo@${generation}`,
    object,
    // JSON is YAML.
    text: `${JSON.stringify(object, null, 2)}\n`,
  };
}

export async function fill(repository: string, count: number, layout: RepositoryLayout): Promise<void> {
  const child = spawn('git', ['fast-import', '--quiet', '--force'], {
    env: gitEnvironment({ GIT_DIR: repository }),
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const ended = Promise.withResolvers<number | null>();
  child.on('close', ended.resolve);
  const say = async (text: string): Promise<void> => {
    if (child.stdin.write(text)) return;
    const drained = Promise.withResolvers<undefined>();
    child.stdin.once('drain', () => drained.resolve(undefined));
    await drained.promise;
  };
  const file = (path: string, text: string): string =>
    `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
  await say(`commit refs/heads/main\ncommitter Bench <bench@example.test> 1700000000 +0000\ndata 5\nfill\n\n`);
  for (let index = 0; index < count; index += 1) {
    const slug = slugOf(index);
    const directory = clusterDirectory(layout, slug);
    await say(
      file(`${directory}/README.md`, `# Cluster ${slug}\n`) +
        file(`${directory}/apps/shop/podinfo.yaml`, renderedFor(slug, 1).text) +
        file(`${directory}/apps/shop/other.yaml`, `name: other of ${slug}\n`),
    );
  }
  child.stdin.end('\n');
  if ((await ended.promise) !== 0) throw new Error('git fast-import failed');
  await runGit(['repack', '-adq'], { cwd: repository, timeoutMs: 600_000 });
}

export function median(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export async function timed<Value>(times: number[], work: () => Promise<Value>): Promise<Value> {
  const start = performance.now();
  const value = await work();
  times.push(performance.now() - start);
  return value;
}
