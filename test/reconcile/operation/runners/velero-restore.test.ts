import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { veleroBackupRunner } from '../../../../src/reconcile/operation/runners/velero-backup.ts';
import { NEVER_RESTORED, veleroRestoreRunner } from '../../../../src/reconcile/operation/runners/velero-restore.ts';
import { VELERO_BACKUP } from '../../../../src/resources/velero.ts';
import { aNamespace, anInstance } from '../../manifests.ts';
import { RecordingApi } from '../../recording-api.ts';
import { startTestCluster } from '../../test-cluster.ts';
import { aRun, RunStage, wordsOf } from './run-stage.ts';
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

const OUTCOME = 'sandbox.service.io/velero-outcome';
const SETTINGS = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };
const RESTORE = { backup: 'nightly-1' };

async function settings(namespace: string, colour: string): Promise<void> {
  const { apiVersion, kind, name } = SETTINGS;
  await stage.api.apply(
    { apiVersion, kind, metadata: { namespace, name }, data: { colour } },
    { fieldManager: 'test' },
  );
}

async function takeBackup(parameters: Record<string, unknown> = {}): Promise<void> {
  const backup = new RunStage(veleroBackupRunner, stage.api);
  await expect(backup.outcome(aRun({ parameters }))).resolves.toContain('VeleroBackupCompleted');
}

describe('a restore', () => {
  it("brings back what was lost of the operation's namespace, and names what it made", async () => {
    await settings('shop', 'blue');
    await takeBackup();
    await stage.api.delete(SETTINGS);
    const run = aRun({ name: 'back', parameters: RESTORE });
    await expect(restore.outcome(run)).resolves.toBe(
      'succeeded VeleroRestoreCompleted: Restore velero/back-1 of Backup nightly-1 is complete: 0 errors, 0 warnings, 2 items',
    );
    expect((await stage.api.get(SETTINGS))?.['data']).toEqual({ colour: 'blue' });
    await expect(restore.observe(run)).resolves.toMatchObject({
      outputRef: { apiVersion: 'velero.io/v1', kind: 'Restore', namespace: 'velero', name: 'back-1' },
    });
    expect((await stage.restore('back-1'))?.['spec']).toEqual({
      backupName: 'nightly-1',
      includedNamespaces: ['shop'],
      includeClusterResources: false,
      excludedResources: NEVER_RESTORED,
      labelSelector: {
        matchExpressions: [
          { key: 'app.service.io/managed-by', operator: 'DoesNotExist' },
          { key: 'ops.service.io/operation-uid', operator: 'DoesNotExist' },
        ],
      },
    });
  });

  it('brings back no operation, no application, no right, and nothing that the operator made', async () => {
    const metadata = { namespace: 'shop', name: 'old' };
    const rbac = 'rbac.authorization.k8s.io/v1';
    const made = [
      { apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation', metadata, spec: { template: 'scale' } },
      { ...anInstance({ name: 'old' }), metadata },
      { apiVersion: rbac, kind: 'Role', metadata, rules: [] },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...metadata, labels: { 'app.service.io/managed-by': 'control-plane' } },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name: 'of-the-app' } },
    ];
    for (const object of made) await stage.api.create(object, 'test');
    await takeBackup();
    const refs = made.map(({ apiVersion, kind, metadata: named }) => ({ apiVersion, kind, ...named }));
    for (const ref of refs) await stage.api.delete(ref);
    await expect(restore.outcome(aRun({ name: 'back', parameters: RESTORE }))).resolves.toContain('Completed');
    const back = await Promise.all(refs.map(async (ref) => (await stage.api.get(ref)) !== undefined));
    expect(back).toEqual([false, false, false, false, true]);
  });

  it('runs no job of an operation again, and brings back no output of one', async () => {
    const labels = { 'ops.service.io/operation-uid': 'old-operation' };
    const pod = { containers: [{ name: 'job', image: 'busybox' }], restartPolicy: 'Never' };
    const job = { apiVersion: 'batch/v1', kind: 'Job', spec: { suspend: true, template: { spec: pod } } };
    const made = [
      { ...job, metadata: { namespace: 'shop', name: 'migrate-1', labels } },
      { ...job, metadata: { namespace: 'shop', name: 'of-the-app' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop', name: 'migrate-output', labels } },
    ];
    for (const object of made) await stage.api.create(object, 'test');
    await takeBackup();
    const refs = made.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, ...metadata }));
    for (const ref of refs) await stage.api.delete(ref);
    await expect(restore.outcome(aRun({ name: 'back', parameters: RESTORE }))).resolves.toContain('Completed');
    const back = await Promise.all(refs.map(async (ref) => (await stage.api.get(ref)) !== undefined));
    expect(back).toEqual([false, true, false]);
  });

  it('leaves what is there as it is, unless it is told to update', async () => {
    await settings('shop', 'blue');
    await takeBackup();
    await settings('shop', 'red');
    await restore.outcome(aRun({ name: 'keep', parameters: RESTORE }));
    expect((await stage.api.get(SETTINGS))?.['data']).toEqual({ colour: 'red' });
    const parameters = { ...RESTORE, existingResourcePolicy: 'update', restorePVs: true };
    await restore.outcome(aRun({ name: 'over', parameters }));
    expect((await stage.api.get(SETTINGS))?.['data']).toEqual({ colour: 'blue' });
    const spec = (await stage.restore('over-1'))?.['spec'];
    expect(spec).toMatchObject({ existingResourcePolicy: 'update', restorePVs: true });
    expect(spec).not.toHaveProperty('includeClusterResources');
  });

  it('into another namespace takes from the mapped one, of a backup that holds more', async () => {
    await stage.api.create(aNamespace('bank', { labels: {} }), 'test');
    await settings('shop', 'blue');
    await settings('bank', 'gold');
    const everything = { ...VELERO_BACKUP, metadata: { namespace: 'velero', name: 'nightly-1' }, spec: {} };
    await stage.api.create(everything, 'velero-schedule');
    await expect.poll(async () => (await stage.backup('nightly-1'))?.['status']).toMatchObject({ phase: 'Completed' });
    const parameters = { ...RESTORE, namespaceMapping: { shop: 'yard' } };
    await expect(restore.outcome(aRun({ name: 'copy', parameters }))).resolves.toContain('VeleroRestoreCompleted');
    expect((await stage.restore('copy-1'))?.['spec']).toMatchObject({
      includedNamespaces: ['shop'],
      namespaceMapping: { shop: 'yard' },
    });
    const { items } = await stage.api.list({ apiVersion: 'v1', kind: 'ConfigMap' }, { namespace: 'yard' });
    expect(items.map(({ metadata, ...rest }) => [metadata.name, rest['data']])).toEqual([
      ['settings', { colour: 'blue' }],
    ]);
  });

  it('is made once, however often the try is begun, and ends so though its backup is gone by then', async () => {
    await takeBackup();
    const recording = new RecordingApi(stage.api);
    const recorded = new RunStage(veleroRestoreRunner, recording.api);
    const run = aRun({ name: 'back', parameters: RESTORE });
    await recorded.start(run);
    await recorded.ended(run);
    await stage.api.delete({ ...VELERO_BACKUP, namespace: 'velero', name: 'nightly-1' });
    await expect(recorded.start(run)).resolves.toBeUndefined();
    await expect(recorded.ended(run)).resolves.toMatchObject({ state: 'succeeded' });
    expect(recording.calls.filter(({ verb }) => verb === 'create')).toHaveLength(1);
  });

  it.for([
    ['PartiallyFailed', 'failed VeleroRestoreFailed: Restore velero/back-1 is PartiallyFailed: 1 error, 0 warnings'],
    ['Failed', 'failed VeleroRestoreFailed: Restore velero/back-1 is Failed: the sandbox was told to fail'],
  ])('that ends as %s has failed, in the words of Velero', async ([outcome = '', said]) => {
    await takeBackup();
    await stage.steer({ [OUTCOME]: outcome });
    await expect(restore.outcome(aRun({ name: 'back', parameters: RESTORE }))).resolves.toBe(said);
  });

  it('needs a backup that is there', async () => {
    await expect(restore.outcome(aRun({ name: 'back', parameters: RESTORE }))).resolves.toBe(
      'failed VeleroRestoreFailed (final): there is no Backup velero/nightly-1; see: kubectl get backups.velero.io -n velero',
    );
    expect(await stage.restore('back-1')).toBeUndefined();
  });

  it('needs a backup that is whole', async () => {
    await stage.steer({ [OUTCOME]: 'PartiallyFailed' });
    await new RunStage(veleroBackupRunner, stage.api).outcome(aRun());
    await stage.steer({ [OUTCOME]: null });
    await expect(restore.outcome(aRun({ name: 'back', parameters: RESTORE }))).resolves.toBe(
      'failed VeleroRestoreFailed (final): Backup velero/nightly-1 is PartiallyFailed; only a backup that is Completed is restored',
    );
  });

  it('needs a backup that holds what is asked for', async () => {
    await takeBackup();
    const parameters = { ...RESTORE, includedNamespaces: ['shop', 'yard'] };
    await expect(restore.outcome(aRun({ name: 'back', parameters }))).resolves.toBe(
      'failed VeleroRestoreFailed (final): Backup velero/nightly-1 does not hold namespace yard; it holds shop',
    );
  });

  it('is not begun into a namespace that its admin has not given to the operator, or that is not there', async () => {
    await takeBackup();
    await stage.api.create(aNamespace('bank', { labels: {} }), 'test');
    const into = async (namespace: string) =>
      await restore.outcome(aRun({ name: 'back', parameters: { ...RESTORE, namespaceMapping: { shop: namespace } } }));
    await expect(into('bank')).resolves.toMatch(/^failed VeleroRestoreFailed \(final\): namespace bank .*managed-by/);
    await expect(into('nowhere')).resolves.toMatch(/^failed .*\(final\): namespace nowhere does not exist; create it/);
    expect(await stage.restore('back-1')).toBeUndefined();
  });

  it('takes nothing out of a namespace that its admin has not given to the operator, nor of one that is gone', async () => {
    await stage.api.create(aNamespace('bank', { labels: {} }), 'test');
    await settings('bank', 'gold');
    const everything = { ...VELERO_BACKUP, metadata: { namespace: 'velero', name: 'nightly-1' }, spec: {} };
    await stage.api.create(everything, 'velero-schedule');
    await expect.poll(async () => (await stage.backup('nightly-1'))?.['status']).toMatchObject({ phase: 'Completed' });
    const outOf = async (namespace: string) =>
      await restore.outcome(
        aRun({ name: 'back', parameters: { ...RESTORE, namespaceMapping: { [namespace]: 'yard' } } }),
      );
    await expect(outOf('bank')).resolves.toMatch(/^failed VeleroRestoreFailed \(final\): namespace bank .*managed-by/);
    await expect(outOf('gone')).resolves.toMatch(
      /^failed .*\(final\): namespace gone does not exist; create it and label/,
    );
    expect(await stage.restore('back-1')).toBeUndefined();
    // As a cluster admin consents to it.
    await stage.api.mergePatch(
      { apiVersion: 'v1', kind: 'Namespace', name: 'bank' },
      { metadata: { labels: { 'managed-by': 'service' } } },
    );
    await expect(outOf('bank')).resolves.toContain('VeleroRestoreCompleted');
  });

  it("takes a Restore of its name that is somebody else's for what it is", async () => {
    await takeBackup();
    await restore.outcome(aRun({ name: 'back', parameters: RESTORE }));
    const again = aRun({ name: 'back', uid: 'another-uid', parameters: RESTORE });
    await expect(restore.start(again)).resolves.toMatch(/^failed .*Restore velero\/back-1 is there already/);
    expect(wordsOf(await restore.observe(again))).toMatch(/^failed .*was not made by this operation/);
  });
});

it('a restore where Velero is not installed says so', async () => {
  await using cluster = await startTestCluster();
  const run = aRun({ name: 'back', parameters: RESTORE });
  await expect(new RunStage(veleroRestoreRunner, cluster.api).outcome(run)).resolves.toBe(
    'failed VeleroRestoreFailed (final): the cluster does not serve velero.io/v1 Restore: Velero is not installed; install it, then run the operation again under another name',
  );
});
