import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { startVelero } from '../../src/sandbox/start-velero.ts';
import { startWorkloads } from '../../src/sandbox/start-workloads.ts';
import type { Progress } from '../first-app/progress.ts';
import { setStage as setFirstStage, type Stage } from '../first-app/stage.ts';

const CLUSTER = {
  slug: 'demo',
  displayName: 'Demo cluster',
  connectivityMode: 'pull',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: [],
  allowedOperationTemplates: ['velero-backup', 'velero-restore', 'rollout-restart', 'scale', 'reindex'],
  intervals: { eventBatchMs: 20 },
} as const;

/** The stage of the first example, with what plays Velero and the controllers of workloads, and the shop's objects. */
export async function setStage(progress: Progress, kubeconfig?: string): Promise<Stage> {
  await using started = new AsyncDisposableStack();
  const stage = started.use(
    await setFirstStage({ progress, kubeconfig, keepFolder: () => false, keepTraces: false, cluster: CLUSTER }),
  );
  const yaml = await readFile(stage.kubeconfig, 'utf8');
  const deps = { logger: createLogger('demo', 'silent'), clock: systemClock };
  started.use(await startVelero({ kubeconfig: () => yaml }, deps));
  started.use(await startWorkloads({ kubeconfig: () => yaml }, deps));
  progress.note('backups, pods   stand-ins for Velero and for the controllers of workloads: no container is started');
  const folder = join(import.meta.dirname, 'objects');
  for (const file of (await readdir(folder)).toSorted()) {
    const object = parse(await readFile(join(folder, file), 'utf8')) as KubeObject;
    await stage.api.apply(object, { fieldManager: 'shop' });
  }
  const held = started.move();
  return { ...stage, [Symbol.asyncDispose]: async () => await held.disposeAsync() };
}
