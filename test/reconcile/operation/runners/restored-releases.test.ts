import { afterEach, beforeEach, expect, it } from 'vitest';
import { veleroBackupRunner } from '../../../../src/reconcile/operation/runners/velero-backup.ts';
import { veleroRestoreRunner } from '../../../../src/reconcile/operation/runners/velero-restore.ts';
import { HELM_RELEASE } from '../../../../src/resources/flux-helm-release.ts';
import { KubeError } from '../../../../src/kube/cluster-api.ts';
import { aRun, RunStage } from './run-stage.ts';
import { VeleroStage } from './velero-stage.ts';

let stage: VeleroStage;
let restore: RunStage;

beforeEach(async () => {
  stage = await VeleroStage.set();
  restore = new RunStage(veleroRestoreRunner, stage.api);
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const DEPLOYMENT = { apiVersion: 'apps/v1', kind: 'Deployment' } as const;

/** As the helm-controller leaves it. */
async function workload(name: string, image = 'podinfo:6.5.0'): Promise<void> {
  const labels = { 'helm.toolkit.fluxcd.io/name': name, 'helm.toolkit.fluxcd.io/namespace': 'shop' };
  const pod = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image }] } };
  const spec = { selector: { matchLabels: { app: name } }, template: pod };
  await stage.api.apply(
    { ...DEPLOYMENT, metadata: { namespace: 'shop', name, labels }, spec },
    { fieldManager: 'helm-controller' },
  );
}

async function release(name: string, spec: Record<string, unknown> = {}): Promise<void> {
  const chart = { spec: { chart: name, sourceRef: { kind: 'HelmRepository', name } } };
  const metadata = { namespace: 'shop', name };
  await stage.api.create({ ...HELM_RELEASE, metadata, spec: { interval: '1h', chart, ...spec } }, 'test');
}

async function backUp(): Promise<void> {
  await expect(new RunStage(veleroBackupRunner, stage.api).outcome(aRun())).resolves.toContain('Completed');
}

const back = async (parameters: Record<string, unknown>, name = 'back'): Promise<string> =>
  await restore.outcome(aRun({ name, parameters: { backup: 'nightly-1', ...parameters } }));

it('a restore names the releases that it set back, and what came back of those that are gone', async () => {
  await release('podinfo');
  await release('web');
  for (const name of ['podinfo', 'web', 'old']) await workload(name);
  await backUp();
  await workload('podinfo', 'podinfo:6.6.1');
  await stage.api.delete({ ...DEPLOYMENT, namespace: 'shop', name: 'old' });
  await stage.api.delete({ ...DEPLOYMENT, namespace: 'shop', name: 'web' });
  // What is there stays, and nothing is said of it.
  await expect(back({})).resolves.toMatch(
    /items; what it put back of shop\/web may not be what its release says; release-reconcile with force puts that right; Deployment shop\/old came back of a release that does not stand here, so nothing updates or uninstalls it$/,
  );
  await expect(back({ existingResourcePolicy: 'update' }, 'over')).resolves.toContain('of shop/podinfo, shop/web may');
});

it('a restore that failed in part says so of the rest', async () => {
  await workload('old');
  await backUp();
  await stage.api.delete({ ...DEPLOYMENT, namespace: 'shop', name: 'old' });
  await stage.steer({ 'sandbox.service.io/velero-outcome': 'PartiallyFailed' });
  await expect(back({})).resolves.toMatch(/is PartiallyFailed: .*; Deployment shop\/old came back of a release/);
});

it('a copy in another namespace is not the release that it was taken of', async () => {
  await release('podinfo');
  await workload('podinfo');
  await backUp();
  await expect(back({ namespaceMapping: { shop: 'yard' } })).resolves.toMatch(
    /items; Deployment yard\/podinfo came back of a release that does not stand here/,
  );
  await expect(back({}, 'nothing-to-say')).resolves.toMatch(/items$/);
});

it('a restore is complete where the releases cannot be looked at, and says so', async () => {
  await backUp();
  const api = Object.create(stage.api, {
    list: {
      value: () => Promise.reject(new KubeError('deployments.apps is forbidden', { status: 403, reason: 'Forbidden' })),
    },
  }) as typeof stage.api;
  restore = new RunStage(veleroRestoreRunner, api);
  await expect(back({})).resolves.toMatch(
    /^succeeded VeleroRestoreCompleted: .*; what came back of releases could not be looked at: deployments.apps is forbidden$/,
  );
});
