import type { ClusterApi } from '../kube/cluster-api.ts';
import { CLUSTER_KIND, type Cluster } from '../resources/cluster.ts';
import type { KubeObject, OwnerReference } from '../resources/kube-object.ts';
import { OPS_API_VERSION } from '../resources/labels.ts';
import { Secret } from '../runtime/secret.ts';

interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

/** A Kubernetes Secret as the operator sees it. */
export interface SecretContent {
  readonly data: Readonly<Record<string, Secret>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

export interface SecretWrite extends SecretRef {
  readonly data: Readonly<Record<string, Secret>>;
  readonly owner: OwnerReference;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** `create` fails with 409 when the Secret is there; `apply` makes or replaces it. */
  readonly how: 'create' | 'apply';
}

/** Reads a Secret into wrapped values. @throws KubeError */
export async function readSecret(
  api: ClusterApi,
  ref: SecretRef,
  signal: AbortSignal,
): Promise<SecretContent | undefined> {
  const object = await api.get<SecretObject>({ apiVersion: 'v1', kind: 'Secret', ...ref }, signal);
  if (object === undefined) return undefined;
  const data = Object.entries(object.data ?? {}).map(
    ([name, text]) => [name, new Secret(Buffer.from(text, 'base64').toString('utf8'))] as const,
  );
  return {
    data: Object.fromEntries(data),
    annotations: object.metadata.annotations ?? {},
    labels: object.metadata.labels ?? {},
  };
}

/** Writes a Secret that belongs to the `Cluster` resource and goes with it. @throws KubeError */
export async function writeSecret(
  api: ClusterApi,
  write: SecretWrite,
  fieldManager: string,
  signal: AbortSignal,
): Promise<void> {
  const data = Object.entries(write.data).map(
    ([name, value]) => [name, Buffer.from(value.expose(), 'utf8').toString('base64')] as const,
  );
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: write.name,
      namespace: write.namespace,
      ...(write.labels === undefined ? {} : { labels: { ...write.labels } }),
      ...(write.annotations === undefined ? {} : { annotations: { ...write.annotations } }),
      ownerReferences: [write.owner],
    },
    type: 'Opaque',
    data: Object.fromEntries(data),
  };
  if (write.how === 'create') await api.create(object, fieldManager, signal);
  else await api.apply(object, { fieldManager, force: true }, signal);
}

export function ownerOf(cluster: Cluster): OwnerReference {
  const { name, uid = '' } = cluster.metadata;
  return { apiVersion: OPS_API_VERSION, kind: CLUSTER_KIND, name, uid };
}
