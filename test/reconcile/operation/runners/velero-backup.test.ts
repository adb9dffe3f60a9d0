import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError } from '../../../../src/kube/cluster-api.ts';
import { veleroBackupRunner } from '../../../../src/reconcile/operation/runners/velero-backup.ts';
import { VELERO_BACKUP } from '../../../../src/resources/velero.ts';
import { aNamespace } from '../../manifests.ts';
import { RecordingApi } from '../../recording-api.ts';
import { startTestCluster } from '../../test-cluster.ts';
import { aRun, RunStage, wordsOf } from './run-stage.ts';
import { VeleroStage } from './velero-stage.ts';

let stage: VeleroStage;
let backup: RunStage;

beforeEach(async () => {
  stage = await VeleroStage.set();
  backup = new RunStage(veleroBackupRunner, stage.api);
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

const OUTCOME = 'sandbox.service.io/velero-outcome';

describe('a backup', () => {
  it("of the operation's namespace is named after operation and try, and complete with its expiry", async () => {
    const run = aRun();
    const said = await backup.outcome(run);
    expect(said).toMatch(
      /^succeeded VeleroBackupCompleted: Backup velero\/nightly-1 is complete: 0 errors, 0 warnings, 1 item, kept until \d{4}-\S+Z$/,
    );
    const made = await stage.backup('nightly-1');
    expect(made?.metadata.labels).toMatchObject({
      'ops.service.io/operation-uid': 'op-uid',
      'app.service.io/cluster-id': 'c-0123456789abcdef',
    });
    expect(made?.['spec']).toMatchObject({ includedNamespaces: ['shop'], includeClusterResources: false });
    await expect(backup.observe(run)).resolves.toMatchObject({
      outputRef: { apiVersion: 'velero.io/v1', kind: 'Backup', namespace: 'velero', name: 'nightly-1' },
    });
  });

  it('has everything that the parameters say', async () => {
    const parameters = {
      includedNamespaces: ['shop', 'yard'],
      application: 'podinfo',
      storageLocation: 'default',
      ttl: '48h',
      snapshotVolumes: true,
    };
    await backup.outcome(aRun({ parameters }));
    expect((await stage.backup('nightly-1'))?.['spec']).toEqual({
      includedNamespaces: ['shop', 'yard'],
      labelSelector: { matchLabels: { 'app.kubernetes.io/instance': 'podinfo' } },
      storageLocation: 'default',
      ttl: '48h',
      snapshotVolumes: true,
    });
  });

  it('is made once, however often the try is begun', async () => {
    const recording = new RecordingApi(stage.api);
    const recorded = new RunStage(veleroBackupRunner, recording.api);
    for (let time = 0; time < 3; time += 1) await recorded.start(aRun());
    await recorded.ended(aRun());
    await recorded.start(aRun());
    expect(recording.calls.filter(({ verb }) => verb === 'create')).toHaveLength(1);
  });

  it('tells while it runs where it stands', async () => {
    await stage.steer({ [OUTCOME]: 'Hold' });
    await backup.start(aRun());
    await expect
      .poll(async () => wordsOf(await backup.observe(aRun())))
      .toBe('running: Backup velero/nightly-1 is InProgress');
    await stage.steer({ [OUTCOME]: null });
    await expect(backup.ended(aRun())).resolves.toMatchObject({ state: 'succeeded' });
  });

  it.for([
    ['PartiallyFailed', 'failed VeleroBackupFailed: Backup velero/nightly-1 is PartiallyFailed: 2 errors, 1 warning'],
    ['Failed', 'failed VeleroBackupFailed: Backup velero/nightly-1 is Failed: the sandbox was told to fail'],
    [
      'FailedValidation',
      'failed VeleroBackupFailed (final): Backup velero/nightly-1 is FailedValidation: the sandbox was told that this is not valid',
    ],
  ])('that ends as %s has failed, in the words of Velero', async ([outcome = '', said]) => {
    await stage.steer({ [OUTCOME]: outcome });
    await expect(backup.outcome(aRun())).resolves.toBe(said);
  });

  it('that Velero was doing when it ended has failed, and the next try has a name of its own', async () => {
    await stage.steer({ [OUTCOME]: 'Hold' });
    await backup.start(aRun());
    await expect.poll(async () => wordsOf(await backup.observe(aRun()))).toContain('InProgress');
    await stage.stopVelero();
    await stage.steer({ [OUTCOME]: null });
    await stage.startVelero();
    expect(wordsOf(await backup.ended(aRun()))).toBe(
      'failed VeleroBackupFailed: Backup velero/nightly-1 is Failed: found InProgress when the server started',
    );
    await expect(backup.outcome(aRun({ attempt: 2 }))).resolves.toContain('Backup velero/nightly-2 is complete');
  });

  it('says that a storage location is not there or cannot be reached', async () => {
    await expect(backup.outcome(aRun({ parameters: { storageLocation: 'nowhere' } }))).resolves.toBe(
      'failed VeleroBackupFailed (final): Backup velero/nightly-1 is FailedValidation: an existing backup storage location was not specified: nowhere not found',
    );
    await stage.steer({ 'sandbox.service.io/velero-unavailable': 'true' });
    await expect(backup.outcome(aRun({ name: 'later' }))).resolves.toContain(
      'BackupStorageLocation default is Unavailable',
    );
  });

  it("leaves somebody else's of its name alone", async () => {
    const metadata = { namespace: 'velero', name: 'nightly-1', labels: { 'ops.service.io/operation-uid': 'another' } };
    await stage.api.create({ ...VELERO_BACKUP, metadata, spec: { includedNamespaces: ['yard'] } }, 'test');
    await expect(backup.outcome(aRun())).resolves.toBe(
      'failed VeleroBackupFailed (final): Backup velero/nightly-1 is there already and was not made by this operation; it is left alone: run the operation again under another name',
    );
    expect((await stage.backup('nightly-1'))?.['spec']).toMatchObject({ includedNamespaces: ['yard'] });
  });

  it('is absent before it began, and when somebody deleted it', async () => {
    await expect(backup.observe(aRun())).resolves.toEqual({ state: 'absent' });
    await backup.outcome(aRun());
    await stage.api.delete({ ...VELERO_BACKUP, namespace: 'velero', name: 'nightly-1' });
    await expect(backup.observe(aRun())).resolves.toEqual({ state: 'absent' });
  });

  it('is not begun of a namespace that its admin has not given to the operator', async () => {
    await stage.api.create(aNamespace('bank', { labels: {} }), 'test');
    const refused = await backup.outcome(aRun({ parameters: { includedNamespaces: ['shop', 'bank'] } }));
    expect(refused).toMatch(/^failed VeleroBackupFailed \(final\): namespace bank .*managed-by=service/);
    expect(await stage.backup('nightly-1')).toBeUndefined();
  });

  it('is not begun where there is no such namespace as Velero is said to run in', async () => {
    await expect(backup.outcome(aRun({ parameters: { veleroNamespace: 'backup' } }))).resolves.toBe(
      'failed VeleroBackupFailed (final): namespace backup does not exist; the parameter veleroNamespace says where Velero runs',
    );
  });

  it('without the rights says what a cluster admin applies', async () => {
    const recording = new RecordingApi(stage.api);
    recording.beforeWrite = () => {
      const message =
        'backups.velero.io is forbidden: User "system:serviceaccount:service-system:service-operator" cannot create resource "backups" in API group "velero.io" in the namespace "velero"';
      throw new KubeError(message, { status: 403, reason: 'Forbidden' });
    };
    await expect(new RunStage(veleroBackupRunner, recording.api).start(aRun())).resolves.toBe(
      "failed VeleroBackupFailed (final): the operator may not create a Backup in namespace velero; a cluster admin applies what 'servicectl namespaces add-velero --velero-namespace velero' prints; then run the operation again under another name",
    );
  });

  it('throws what passes, for the queue to try again', async () => {
    const recording = new RecordingApi(stage.api);
    recording.beforeWrite = () => {
      throw new KubeError('etcd is slow', { status: 503, reason: 'ServiceUnavailable' });
    };
    await expect(new RunStage(veleroBackupRunner, recording.api).start(aRun())).rejects.toThrow('etcd is slow');
  });
});

it('a backup where Velero is not installed says so', async () => {
  await using cluster = await startTestCluster();
  await expect(new RunStage(veleroBackupRunner, cluster.api).outcome(aRun())).resolves.toBe(
    'failed VeleroBackupFailed (final): the cluster does not serve velero.io/v1 Backup: Velero is not installed; install it, then run the operation again under another name',
  );
});
