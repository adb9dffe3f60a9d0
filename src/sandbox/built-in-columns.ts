import { humanDuration } from './human-duration.ts';
import { isJsonObject, listAt, objectAt, stringAt } from './json-value.ts';
import type { Column } from './kind.ts';

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  priority: 0,
  value: (object) => object.metadata.name,
};

export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created.',
  priority: 0,
  value: (object, now) => age(object.metadata.creationTimestamp, now),
};

/** `3d4h` since a time stamp; `<unknown>` without one. */
export function age(timestamp: unknown, now: Date): string {
  const since = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(since) ? '<unknown>' : humanDuration(now.getTime() - since);
}

function column(name: string, value: Column['value'], more: Partial<Column> = {}): Column {
  return { name, type: 'string', description: '', priority: 0, value, ...more };
}

function count(name: string, field: string): Column {
  return column(name, (object) => Object.keys(objectAt(object, field)).length, { type: 'string' });
}

function ready(object: unknown): string {
  const want = objectAt(object, 'spec')['replicas'] ?? 1;
  return `${Number(objectAt(object, 'status')['readyReplicas'] ?? 0)}/${Number(want)}`;
}

function statusNumber(name: string, field: string): Column {
  return column(name, (object) => Number(objectAt(object, 'status')[field] ?? 0), { type: 'integer' });
}

function containers(object: unknown, field: 'name' | 'image'): string {
  const spec = objectAt(objectAt(objectAt(object, 'spec'), 'template'), 'spec');
  return listAt(spec, 'containers')
    .map((container) => stringAt(container, field) ?? '')
    .join(',');
}

const wide = { priority: 1 } as const;

function ports(object: unknown): string {
  const list = listAt(objectAt(object, 'spec'), 'ports').filter(isJsonObject);
  const texts = list.map((port) => `${Number(port['port'])}/${stringAt(port, 'protocol') ?? 'TCP'}`);
  return texts.length === 0 ? '<none>' : texts.join(',');
}

function since(value: unknown, now: Date): string {
  return typeof value === 'string' ? age(value, now) : '<unknown>';
}

/** What `kubectl get` shows of the built-in kinds besides Name and Age, by resource. */
export const builtInColumns: Readonly<Record<string, readonly Column[]>> = {
  namespaces: [column('Status', (object) => stringAt(object['status'], 'phase') ?? '')],
  configmaps: [
    column(
      'Data',
      (object) => Object.keys(objectAt(object, 'data')).length + Object.keys(objectAt(object, 'binaryData')).length,
    ),
  ],
  secrets: [column('Type', (object) => object['type'] ?? ''), count('Data', 'data')],
  serviceaccounts: [column('Secrets', (object) => listAt(object, 'secrets').length)],
  services: [
    column('Type', (object) => stringAt(object['spec'], 'type') ?? 'ClusterIP'),
    column('Cluster-IP', (object) => stringAt(object['spec'], 'clusterIP') ?? '<none>'),
    column('External-IP', () => '<none>'),
    column('Port(s)', ports),
  ],
  pods: [
    column('Ready', (object) => {
      const statuses = listAt(object['status'], 'containerStatuses').filter(isJsonObject);
      const total = listAt(object['spec'], 'containers').length;
      return `${statuses.filter((status) => status['ready'] === true).length}/${total}`;
    }),
    column('Status', (object) => stringAt(object['status'], 'phase') ?? 'Pending'),
    column('Restarts', () => '0'),
  ],
  'deployments.apps': [
    column('Ready', ready),
    statusNumber('Up-to-date', 'updatedReplicas'),
    statusNumber('Available', 'availableReplicas'),
  ],
  'statefulsets.apps': [column('Ready', ready)],
  'leases.coordination.k8s.io': [column('Holder', (object) => stringAt(object['spec'], 'holderIdentity') ?? '')],
  'clusterroles.rbac.authorization.k8s.io': [column('Created At', (object) => object.metadata.creationTimestamp ?? '')],
  'roles.rbac.authorization.k8s.io': [column('Created At', (object) => object.metadata.creationTimestamp ?? '')],
  'clusterrolebindings.rbac.authorization.k8s.io': [column('Role', roleOf)],
  'rolebindings.rbac.authorization.k8s.io': [column('Role', roleOf)],
  'customresourcedefinitions.apiextensions.k8s.io': [
    column('Created At', (object) => object.metadata.creationTimestamp ?? ''),
  ],
  events: [
    column('Last Seen', (object, now) => since(object['lastTimestamp'] ?? object['eventTime'], now)),
    column('Type', (object) => object['type'] ?? ''),
    column('Reason', (object) => object['reason'] ?? ''),
    column('Object', (object) => {
      const about = objectAt(object, 'involvedObject');
      return `${(stringAt(about, 'kind') ?? '').toLowerCase()}/${stringAt(about, 'name') ?? ''}`;
    }),
    column('Source', (object) => stringAt(object['source'], 'component') ?? '', wide),
    column('Message', (object) => (typeof object['message'] === 'string' ? object['message'].trim() : '')),
  ],
};

/** Shown after Age with `-o wide`. */
export const wideColumns: Readonly<Record<string, readonly Column[]>> = {
  'deployments.apps': [
    column('Containers', (object) => containers(object, 'name'), wide),
    column('Images', (object) => containers(object, 'image'), wide),
  ],
};

/** Resources whose table leaves one of the two out, as kubectl's users know them. */
export const withoutAge: ReadonlySet<string> = new Set([
  'events',
  'clusterroles.rbac.authorization.k8s.io',
  'roles.rbac.authorization.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
]);
export const withoutName: ReadonlySet<string> = new Set(['events']);

function roleOf(object: unknown): string {
  const role = objectAt(object, 'roleRef');
  return `${stringAt(role, 'kind') ?? ''}/${stringAt(role, 'name') ?? ''}`;
}
