import type { ClusterApi } from '../../kube/cluster-api.ts';
import type { WorkResult } from '../../kube/work-queue.ts';
import { refOf, type KubeObject } from '../../resources/kube-object.ts';
import {
  VELERO_BACKUP,
  VELERO_RESTORE,
  VELERO_STORAGE_LOCATION,
  type VeleroBackup,
  type VeleroRestore,
  type VeleroStatus,
  type VeleroStorageLocation,
} from '../../resources/velero.ts';
import type { Clock } from '../../runtime/clock.ts';
import { milliseconds } from '../release-controller/go-duration.ts';
import { VELERO_FIELD_MANAGER, type BackupShelf } from './backup-shelf.ts';
import { outcomeOf, UNAVAILABLE_ANNOTATION } from './steering.ts';

export interface CarryOutDeps {
  readonly api: ClusterApi;
  readonly clock: Clock;
  readonly shelf: BackupShelf;
  /** Milliseconds that the work takes. */
  readonly timing: { readonly backupMs: number; readonly restoreMs: number };
  /** UIDs of what this process has begun. */
  readonly begun: Set<string>;
}

interface Name {
  readonly namespace: string;
  readonly name: string;
}

const DEFAULT_TTL = '720h0m0s';
const HOLD_MS = 20;

/**
 * Behaves towards one Backup as Velero's server does, seen from its status:
 *
 *     New ──┬──► FailedValidation
 *           └──► InProgress ──► Completed | PartiallyFailed | Failed
 *
 * What a server before this one had begun is Failed.
 */
export async function carryOutBackup(deps: CarryOutDeps, name: Name, signal: AbortSignal): Promise<WorkResult> {
  const { api, clock, timing } = deps;
  const backup = await api.get<VeleroBackup>({ ...VELERO_BACKUP, ...name }, signal);
  if (backup === undefined || backup.metadata.deletionTimestamp !== undefined) return {};
  const location = await locationOf(api, backup, signal);
  if (isNew(backup)) {
    const faults = locationFaults(backup, location);
    if (outcomeOf(backup, location) === 'FailedValidation') faults.push('the sandbox was told that this is not valid');
    if (faults.length > 0)
      return await write(api, backup, { phase: 'FailedValidation', validationErrors: faults }, signal);
    const { ttl = DEFAULT_TTL, storageLocation = location?.metadata.name ?? '' } = backup.spec;
    const expiration = rfc3339(new Date(clock.now().getTime() + milliseconds(ttl)));
    const begun = { phase: 'InProgress', version: 1, formatVersion: '1.1.0', startTimestamp: at(clock), expiration };
    deps.begun.add(backup.metadata.uid ?? '');
    await write(api, backup, begun, signal, { ttl, storageLocation });
    if (timing.backupMs > 0) await clock.sleep(timing.backupMs, signal);
    return { requeueAfterMs: 0 };
  }
  if (backup.status?.phase !== 'InProgress') return {};
  if (!deps.begun.has(backup.metadata.uid ?? '')) return await abandoned(deps, backup, signal);
  const outcome = outcomeOf(backup, location);
  if (outcome === 'Hold') return { requeueAfterMs: HOLD_MS };
  if (outcome === 'Failed') {
    return await write(
      api,
      backup,
      { ...ended(deps, 'Failed'), failureReason: 'the sandbox was told to fail' },
      signal,
    );
  }
  const items = await deps.shelf.take(backup, signal);
  const progress = { totalItems: items, itemsBackedUp: items };
  const counted = outcome === 'Completed' ? {} : { errors: 2, warnings: 1 };
  return await write(api, backup, { ...ended(deps, outcome), ...counted, progress }, signal);
}

/** The same for a Restore. */
export async function carryOutRestore(deps: CarryOutDeps, name: Name, signal: AbortSignal): Promise<WorkResult> {
  const { api, clock, timing } = deps;
  const restore = await api.get<VeleroRestore>({ ...VELERO_RESTORE, ...name }, signal);
  if (restore === undefined || restore.metadata.deletionTimestamp !== undefined) return {};
  const backupRef = { ...VELERO_BACKUP, namespace: name.namespace, name: restore.spec.backupName ?? '' };
  const backup = await api.get<VeleroBackup>(backupRef, signal);
  const location = backup === undefined ? undefined : await locationOf(api, backup, signal);
  if (isNew(restore)) {
    const faults = backup === undefined ? [`Error retrieving backup: backup ${backupRef.name} not found`] : [];
    if (outcomeOf(restore, location) === 'FailedValidation') faults.push('the sandbox was told that this is not valid');
    if (faults.length > 0)
      return await write(api, restore, { phase: 'FailedValidation', validationErrors: faults }, signal);
    deps.begun.add(restore.metadata.uid ?? '');
    await write(api, restore, { phase: 'InProgress', startTimestamp: at(clock) }, signal);
    if (timing.restoreMs > 0) await clock.sleep(timing.restoreMs, signal);
    return { requeueAfterMs: 0 };
  }
  if (restore.status?.phase !== 'InProgress') return {};
  if (!deps.begun.has(restore.metadata.uid ?? '')) return await abandoned(deps, restore, signal);
  const outcome = outcomeOf(restore, location);
  if (outcome === 'Hold') return { requeueAfterMs: HOLD_MS };
  if (outcome === 'Failed') {
    return await write(
      api,
      restore,
      { ...ended(deps, 'Failed'), failureReason: 'the sandbox was told to fail' },
      signal,
    );
  }
  const { items, errors } = await deps.shelf.restore(restore, signal);
  const isWhole = outcome === 'Completed' && errors === 0;
  const progress = { totalItems: items + errors, itemsRestored: items };
  const counted = isWhole ? {} : { errors: Math.max(1, errors), warnings: 0 };
  return await write(
    api,
    restore,
    { ...ended(deps, isWhole ? 'Completed' : 'PartiallyFailed'), ...counted, progress },
    signal,
  );
}

/** A location is there to be written to, unless it is told not to be. */
export async function validateLocation(
  { api, clock }: CarryOutDeps,
  name: Name,
  signal: AbortSignal,
): Promise<WorkResult> {
  const ref = { ...VELERO_STORAGE_LOCATION, ...name };
  const location = await api.get<VeleroStorageLocation>(ref, signal);
  if (location === undefined) return {};
  const phase = location.metadata.annotations?.[UNAVAILABLE_ANNOTATION] === 'true' ? 'Unavailable' : 'Available';
  if (location.status?.phase === phase) return {};
  const status = { phase, lastValidationTime: at(clock) };
  await api.mergePatch(ref, { status }, { subresource: 'status', fieldManager: VELERO_FIELD_MANAGER }, signal);
  return {};
}

function isNew({ status }: VeleroBackup | VeleroRestore): boolean {
  return status?.phase === undefined || status.phase === 'New';
}

async function locationOf(api: ClusterApi, backup: VeleroBackup, signal: AbortSignal) {
  const { namespace = '' } = backup.metadata;
  const named = backup.spec.storageLocation ?? '';
  const { items } = await api.list<VeleroStorageLocation>(VELERO_STORAGE_LOCATION, { namespace }, signal);
  if (named !== '') return items.find(({ metadata }) => metadata.name === named);
  return items.find(({ spec }) => spec.default === true) ?? items.find(({ metadata }) => metadata.name === 'default');
}

function locationFaults({ spec }: VeleroBackup, location: VeleroStorageLocation | undefined): string[] {
  const name = spec.storageLocation ?? 'default';
  if (location === undefined) return [`an existing backup storage location was not specified: ${name} not found`];
  if (location.metadata.annotations?.[UNAVAILABLE_ANNOTATION] !== 'true') return [];
  return [`backup can't be created because BackupStorageLocation ${location.metadata.name} is Unavailable`];
}

async function abandoned(deps: CarryOutDeps, object: VeleroBackup | VeleroRestore, signal: AbortSignal) {
  const failureReason = 'found InProgress when the server started';
  return await write(deps.api, object, { ...ended(deps, 'Failed'), failureReason }, signal);
}

function ended({ clock }: CarryOutDeps, phase: string): VeleroStatus {
  return { phase, completionTimestamp: at(clock) };
}

/** Status and spec in one write: neither kind has a status subresource. */
async function write(
  api: ClusterApi,
  object: KubeObject,
  status: object,
  signal: AbortSignal,
  spec?: object,
): Promise<WorkResult> {
  const patch = { status, ...(spec === undefined ? {} : { spec }) };
  await api.mergePatch(refOf(object), patch, { fieldManager: VELERO_FIELD_MANAGER }, signal);
  return {};
}

function at(clock: Clock): string {
  return rfc3339(clock.now());
}

/** `metav1.Time` has whole seconds. */
function rfc3339(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
