import type { KubeObject } from '../resources/kube-object.ts';
import { SERVICE_ACCOUNT_ANNOTATION } from '../resources/labels.ts';
import type { InstallFiles } from './install-files.ts';
import { checkNamespace, checkOperatorOptions, checkServiceAccount, type OperatorOptions } from './install-options.ts';
import { commentLines, joinDocuments, objectOf, withFields, withItem, type FieldChange } from './yaml-document.ts';

/** A list of objects, and the YAML file that holds exactly them, with comments. */
export interface Manifest {
  readonly text: string;
  readonly objects: readonly KubeObject[];
}

const CONTAINER = ['spec', 'template', 'spec', 'containers', 0] as const;
/** In the NetworkPolicy: the rule for everything but DNS, and the ports that it has already. */
const EGRESS_PORTS = ['spec', 'egress', 1, 'ports'] as const;
const OPEN_PORTS: ReadonlySet<number> = new Set([443, 6443]);

/** The namespace and the custom resource definitions. The same files always give the same bytes. */
export function renderCrds(files: InstallFiles, { cel = false }: { readonly cel?: boolean } = {}): Manifest {
  return manifest(
    [
      "The operator's namespace and custom resource definitions; apply this before operator.yaml.",
      '',
      'Do not `kubectl delete -f` this file to remove the operator: it deletes every ApplicationInstance, Operation and Cluster',
      'resource. Releases stay installed even then.',
    ],
    cel ? [...files.crds.slice(0, -files.cel.length), ...files.cel] : files.crds,
  );
}

/**
 * The operator: account, roles, Deployment, webhook, network policy, and what the options add.
 *
 * @throws InstallOptionError
 */
export function renderOperator(files: InstallFiles, options: OperatorOptions = {}): Manifest {
  checkOperatorOptions(options);
  const { cluster, namespaceGrants = [], podDisruptionBudget, allowUpgrade = false } = options;
  const overlay = podDisruptionBudget === 'v1beta1' ? 'pod-disruption-budget-v1beta1' : 'pod-disruption-budget';
  const grants = [...new Set(namespaceGrants)].map((namespace) => roleBindingIn(files, namespace));
  return manifest(
    [
      `The operator${cluster === undefined ? '' : ` of cluster ${cluster.slug}`}; apply crds.yaml first.`,
      '',
      'Applying it again upgrades. `kubectl delete -f` removes the operator and uninstalls nothing: releases go on running.',
    ],
    [
      ...files.operator.map((text) => adjusted(text, options)),
      ...grants,
      ...(allowUpgrade ? files.upgrade : []),
      ...(podDisruptionBudget === undefined ? [] : files[overlay]),
      ...(cluster === undefined ? [] : files.cluster.map((text) => named(text, cluster))),
    ],
  );
}

/**
 * Both in one file. The definitions come first; still `kubectl` looks up every kind before it applies anything, so with a
 * Cluster resource in it a first run has to be repeated.
 *
 * @throws InstallOptionError
 */
export function renderAll(files: InstallFiles, options: OperatorOptions & { readonly cel?: boolean } = {}): Manifest {
  const crds = renderCrds(files, options);
  const operator = renderOperator(files, options);
  const twice =
    'On a cluster without the definitions apply it twice: kubectl looks up the kind Cluster before it makes it.';
  const text = commentLines(options.cluster === undefined ? [] : [twice, '']) + crds.text + operator.text;
  return { text, objects: [...crds.objects, ...operator.objects] };
}

export interface NamespaceGrant {
  readonly namespace: string;
  /** What releases run as, when it is not `service-applications`. It must exist. */
  readonly serviceAccount?: string;
}

/**
 * What a cluster's admin applies to let the operator work in one namespace: label, service account, RoleBinding.
 *
 * @throws InstallOptionError
 */
export function renderNamespaceGrant(files: InstallFiles, grant: NamespaceGrant): Manifest {
  const { namespace, serviceAccount } = grant;
  checkNamespace('NAMESPACE', namespace);
  if (serviceAccount !== undefined) checkServiceAccount('--service-account', serviceAccount);
  const account = serviceAccount ?? 'service-applications';
  const texts = files.namespace.flatMap((text) => {
    const { kind } = objectOf(text);
    if (kind === 'ServiceAccount' && serviceAccount !== undefined) return [];
    if (kind !== 'Namespace') return [withFields(text, [[['metadata', 'namespace'], namespace]])];
    const annotation: FieldChange = [['metadata', 'annotations', SERVICE_ACCOUNT_ANNOTATION], serviceAccount];
    return [
      withFields(text, [[['metadata', 'name'], namespace], ...(serviceAccount === undefined ? [] : [annotation])]),
    ];
  });
  return manifest(
    [
      `Lets the operator work in the namespace ${namespace}. By hand it would be:`,
      `  kubectl label namespace ${namespace} managed-by=service`,
      `  kubectl -n ${namespace} create rolebinding service-operator --clusterrole=service-operator-namespace --serviceaccount=service-system:service-operator`,
      '',
      `Releases in it run as the service account ${account}. Give it what your charts need, for example:`,
      `  kubectl -n ${namespace} create rolebinding ${account} --clusterrole=edit --serviceaccount=${namespace}:${account}`,
    ],
    texts,
  );
}

/**
 * What a cluster's admin applies to let the operator ask Velero for backups and restores.
 *
 * @param namespace that Velero runs in
 * @throws InstallOptionError
 */
export function renderVeleroGrant(files: InstallFiles, namespace: string): Manifest {
  checkNamespace('--velero-namespace', namespace);
  return manifest(
    [
      `Lets the operator make Velero's Backups and Restores in the namespace ${namespace}, and read them by name.`,
      '',
      'To take that back:',
      `  kubectl -n ${namespace} delete role,rolebinding service-operator-velero`,
    ],
    files.velero.map((text) => withFields(text, [[['metadata', 'namespace'], namespace]])),
  );
}

function adjusted(text: string, options: OperatorOptions): string {
  const { image, replicas, cluster, apiServerPort } = options;
  switch (objectOf(text).kind) {
    case 'Deployment': {
      const changes: FieldChange[] = [];
      if (image !== undefined) changes.push([[...CONTAINER, 'image'], image]);
      if (replicas !== undefined) changes.push([['spec', 'replicas'], replicas]);
      return changes.length === 0 ? text : withFields(text, changes);
    }
    case 'NetworkPolicy': {
      const wanted = [apiServerPort, cluster === undefined ? undefined : portOf(cluster.baseUrl)];
      const missing = new Set(wanted.filter((port) => port !== undefined && !OPEN_PORTS.has(port)));
      return [...missing].reduce((with_, port) => withItem(with_, EGRESS_PORTS, { protocol: 'TCP', port }), text);
    }
    default:
      return text;
  }
}

function named(text: string, cluster: { readonly slug: string; readonly baseUrl: string }): string {
  return withFields(text, [
    [['metadata', 'name'], cluster.slug],
    [['spec', 'controlPlaneBaseUrl'], cluster.baseUrl],
  ]);
}

function roleBindingIn(files: InstallFiles, namespace: string): string {
  const text = files.namespace.find((candidate) => objectOf(candidate).kind === 'RoleBinding');
  if (text === undefined) throw new Error('templates/install/namespace has no RoleBinding: the installation is broken');
  return withFields(text, [[['metadata', 'namespace'], namespace]]);
}

function portOf(baseUrl: string): number {
  const { port, protocol } = new URL(baseUrl);
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
}

function manifest(header: readonly string[], texts: readonly string[]): Manifest {
  return { text: joinDocuments(header, texts), objects: texts.map(objectOf) };
}
