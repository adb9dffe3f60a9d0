import { Type } from 'typebox';
import { NamespaceName, ObjectName } from '../../protocol/names.ts';
import { Reason } from '../../resources/reasons.ts';
import { DURATION_PATTERN, oneOf, subdomain } from '../../resources/spec-parts.ts';
import type { BuiltInTemplate } from './built-in-template.ts';

const strict = { additionalProperties: false } as const;

const VeleroNamespace = Type.Optional(
  Type.String({ ...NamespaceName, description: 'Namespace that Velero runs in (default: velero).' }),
);
const Namespaces = Type.Optional(
  Type.Array(NamespaceName, {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'Namespaces that are included; each must be allowed for the cluster (default: that of the operation).',
  }),
);

export const VeleroBackupParameters = Type.Object(
  {
    includedNamespaces: Namespaces,
    application: Type.Optional(
      Type.String({
        ...ObjectName,
        description: 'Only what belongs to this application (label app.kubernetes.io/instance).',
      }),
    ),
    storageLocation: Type.Optional(subdomain('BackupStorageLocation to write to (default: that of Velero).')),
    ttl: Type.Optional(
      Type.String({
        pattern: DURATION_PATTERN,
        maxLength: 32,
        description: 'How long the backup is kept, such as 720h (default: that of Velero).',
      }),
    ),
    snapshotVolumes: Type.Optional(
      Type.Boolean({ description: 'Take snapshots of volumes (default: that of Velero).' }),
    ),
    veleroNamespace: VeleroNamespace,
  },
  strict,
);

export const veleroBackup: BuiltInTemplate = {
  description: 'Back up a namespace or an application with Velero.',
  parameters: VeleroBackupParameters,
  deadlineSeconds: 14_400,
  isRetryable: true,
  isCancellable: false,
  targets: [],
  failedReason: Reason.VeleroBackupFailed,
};

export const VeleroRestoreParameters = Type.Object(
  {
    backup: subdomain('Name of the Velero backup that is restored.'),
    includedNamespaces: Namespaces,
    namespaceMapping: Type.Optional(
      Type.Record(Type.String(), NamespaceName, {
        maxProperties: 100,
        description: 'From which namespace of the backup into which one; each must be allowed for the cluster.',
      }),
    ),
    restorePVs: Type.Optional(
      Type.Boolean({ description: 'Restore volumes from snapshots (default: that of Velero).' }),
    ),
    existingResourcePolicy: Type.Optional(
      oneOf(['none', 'update'], { description: 'What happens to what is there already (default: none, it stays).' }),
    ),
    veleroNamespace: VeleroNamespace,
  },
  strict,
);

export const veleroRestore: BuiltInTemplate = {
  description: 'Restore from a Velero backup.',
  parameters: VeleroRestoreParameters,
  deadlineSeconds: 14_400,
  isRetryable: false,
  isCancellable: false,
  targets: [],
  failedReason: Reason.VeleroRestoreFailed,
};
