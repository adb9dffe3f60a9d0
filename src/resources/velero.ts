import { createHash } from 'node:crypto';
import type { KubeObject } from './kube-object.ts';

const VELERO_API_VERSION = 'velero.io/v1';
export const VELERO_BACKUP = { apiVersion: VELERO_API_VERSION, kind: 'Backup' } as const;
export const VELERO_RESTORE = { apiVersion: VELERO_API_VERSION, kind: 'Restore' } as const;
export const VELERO_STORAGE_LOCATION = { apiVersion: VELERO_API_VERSION, kind: 'BackupStorageLocation' } as const;

/** On everything that Velero restores: by which Restore. */
export const VELERO_RESTORE_LABEL = 'velero.io/restore-name';
const LONGEST_LABEL = 63;

/** A name as Velero writes it into a label: of one that is too long the beginning, and six digits of its hash. */
export function veleroLabelValue(name: string): string {
  if (name.length <= LONGEST_LABEL) return name;
  return name.slice(0, LONGEST_LABEL - 6) + createHash('sha256').update(name).digest('hex').slice(0, 6);
}

/** Where Velero runs unless its admin says otherwise. */
export const DEFAULT_VELERO_NAMESPACE = 'velero';

/** A selector as Kubernetes has it. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'; values?: string[] }[];
}

/** What a backup's and a restore's status have in common, as far as it is read here. Absent phase: New. */
export interface VeleroStatus {
  phase?: string;
  startTimestamp?: string;
  completionTimestamp?: string;
  validationErrors?: string[];
  failureReason?: string;
  errors?: number;
  warnings?: number;
}

/** The part of Velero's Backup v1 that is read or written here. Its status is no subresource. */
export interface VeleroBackup extends KubeObject {
  spec: {
    includedNamespaces?: string[];
    excludedNamespaces?: string[];
    includeClusterResources?: boolean;
    labelSelector?: LabelSelector;
    storageLocation?: string;
    ttl?: string;
    snapshotVolumes?: boolean;
  };
  status?: VeleroStatus & {
    version?: number;
    formatVersion?: string;
    /** When Velero deletes it. */
    expiration?: string;
    progress?: { totalItems?: number; itemsBackedUp?: number };
  };
}

/** The part of Velero's Restore v1 that is read or written here. Its status is no subresource. */
export interface VeleroRestore extends KubeObject {
  spec: {
    backupName?: string;
    includedNamespaces?: string[];
    namespaceMapping?: Record<string, string>;
    includeClusterResources?: boolean;
    excludedResources?: string[];
    labelSelector?: LabelSelector;
    restorePVs?: boolean;
    existingResourcePolicy?: 'none' | 'update';
  };
  status?: VeleroStatus & { progress?: { totalItems?: number; itemsRestored?: number } };
}

export interface VeleroStorageLocation extends KubeObject {
  spec: { provider: string; objectStorage: { bucket: string; prefix?: string }; default?: boolean };
  status?: { phase?: 'Available' | 'Unavailable'; lastValidationTime?: string; message?: string };
}

/** Where nothing more comes. Every other phase, of later Velero versions too, is one on the way. */
export const VELERO_FAILED_PHASES: readonly string[] = ['FailedValidation', 'PartiallyFailed', 'Failed', 'Deleting'];
