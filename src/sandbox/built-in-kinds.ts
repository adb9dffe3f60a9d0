import { ageColumn, builtInColumns, nameColumn, wideColumns, withoutAge, withoutName } from './built-in-columns.ts';
import { builtInStructure } from './built-in-structures.ts';
import { resourceOf, type Kind } from './kind.ts';

/** What a row says; the rest has defaults. */
interface Row {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly version?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly clusterScoped?: boolean;
  /** Has a spec with a generation and a status subresource; most kinds have both or neither. */
  readonly hasStatus?: boolean;
  readonly hasGeneration?: boolean;
  readonly nameRule?: Kind['nameRule'];
}

const all = ['all'];
const RBAC = 'rbac.authorization.k8s.io';

/** Adding a kind is adding a row. None of them has a controller here, but for namespaces and CRDs. */
const rows: readonly Row[] = [
  {
    group: '',
    kind: 'Namespace',
    plural: 'namespaces',
    shortNames: ['ns'],
    clusterScoped: true,
    hasStatus: true,
    nameRule: 'label',
  },
  { group: '', kind: 'ConfigMap', plural: 'configmaps', shortNames: ['cm'] },
  { group: '', kind: 'Secret', plural: 'secrets' },
  { group: '', kind: 'Event', plural: 'events', shortNames: ['ev'] },
  { group: '', kind: 'ServiceAccount', plural: 'serviceaccounts', shortNames: ['sa'] },
  {
    group: '',
    kind: 'Service',
    plural: 'services',
    shortNames: ['svc'],
    categories: all,
    hasStatus: true,
    nameRule: 'label-1035',
  },
  { group: '', kind: 'Endpoints', plural: 'endpoints', shortNames: ['ep'] },
  { group: '', kind: 'Pod', plural: 'pods', shortNames: ['po'], categories: all, hasStatus: true },
  { group: '', kind: 'Node', plural: 'nodes', shortNames: ['no'], clusterScoped: true, hasStatus: true },
  {
    group: '',
    kind: 'PersistentVolumeClaim',
    plural: 'persistentvolumeclaims',
    shortNames: ['pvc'],
    hasStatus: true,
  },
  { group: '', kind: 'ResourceQuota', plural: 'resourcequotas', shortNames: ['quota'], hasStatus: true },
  { group: '', kind: 'LimitRange', plural: 'limitranges', shortNames: ['limits'] },
  {
    group: 'apps',
    kind: 'Deployment',
    plural: 'deployments',
    shortNames: ['deploy'],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'apps',
    kind: 'ReplicaSet',
    plural: 'replicasets',
    shortNames: ['rs'],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'apps',
    kind: 'StatefulSet',
    plural: 'statefulsets',
    shortNames: ['sts'],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'apps',
    kind: 'DaemonSet',
    plural: 'daemonsets',
    shortNames: ['ds'],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
  },
  { group: 'batch', kind: 'Job', plural: 'jobs', categories: all, hasStatus: true, hasGeneration: true },
  {
    group: 'batch',
    kind: 'CronJob',
    plural: 'cronjobs',
    shortNames: ['cj'],
    categories: all,
    hasStatus: true,
    hasGeneration: true,
  },
  { group: 'coordination.k8s.io', kind: 'Lease', plural: 'leases' },
  {
    group: 'networking.k8s.io',
    kind: 'Ingress',
    plural: 'ingresses',
    shortNames: ['ing'],
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'networking.k8s.io',
    kind: 'NetworkPolicy',
    plural: 'networkpolicies',
    shortNames: ['netpol'],
    hasGeneration: true,
  },
  {
    group: 'policy',
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    shortNames: ['pdb'],
    hasStatus: true,
    hasGeneration: true,
  },
  { group: RBAC, kind: 'Role', plural: 'roles', nameRule: 'path' },
  { group: RBAC, kind: 'RoleBinding', plural: 'rolebindings', nameRule: 'path' },
  { group: RBAC, kind: 'ClusterRole', plural: 'clusterroles', clusterScoped: true, nameRule: 'path' },
  { group: RBAC, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', clusterScoped: true, nameRule: 'path' },
  {
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    clusterScoped: true,
    hasStatus: true,
    hasGeneration: true,
  },
  {
    group: 'admissionregistration.k8s.io',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    categories: ['api-extensions'],
    clusterScoped: true,
    hasGeneration: true,
  },
  {
    group: 'admissionregistration.k8s.io',
    kind: 'MutatingWebhookConfiguration',
    plural: 'mutatingwebhookconfigurations',
    categories: ['api-extensions'],
    clusterScoped: true,
    hasGeneration: true,
  },
];

function kindOf(row: Row): Kind {
  const resource = resourceOf(row);
  return {
    group: row.group,
    version: row.version ?? 'v1',
    kind: row.kind,
    plural: row.plural,
    singular: row.kind.toLowerCase(),
    shortNames: row.shortNames ?? [],
    categories: row.categories ?? [],
    namespaced: row.clusterScoped !== true,
    custom: false,
    hasStatus: row.hasStatus ?? false,
    hasGeneration: row.hasGeneration ?? false,
    nameRule: row.nameRule ?? 'subdomain',
    structure: builtInStructure(resource),
    columns: [
      ...(withoutName.has(resource) ? [] : [nameColumn]),
      ...(builtInColumns[resource] ?? []),
      ...(withoutAge.has(resource) ? [] : [ageColumn]),
      ...(wideColumns[resource] ?? []),
    ],
  };
}

export const builtInKinds: readonly Kind[] = rows.map(kindOf);

function builtIn(kind: string): Kind {
  const found = builtInKinds.find((candidate) => candidate.kind === kind);
  if (found === undefined) throw new Error(`no built-in kind ${kind}`);
  return found;
}

/** The kinds that the server's own controllers write. */
export const namespaceKind = builtIn('Namespace');
export const serviceAccountKind = builtIn('ServiceAccount');
export const podKind = builtIn('Pod');
export const definitionKind = builtIn('CustomResourceDefinition');
