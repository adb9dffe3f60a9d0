import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderOperator } from '../../src/install/render-install.ts';
import { HELM_RELEASE } from '../../src/resources/flux-helm-release.ts';
import { INSTALL } from '../control-plane/running-control-plane.ts';
import { auditRights, type GrantedRules } from '../support/audited-rights.ts';
import { GrantedCluster, instanceRef, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';
import { workload } from '../support/workload-contract/workload-world.ts';

const USER = `system:serviceaccount:${SYSTEM}:service-operator`;
const HELM_CHARTS = { type: 'helm', url: 'https://stefanprodan.github.io/podinfo', name: 'podinfo' };
const EVERYTHING = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

/** The roles of the manifest, as they are bound. */
function grantedRules(): readonly GrantedRules[] {
  const where: Readonly<Record<string, GrantedRules['namespaces']>> = {
    'ClusterRole service-operator': 'all',
    'ClusterRole service-operator-namespace': ['shop', 'yard'],
    'Role service-operator': [SYSTEM],
  };
  return renderOperator(readInstallFiles()).objects.flatMap((object) => {
    const role = `${object.kind} ${object.metadata.name}`;
    const namespaces = where[role];
    return namespaces === undefined ? [] : [{ role, namespaces, rules: object['rules'] as GrantedRules['rules'] }];
  });
}

/** A person's commit on the branch, past the control plane. */
function commitByHand(repository: string, edit: (clone: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'by-hand-'));
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...who, '-C', folder, ...args], { stdio: 'pipe' });
  };
  git('clone', '--quiet', repository, '.');
  edit(folder);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'by hand');
  git('push', '--quiet', 'origin', 'HEAD:main');
  rmSync(folder, { recursive: true, force: true });
}

describeRealCluster('the rights of the operator', (start) => {
  let world: GrantedCluster;

  beforeAll(async () => {
    world = await GrantedCluster.start(start, {
      auditPolicy: EVERYTHING,
      // Nobody fills the accounts' tokens without a controller manager.
      apiServerFlags: ['--disable-admission-plugins=ServiceAccount'],
    });
    world.startReleaseController();
    world.startWorkloadController();
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Each kind of workload restarted, and missed; a Job that ends, one that is stopped, a CronJob that is not there. */
  const operate = async (): Promise<void> => {
    const bring = async (name: string, operationTemplate: string, parameters: object, state: string, more = {}) =>
      await world.bring({ action: 'operate', namespace: 'shop', name, operationTemplate, parameters, ...more }, state);
    for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet'] as const) {
      const name = `work-${kind.toLowerCase()}`;
      await world.admin.create(workload(kind, name), 'test');
      await bring(kind === 'Deployment' ? 'restart' : name, 'rollout-restart', { kind, name }, 'ready');
      await bring(`no-${name}`, 'rollout-restart', { kind, name: 'no' }, 'failed');
    }
    const image = 'registry.test/tool:1';
    await bring('job', 'run-job', { image, command: ['echo', 'hello'] }, 'ready');
    await bring('slow', 'run-job', { image, command: ['sleep', '1d'] }, 'failed', { deadlineSeconds: 1 });
    await bring('no-cron', 'run-job', { cronJob: 'no' }, 'failed');
  };

  /** Everything that an operator ever does, once. */
  const live = async (): Promise<void> => {
    await world.handOverToken();
    await world.join({ withToken: false });
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    // Registered twice by one process: the second time raises the count of the first one's Event.
    await world.registerAgain();
    await world.bring({ ...INSTALL, secretValues: { ui: { message: 'hush' } } }, 'ready');
    // Its Secret goes with it.
    await world.bring({ ...INSTALL, action: 'update', secretValues: {} }, 'ready');
    await world.bring({ ...INSTALL, action: 'update', chartVersion: '6.6.1', driftDetection: 'warn' }, 'ready');
    // The same failure twice: the second raises the count of the first one's Event.
    const fails = { ...INSTALL, action: 'update', chartVersion: '6.6.1' };
    for (const _ of [1, 2]) {
      await world.bring({ ...fails, values: { replicaCount: -1 } }, 'failed');
      await world.bring({ ...fails, values: { replicaCount: 2 } }, 'ready');
    }
    await world.plane.call('PUT', '/catalog/podinfo', { chart: HELM_CHARTS, versions: '>=6.5.0 <7' });
    await world.accept({ ...INSTALL, action: 'update', chartVersion: '6.6.1', values: { replicaCount: 3 } });
    await vi.waitFor(
      async () => {
        const { body } = await world.plane.call('GET', `/clusters/${world.clusterId}/intents`);
        expect(JSON.stringify(body)).not.toContain('"state":"delivered"');
      },
      { timeout: 30_000 },
    );
    await operate();
    const release = { ...HELM_RELEASE, namespace: 'shop', name: 'podinfo' };
    await world.admin.delete(release);
    await world.stopOperator();
    for (const name of ['service-operator-inventory', 'service-operator-sequence']) {
      await world.admin.delete({ apiVersion: 'v1', kind: 'ConfigMap', namespace: SYSTEM, name });
    }
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
    // Made anew after its deletion by hand, so that the uninstall has one to delete; not any more once the catalog is back.
    await vi.waitFor(
      async () => {
        expect((await world.admin.get(release))?.metadata).toMatchObject({ name: 'podinfo' });
        expect((await world.admin.get(release))?.metadata.deletionTimestamp).toBeUndefined();
      },
      { timeout: 30_000 },
    );
    await world.plane.putPodinfo();
    commitByHand(join(world.plane.folder, 'git', 'fleet.git'), (clone) => {
      const folder = join(clone, 'clusters/eu/tombstones/shop');
      mkdirSync(folder, { recursive: true });
      rmSync(join(clone, 'clusters/eu/operations/shop/restart.yaml'));
      const tombstone = {
        apiVersion: 'ops.service.io/v1alpha1',
        kind: 'Operation',
        namespace: 'shop',
        name: 'restart',
        intentId: 'int-by-hand',
        epoch: 1,
        generation: 99,
        // Old ones are tidied away by the next commit.
        time: new Date().toISOString(),
      };
      writeFileSync(join(folder, 'restart.json'), JSON.stringify(tombstone));
    });
    await world.install('second');
    await world.untilGone({ ...instanceRef('restart'), apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation' });
    await world.bring({ action: 'uninstall', namespace: 'shop', name: 'podinfo' }, 'removed');
    await world.untilGone(instanceRef('podinfo'));
    await world.joinInPullMode();
    await world.bring({ ...INSTALL, name: 'pulled' }, 'ready');
    await world.bring({ action: 'uninstall', namespace: 'shop', name: 'pulled' }, 'removed');
    await world.untilGone(instanceRef('pulled'));
    await world.stopOperator();
  };

  it(
    'are each used in its life, suffice for it, and nothing beyond them is asked for',
    { timeout: 180_000 },
    async () => {
      await live();
      expect(await auditRights(world.real.auditLogPath ?? '', USER, grantedRules())).toEqual({
        unused: [],
        notGranted: [],
        denied: [],
      });
    },
  );

  it(
    'let the watches of a namespace without a RoleBinding be refused, and nothing else',
    { timeout: 60_000 },
    async () => {
      await world.addNamespace('yard', 'labelled');
      await world.startOperator();
      await world.accept({ ...INSTALL, namespace: 'yard', name: 'late' });
      await world.untilCluster('Synced', 'False NamespaceNotGranted');
      await world.stopOperator();
      const { denied } = await auditRights(world.real.auditLogPath ?? '', USER, grantedRules());
      const allowed =
        /^list (helm|source)\.toolkit\.fluxcd\.io\/(helmreleases|ocirepositories|helmrepositories) in yard/;
      expect(denied.filter((request) => !allowed.test(request))).toEqual([]);
      expect(denied.length).toBeGreaterThan(0);
    },
  );
});
