import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderNamespaceGrant, renderOperator } from '../../src/install/render-install.ts';
import { rolloutRestartRunner } from '../../src/reconcile/operation/runners/rollout-restart.ts';
import { runJobRunner } from '../../src/reconcile/operation/runners/run-job.ts';
import { scaleRunner } from '../../src/reconcile/operation/runners/scale.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { auditRights, type GrantedRules } from '../support/audited-rights.ts';
import { SYSTEM } from '../support/granted-cluster.ts';
import {
  describeRealCluster,
  realClusterSource,
  START_TIMEOUT_MS,
  type RealCluster,
} from '../support/real-cluster/real-cluster.ts';
import { aRun, workload, WorkloadWorld } from '../support/workload-contract/workload-world.ts';

const ACCOUNT = 'service-operator';
const USER = `system:serviceaccount:${SYSTEM}:${ACCOUNT}`;
const EVERYTHING = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };
const files = readInstallFiles();

/** The rules of the namespace's role that are there for operations on workloads and Jobs. */
function rulesForWorkloads(): GrantedRules {
  const role = renderOperator(files).objects.find(({ metadata }) => metadata.name === 'service-operator-namespace');
  const rules = (role?.['rules'] ?? []) as GrantedRules['rules'];
  const own = rules.filter(({ apiGroups = [], resources = [] }) => {
    return ['apps', 'batch'].includes(apiGroups[0] ?? '') || resources[0]?.startsWith('pods') === true;
  });
  return { role: 'namespace', namespaces: ['shop'], rules: own };
}

describeRealCluster('the rights of operations on workloads', (start) => {
  if (realClusterSource()?.kind === 'container') return;
  let real: RealCluster;
  let world: WorkloadWorld;
  let operator: WorkloadWorld;
  const grant = (): readonly KubeObject[] =>
    renderNamespaceGrant(files, { namespace: 'shop' }).objects.filter(({ kind }) => kind === 'RoleBinding');

  beforeAll(async () => {
    world = await WorkloadWorld.start(async () => {
      const flags = ['--disable-admission-plugins=ServiceAccount'];
      real = await start({ auditPolicy: EVERYTHING, apiServerFlags: flags });
      return real;
    });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } };
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT, namespace: SYSTEM } };
    const roles = renderOperator(files).objects.filter(({ kind }) => kind === 'ClusterRole');
    for (const object of [namespace, account, ...roles]) {
      await world.api.apply(object, { fieldManager: 'kubectl' });
    }
    const kubeconfig = await real.kubeconfigFor(await real.serviceAccountToken(SYSTEM, ACCOUNT));
    operator = world.as(await readFile(kubeconfig, 'utf8'));
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  it('are named where one is missing, with the command that grants it', { timeout: 60_000 }, async () => {
    await world.make(workload('Deployment', 'web'));
    const command = /'servicectl namespaces add shop' prints and the operator's manifest of this version/;
    const scaled = await operator.start(scaleRunner, aRun({ parameters: { name: 'web', replicas: 1 } }));
    expect(scaled).toMatch(
      /^failed NamespaceNotGranted \(final\): the operator may not get deployments\.apps in namespace shop; a cluster admin/,
    );
    expect(scaled).toMatch(command);
    const run = aRun({ name: 'denied', parameters: { image: 'registry.test/tool:1' } });
    for (const said of [await operator.start(runJobRunner, run), await operator.says(runJobRunner, run, 'failed')]) {
      expect(said).toContain('the operator may not get jobs.batch in namespace shop');
      expect(said).toMatch(command);
    }
  });

  it('are each used, and suffice', { timeout: 60_000 }, async () => {
    for (const binding of grant()) await world.api.apply(binding, { fieldManager: 'kubectl' });
    for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet'] as const) {
      const name = `r-${kind.toLowerCase()}`;
      await world.make(workload(kind, name));
      expect(await operator.outcome(rolloutRestartRunner, aRun({ parameters: { kind, name } }))).toContain('succeeded');
      expect(await operator.start(rolloutRestartRunner, aRun({ parameters: { kind, name: 'no' } }))).toContain(name);
    }
    const scale = aRun({ parameters: { name: 'r-deployment', replicas: 3 } });
    expect(await operator.outcome(scaleRunner, scale)).toContain('3 replicas, all ready');
    const job = async (name: string, parameters: Record<string, unknown>) => {
      const run = aRun({ name, parameters });
      return { ...run, operation: await world.order(run.operation) };
    };
    const ends = await job('ends', { image: 'registry.test/tool:1', command: ['echo', 'hello'] });
    expect(await operator.outcome(runJobRunner, ends)).toContain('succeeded');
    expect(await operator.observe(runJobRunner, ends)).toMatchObject({ output: 'hello\n' });
    expect(await operator.start(runJobRunner, await job('none', { cronJob: 'no' }))).toContain('there: none');
    const hangs = await job('hangs', { image: 'registry.test/tool:1', command: ['sleep', '1d'] });
    await operator.start(runJobRunner, hangs);
    await operator.stop(runJobRunner, hangs);
    const { unused, notGranted } = await auditRights(real.auditLogPath ?? '', USER, [rulesForWorkloads()]);
    expect({ unused, notGranted }).toEqual({ unused: [], notGranted: [] });
  });
});
