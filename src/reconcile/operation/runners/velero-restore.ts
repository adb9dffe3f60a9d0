import {
  includedNamespaces,
  restoredNamespaces,
  restoreTargets,
  type RestoreParameters,
} from '../../../operation-templates/built-in/velero-namespaces.ts';
import { MANAGED_BY_LABEL, OPERATION_UID_LABEL } from '../../../resources/labels.ts';
import { Reason } from '../../../resources/reasons.ts';
import { VELERO_BACKUP, VELERO_RESTORE, type VeleroBackup, type VeleroRestore } from '../../../resources/velero.ts';
import type { FailedTry, OperationRun, RunnerDeps, RunState, TemplateRunner } from '../template-runner.ts';
import { closedNamespace, counted, counts, createOnce, failedTry, refusalOf } from './velero.ts';
import { asMadeHere } from './made-here.ts';
import { restoredReleases } from './restored-releases.ts';
import { standing, veleroLabels, veleroNamespaceOf, veleroRef, type VeleroWork } from './velero.ts';

const WORK: VeleroWork = {
  kind: VELERO_RESTORE,
  completed: Reason.VeleroRestoreCompleted,
  failed: Reason.VeleroRestoreFailed,
};

/**
 * What no restore brings back, whatever the backup holds: an Operation would run again; applications and what Flux makes
 * of them are brought by the control plane, which knows what is wanted now, and an old copy would be stale or an orphan;
 * rights and what the API server is made of are not an application's.
 */
export const NEVER_RESTORED: readonly string[] = [
  'operations.ops.service.io',
  'clusters.ops.service.io',
  'applicationinstances.apps.service.io',
  'helmreleases.helm.toolkit.fluxcd.io',
  'helmcharts.source.toolkit.fluxcd.io',
  'helmrepositories.source.toolkit.fluxcd.io',
  'ocirepositories.source.toolkit.fluxcd.io',
  'roles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
];

/** A Restore, named after the operation and the try, in the namespace that Velero runs in. */
export const veleroRestoreRunner: TemplateRunner = {
  name: 'velero-restore',
  async start(deps, run, signal) {
    const before = await observe(deps, run, signal);
    if (before.state !== 'absent') return before.state === 'failed' ? before : undefined;
    const parameters = run.parameters as RestoreParameters;
    const own = run.operation.metadata.namespace ?? '';
    return (
      (await closedNamespace(WORK, restoredNamespaces(parameters, own), deps, signal)) ??
      (await backupIsNotUsable(deps, run, signal)) ??
      (await createOnce(WORK, asMadeHere(desiredRestore(run), run, deps), deps, signal))
    );
  },
  observe,
};

async function observe(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  const state = await seen(deps, run, signal);
  // One that failed in part restored the rest.
  const hasEnded = state.state === 'succeeded' || (state.state === 'failed' && state.outputRef !== undefined);
  if (!hasEnded) return state;
  const targets = restoreTargets(run.parameters, run.operation.metadata.namespace ?? '');
  const more = await restoredReleases(deps, veleroRef(WORK, run).name, targets, signal);
  return { ...state, message: `${state.message}${more}` };
}

async function seen(deps: RunnerDeps, run: OperationRun, signal: AbortSignal): Promise<RunState> {
  return await standing<VeleroRestore>(WORK, run, deps, signal, {
    completed: ({ spec, status = {} }) => {
      const { progress } = status;
      const items = progress?.itemsRestored === undefined ? '' : `, ${counted(progress.itemsRestored, 'item')}`;
      return `of Backup ${spec.backupName ?? ''} is complete: ${counts(status)}${items}`;
    },
    progress: ({ status }) => {
      const { itemsRestored, totalItems } = status?.progress ?? {};
      return totalItems === undefined ? '' : `: ${itemsRestored ?? 0} of ${totalItems} items`;
    },
  });
}

/** Velero would restore nothing of a backup that is not there or does not hold what is asked for, and call that complete. */
async function backupIsNotUsable(
  { api }: RunnerDeps,
  run: OperationRun,
  signal: AbortSignal,
): Promise<FailedTry | undefined> {
  const parameters = run.parameters as RestoreParameters;
  const namespace = veleroNamespaceOf(run);
  const named = `Backup ${namespace}/${parameters.backup}`;
  let backup: VeleroBackup | undefined;
  try {
    backup = await api.get<VeleroBackup>({ ...VELERO_BACKUP, namespace, name: parameters.backup }, signal);
  } catch (error) {
    return refusalOf(WORK, namespace, error, 'get', VELERO_BACKUP.kind);
  }
  if (backup === undefined) {
    return failedTry(WORK, `there is no ${named}; see: kubectl get backups.velero.io -n ${namespace}`);
  }
  const { phase = 'New' } = backup.status ?? {};
  if (phase !== 'Completed') {
    return failedTry(WORK, `${named} is ${phase}; only a backup that is Completed is restored`);
  }
  const { includedNamespaces: held = [], excludedNamespaces: left = [] } = backup.spec;
  const holds = (name: string): boolean =>
    (held.length === 0 || held.includes('*') || held.includes(name)) && !left.includes(name);
  const missing = includedNamespaces(parameters, run.operation.metadata.namespace ?? '').filter((name) => !holds(name));
  if (missing.length === 0) return undefined;
  return failedTry(WORK, `${named} does not hold namespace ${missing.join(', ')}; it holds ${held.join(', ')}`);
}

function desiredRestore(run: OperationRun): VeleroRestore {
  const parameters = run.parameters as RestoreParameters;
  const { backup, namespaceMapping, restorePVs, existingResourcePolicy } = parameters;
  const { kind: _kind, apiVersion: _apiVersion, ...names } = veleroRef(WORK, run);
  return {
    ...VELERO_RESTORE,
    metadata: { ...names, labels: veleroLabels(run) },
    spec: {
      backupName: backup,
      includedNamespaces: [...includedNamespaces(parameters, run.operation.metadata.namespace ?? '')],
      ...(namespaceMapping === undefined ? {} : { namespaceMapping }),
      // Volumes themselves are cluster-wide. Left open, Velero takes those along that restored claims name.
      ...(restorePVs === true ? {} : { includeClusterResources: false }),
      excludedResources: [...NEVER_RESTORED],
      // What the operator delivers or makes, the Secrets with opened values among it, it brings itself. A Job of an
      // operation would run again, with nothing that owns it.
      labelSelector: {
        matchExpressions: [MANAGED_BY_LABEL, OPERATION_UID_LABEL].map((key) => ({ key, operator: 'DoesNotExist' })),
      },
      ...(restorePVs === undefined ? {} : { restorePVs }),
      ...(existingResourcePolicy === undefined ? {} : { existingResourcePolicy }),
    },
  };
}
