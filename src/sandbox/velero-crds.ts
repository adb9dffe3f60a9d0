import type { KubeObject } from '../resources/kube-object.ts';

interface Row {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  /** Velero writes the status of a backup and of a restore with the object itself. */
  readonly hasStatusSubresource: boolean;
  readonly spec: object;
  readonly phases: readonly string[];
}

const string = { type: 'string' };
const strings = { type: 'array', items: string };
const mapping = { type: 'object', additionalProperties: string };
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const open = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  'x-kubernetes-preserve-unknown-fields': true,
});

const WORK_PHASES = [
  'New',
  'FailedValidation',
  'InProgress',
  'WaitingForPluginOperations',
  'WaitingForPluginOperationsPartiallyFailed',
  'Finalizing',
  'FinalizingPartiallyFailed',
  'Completed',
  'PartiallyFailed',
  'Failed',
];

const rows: readonly Row[] = [
  {
    kind: 'Backup',
    plural: 'backups',
    hasStatusSubresource: false,
    spec: open({
      includedNamespaces: strings,
      excludedNamespaces: strings,
      includeClusterResources: { type: 'boolean' },
      labelSelector: anything,
      storageLocation: string,
      ttl: string,
      snapshotVolumes: { type: 'boolean' },
    }),
    phases: [...WORK_PHASES, 'Deleting'],
  },
  {
    kind: 'Restore',
    plural: 'restores',
    hasStatusSubresource: false,
    spec: open({
      backupName: string,
      includedNamespaces: strings,
      namespaceMapping: mapping,
      includeClusterResources: { type: 'boolean' },
      excludedResources: strings,
      labelSelector: anything,
      restorePVs: { type: 'boolean' },
      existingResourcePolicy: string,
    }),
    phases: WORK_PHASES,
  },
  {
    kind: 'BackupStorageLocation',
    plural: 'backupstoragelocations',
    shortNames: ['bsl'],
    hasStatusSubresource: true,
    spec: open(
      { provider: string, objectStorage: open({ bucket: string }, ['bucket']), default: { type: 'boolean' } },
      ['provider', 'objectStorage'],
    ),
    phases: ['Available', 'Unavailable'],
  },
];

/**
 * CustomResourceDefinitions of our own for the three Velero kinds that are used here, with the fields that are. Where
 * Velero itself runs, its own are there instead.
 */
export function veleroCrds(): KubeObject[] {
  return rows.map(({ kind, plural, shortNames = [], hasStatusSubresource, spec, phases }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.velero.io` },
    spec: {
      group: 'velero.io',
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                apiVersion: string,
                kind: string,
                metadata: { type: 'object' },
                spec,
                status: open({ phase: { type: 'string', enum: [...phases] } }),
              },
            },
          },
          ...(hasStatusSubresource ? { subresources: { status: {} } } : {}),
          additionalPrinterColumns: [
            { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
        },
      ],
    },
  }));
}
