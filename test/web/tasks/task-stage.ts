import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { silentProgress } from '../../../examples/first-app/progress.ts';
import { setStage, type Stage } from '../../../examples/first-app/stage.ts';
import type { KubeObject } from '../../../src/resources/kube-object.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { startVelero } from '../../../src/sandbox/start-velero.ts';

const OBJECTS = join(import.meta.dirname, '../../../examples/operations/objects');

const CLUSTER = {
  slug: 'demo',
  displayName: 'Demo cluster',
  connectivityMode: 'pull',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo', 'storefront'],
  allowedOperationTemplates: ['velero-backup', 'velero-restore', 'release-rollback'],
  labels: { env: 'prod', team: 'shop' },
  intervals: { eventBatchMs: 20 },
} as const;

const PODINFO = {
  chart: { type: 'oci', url: 'oci://ghcr.io/stefanprodan/charts/podinfo', name: 'podinfo' },
  versions: '>=6.5.0 <7',
  defaultValues: { ui: { message: 'Installed by an intent' } },
  valuesSchema: {
    type: 'object',
    properties: {
      replicaCount: { type: 'integer', minimum: 1, maximum: 5, description: 'Pods that answer' },
      logLevel: { enum: ['debug', 'info', 'warn'], description: 'What is written to the log' },
      ui: {
        type: 'object',
        description: 'What the page of the application shows',
        additionalProperties: false,
        properties: {
          message: { type: 'string', maxLength: 40 },
          color: { type: 'string', pattern: '^#[0-9a-f]{6}$' },
        },
      },
      hosts: { type: 'array', items: { type: 'string' }, description: 'Names that it answers to' },
      cache: { type: 'string', writeOnly: true, description: 'Password of the cache' },
    },
  },
};

/** A control plane, a sandbox cluster with stand-ins for Flux and Velero, and its operator, with people to do tasks. */
export interface TaskStage extends Stage {
  readonly tokens: { readonly admin: string; readonly deployer: string; readonly approver: string };
}

export async function setTaskStage(changes: Readonly<Record<string, unknown>> = {}): Promise<TaskStage> {
  await using started = new AsyncDisposableStack();
  const stage = started.use(
    await setStage({
      progress: silentProgress,
      kubeconfig: undefined,
      keepFolder: () => false,
      keepTraces: false,
      cluster: { ...CLUSTER, ...changes },
    }),
  );
  const yaml = await readFile(stage.kubeconfig, 'utf8');
  const deps = { logger: createLogger('test', 'silent'), clock: systemClock };
  started.use(await startVelero({ kubeconfig: () => yaml }, deps));
  for (const file of (await readdir(OBJECTS)).toSorted()) {
    await stage.api.apply(parse(await readFile(join(OBJECTS, file), 'utf8')) as KubeObject, { fieldManager: 'shop' });
  }
  const { admin } = stage;
  await admin.call('PUT', '/catalog/podinfo', PODINFO);
  // Of this one nobody says what its values must be: what is wrong with them the cluster finds.
  await admin.call('PUT', '/catalog/storefront', { chart: PODINFO.chart, versions: PODINFO.versions });
  const newToken = async (name: string, access: string, roles: readonly string[] = []): Promise<string> => {
    const body = { name, access: [access], roles };
    return (await admin.call<{ token: string }>('POST', '/admin-tokens', body)).token;
  };
  const tokens = {
    admin: stage.adminToken.expose(),
    deployer: await newToken('ada', 'deployer'),
    approver: await newToken('grace', 'approver', ['data-owner']),
  };
  const held = started.move();
  return { ...stage, tokens, [Symbol.asyncDispose]: async () => await held.disposeAsync() };
}
