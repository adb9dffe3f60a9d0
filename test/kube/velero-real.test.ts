import { afterAll, beforeAll, expect, it } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderVeleroGrant } from '../../src/install/render-install.ts';
import { connectCluster } from '../../src/kube/connect-cluster.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { OPERATION_UID_LABEL } from '../../src/resources/labels.ts';
import { VELERO_BACKUP, VELERO_RESTORE, VELERO_STORAGE_LOCATION } from '../../src/resources/velero.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { startVeleroController } from '../../src/sandbox/velero-controller/start-velero-controller.ts';
import { auditRights, type GrantedRules } from '../support/audited-rights.ts';
import { GrantedCluster, SYSTEM } from '../support/granted-cluster.ts';
import { describeRealCluster, START_TIMEOUT_MS } from '../support/real-cluster/real-cluster.ts';
import { installVelero } from '../support/velero-definitions.ts';

const USER = `system:serviceaccount:${SYSTEM}:service-operator`;
const EVERYTHING = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };
const logger = createLogger('test', 'silent');
const grant = renderVeleroGrant(readInstallFiles(), 'velero').objects;

describeRealCluster('Velero on a real API server', (start) => {
  let world: GrantedCluster;
  const owned = new AsyncDisposableStack();

  beforeAll(async () => {
    world = await GrantedCluster.start(start, { auditPolicy: EVERYTHING });
    await world.plane.call('PATCH', `/clusters/${world.clusterId}`, {
      allowedOperationTemplates: ['velero-backup', 'velero-restore'],
    });
    await world.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'velero' } }]);
    await world.handOverToken();
    await world.join({ withToken: false });
    await world.startOperator();
    await world.untilCluster('ControllersHealthy', 'True ControllersRunning');
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await owned.disposeAsync();
    await world?.[Symbol.asyncDispose]();
  });

  const settings = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
  const operate = async (
    name: string,
    operationTemplate: string,
    parameters: object,
    state: string,
  ): Promise<string> => {
    await world.bring({ action: 'operate', namespace: 'shop', name, operationTemplate, parameters }, state);
    const found = await world.admin.get({
      apiVersion: 'ops.service.io/v1alpha1',
      kind: 'Operation',
      namespace: 'shop',
      name,
    });
    const { conditions = [] } = (found?.['status'] ?? {}) as {
      readonly conditions?: readonly Record<string, string>[];
    };
    const said = conditions.find(
      ({ type, status }) => (type === 'Succeeded' || type === 'Failed') && status === 'True',
    );
    return `${said?.['reason']}: ${said?.['message']}`;
  };
  const startVelero = async (): Promise<void> => {
    const spec = { provider: 'sandbox', objectStorage: { bucket: 'b' }, default: true };
    const metadata = { namespace: 'velero', name: 'default' };
    await world.apply([{ ...VELERO_STORAGE_LOCATION, metadata, spec }]);
    const kubeconfig = { kind: 'text', yaml: world.real.kubeconfig } as const;
    const api = owned.use(connectCluster({ kubeconfig, userAgent: 'velero', clock: systemClock, random: Math.random }));
    const timing = { backupMs: 0, restoreMs: 0 };
    const velero = owned.use(startVeleroController({ api, clock: systemClock, logger, timing }));
    await velero.synced();
  };

  it(
    'is asked with exactly the rights that are printed, and says what is missing before',
    async () => {
      await installVelero(world.admin);
      await startVelero();
      await expect(operate('denied', 'velero-backup', {}, 'failed')).resolves.toBe(
        "VeleroBackupFailed: the operator may not get a Backup in namespace velero; a cluster admin applies what 'servicectl namespaces add-velero --velero-namespace velero' prints; then run the operation again under another name",
      );
      await world.apply(grant);
      const { apiVersion, kind, ...metadata } = settings;
      await world.apply([{ apiVersion, kind, metadata, data: { colour: 'blue' } }]);
      await expect(operate('nightly', 'velero-backup', { ttl: '24h' }, 'ready')).resolves.toMatch(
        /^VeleroBackupCompleted: Backup velero\/nightly-1 is complete: 0 errors, 0 warnings, \d+ items, kept until /,
      );
      const backup = await world.admin.get<KubeObject>({ ...VELERO_BACKUP, namespace: 'velero', name: 'nightly-1' });
      expect(backup?.metadata.labels?.[OPERATION_UID_LABEL]).toMatch(/^[0-9a-f-]{36}$/);
      await world.admin.delete(settings);
      await expect(operate('back', 'velero-restore', { backup: 'nightly-1' }, 'ready')).resolves.toMatch(
        /^VeleroRestoreCompleted: Restore velero\/back-1 of Backup nightly-1 is complete: 0 errors/,
      );
      expect((await world.admin.get(settings))?.['data']).toEqual({ colour: 'blue' });
      expect(await world.admin.get({ ...VELERO_RESTORE, namespace: 'velero', name: 'back-1' })).toBeDefined();
      await world.stopOperator();

      const rules = grant.flatMap(({ kind, ...object }): GrantedRules[] =>
        kind === 'Role'
          ? [{ role: 'velero', namespaces: ['velero'], rules: object['rules'] as GrantedRules['rules'] }]
          : [],
      );
      const audit = await auditRights(world.real.auditLogPath ?? '', USER, rules);
      expect(audit.unused).toEqual([]);
      expect([...audit.notGranted, ...audit.denied].filter((use) => use.includes('velero.io'))).toEqual([
        'get velero.io/backups denied-1 in velero (403)',
      ]);
    },
    START_TIMEOUT_MS,
  );
});
