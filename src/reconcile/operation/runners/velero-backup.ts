import { includedNamespaces, type BackupParameters } from '../../../operation-templates/built-in/velero-namespaces.ts';
import { Reason } from '../../../resources/reasons.ts';
import { VELERO_BACKUP, type VeleroBackup } from '../../../resources/velero.ts';
import type { OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import {
  closedNamespace,
  counted,
  counts,
  createOnce,
  standing,
  veleroLabels,
  veleroRef,
  type VeleroWork,
} from './velero.ts';
import { asMadeHere } from './made-here.ts';

const WORK: VeleroWork = {
  kind: VELERO_BACKUP,
  completed: Reason.VeleroBackupCompleted,
  failed: Reason.VeleroBackupFailed,
};

/** Helm's label, and that of nearly every chart, for what belongs to one release. */
const INSTANCE_LABEL = 'app.kubernetes.io/instance';

/** A Backup, named after the operation and the try, in the namespace that Velero runs in. */
export const veleroBackupRunner: TemplateRunner = {
  name: 'velero-backup',
  async start(deps, run, signal) {
    const before = await observe(deps, run, signal);
    if (before.state !== 'absent') return before.state === 'failed' ? before : undefined;
    const backup = desiredBackup(run);
    const closed = await closedNamespace(WORK, backup.spec.includedNamespaces ?? [], deps, signal);
    return closed ?? (await createOnce(WORK, asMadeHere(backup, run, deps), deps, signal));
  },
  observe,
};

async function observe(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  return await standing<VeleroBackup>(WORK, run, deps, signal, {
    completed: ({ status = {} }) => {
      const { expiration, progress } = status;
      const items = progress?.itemsBackedUp === undefined ? '' : `, ${counted(progress.itemsBackedUp, 'item')}`;
      const until = expiration === undefined ? '' : `, kept until ${expiration}`;
      return `is complete: ${counts(status)}${items}${until}`;
    },
    progress: ({ status }) => {
      const { itemsBackedUp, totalItems } = status?.progress ?? {};
      return totalItems === undefined ? '' : `: ${itemsBackedUp ?? 0} of ${totalItems} items`;
    },
  });
}

function desiredBackup(run: OperationRun): VeleroBackup {
  const parameters = run.parameters as BackupParameters;
  const { application, storageLocation, ttl, snapshotVolumes } = parameters;
  const { kind: _kind, apiVersion: _apiVersion, ...names } = veleroRef(WORK, run);
  return {
    ...VELERO_BACKUP,
    metadata: { ...names, labels: veleroLabels(run) },
    spec: {
      includedNamespaces: [...includedNamespaces(parameters, run.operation.metadata.namespace ?? '')],
      // Volumes themselves are cluster-wide. Left open, Velero takes those along that claims of the namespaces name.
      ...(snapshotVolumes === true ? {} : { includeClusterResources: false }),
      ...(application === undefined ? {} : { labelSelector: { matchLabels: { [INSTANCE_LABEL]: application } } }),
      ...(storageLocation === undefined ? {} : { storageLocation }),
      ...(ttl === undefined ? {} : { ttl }),
      ...(snapshotVolumes === undefined ? {} : { snapshotVolumes }),
    },
  };
}
