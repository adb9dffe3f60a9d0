import { KubeError, type ClusterApi } from '../../kube/cluster-api.ts';
import type { KubeObject } from '../../resources/kube-object.ts';
import {
  VELERO_RESTORE_LABEL,
  veleroLabelValue,
  type LabelSelector,
  type VeleroBackup,
  type VeleroRestore,
} from '../../resources/velero.ts';
import { labelSelectorMatches } from '../admission/label-selector.ts';
import type { JsonObject } from '../json-value.ts';

export const VELERO_FIELD_MANAGER = 'velero';

/** What is taken along, in the order in which it is restored; `resource` is the name that a restore excludes it by. */
const KINDS = [
  { resource: 'configmaps', apiVersion: 'v1', kind: 'ConfigMap' },
  { resource: 'secrets', apiVersion: 'v1', kind: 'Secret' },
  { resource: 'serviceaccounts', apiVersion: 'v1', kind: 'ServiceAccount' },
  { resource: 'persistentvolumeclaims', apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
  { resource: 'roles.rbac.authorization.k8s.io', apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' },
  {
    resource: 'rolebindings.rbac.authorization.k8s.io',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
  },
  { resource: 'deployments.apps', apiVersion: 'apps/v1', kind: 'Deployment' },
  { resource: 'statefulsets.apps', apiVersion: 'apps/v1', kind: 'StatefulSet' },
  { resource: 'jobs.batch', apiVersion: 'batch/v1', kind: 'Job' },
  { resource: 'operations.ops.service.io', apiVersion: 'ops.service.io/v1alpha1', kind: 'Operation' },
  {
    resource: 'applicationinstances.apps.service.io',
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
  },
  { resource: 'helmreleases.helm.toolkit.fluxcd.io', apiVersion: 'helm.toolkit.fluxcd.io/v2', kind: 'HelmRelease' },
] as const;

/** What happened to the objects of a restore. */
export interface Restored {
  readonly items: number;
  readonly errors: number;
}

/** What backups hold, by namespace and name, as a bucket would: gone with the process. */
export class BackupShelf {
  readonly #api: ClusterApi;
  readonly #held = new Map<string, readonly KubeObject[]>();

  constructor(api: ClusterApi) {
    this.#api = api;
  }

  /** @returns how many objects the backup holds */
  async take(backup: VeleroBackup, signal: AbortSignal): Promise<number> {
    const { includedNamespaces = [], excludedNamespaces = [], labelSelector } = backup.spec;
    const isSelected = selects(labelSelector);
    const all = includedNamespaces.length === 0 || includedNamespaces.includes('*');
    const held: KubeObject[] = [];
    for (const { apiVersion, kind } of KINDS) {
      const items = await this.#list({ apiVersion, kind }, signal);
      held.push(
        ...items.filter(({ metadata: { namespace = '', labels } }) => {
          const isIncluded = all || includedNamespaces.includes(namespace);
          return isIncluded && !excludedNamespaces.includes(namespace) && isSelected(labels);
        }),
      );
    }
    this.#held.set(keyOf(backup), held);
    return held.length;
  }

  /** What is there already stays, unless the restore says `existingResourcePolicy: update`. */
  async restore(restore: VeleroRestore, signal: AbortSignal): Promise<Restored> {
    const { backupName = '', includedNamespaces = [], excludedResources = [], namespaceMapping = {} } = restore.spec;
    const mapping = new Map(Object.entries(namespaceMapping));
    const isSelected = selects(restore.spec.labelSelector);
    const from = this.#held.get(`${restore.metadata.namespace ?? ''}/${backupName}`) ?? [];
    const wanted = from.filter(({ apiVersion, kind, metadata }) => {
      const row = KINDS.find((one) => one.apiVersion === apiVersion && one.kind === kind);
      const { namespace = '', labels } = metadata;
      const isIncluded = includedNamespaces.length === 0 || includedNamespaces.includes(namespace);
      return isIncluded && !excludedResources.includes(row?.resource ?? '') && isSelected(labels);
    });
    let items = 0;
    let errors = 0;
    for (const object of wanted) {
      const { namespace = '' } = object.metadata;
      const bare = bareObject(object, mapping.get(namespace) ?? namespace, restore);
      try {
        await this.#put(bare, restore.spec.existingResourcePolicy === 'update', signal);
        items += 1;
      } catch (error) {
        if (!(error instanceof KubeError) || error.retryable) throw error;
        errors += 1;
      }
    }
    return { items, errors };
  }

  async #put(object: KubeObject, isUpdate: boolean, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.create(object, VELERO_FIELD_MANAGER, signal);
    } catch (error) {
      if (!(error instanceof KubeError) || error.reason !== 'AlreadyExists') throw error;
      if (isUpdate) await this.#api.apply(object, { fieldManager: VELERO_FIELD_MANAGER, force: true }, signal);
    }
  }

  async #list(kind: { readonly apiVersion: string; readonly kind: string }, signal: AbortSignal) {
    try {
      return (await this.#api.list(kind, {}, signal)).items;
    } catch (error) {
      // Not every cluster serves every kind.
      if (error instanceof KubeError && error.status === 404) return [];
      throw error;
    }
  }
}

/** As Velero makes it anew: without what the server had set, and with its labels. */
function bareObject(object: KubeObject, namespace: string, restore: VeleroRestore): KubeObject {
  const { status: _status, metadata, ...rest } = object;
  const { name, labels, annotations } = metadata;
  const marks = {
    [VELERO_RESTORE_LABEL]: veleroLabelValue(restore.metadata.name),
    'velero.io/backup-name': veleroLabelValue(restore.spec.backupName ?? ''),
  };
  return {
    ...rest,
    metadata: {
      name,
      namespace,
      labels: { ...labels, ...marks },
      ...(annotations === undefined ? {} : { annotations }),
    },
  };
}

function selects(selector: LabelSelector | undefined): (labels: Record<string, string> | undefined) => boolean {
  if (selector === undefined) return () => true;
  const matches = labelSelectorMatches(selector as unknown as JsonObject);
  return (labels = {}) => matches(labels);
}

export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
