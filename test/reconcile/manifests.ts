import type { DesiredItem, Removal } from '../../src/delivery/delivery.ts';
import type { Tombstone } from '../../src/intent/rendered.ts';
import type { ClusterPolicy } from '../../src/policy/cluster-policy.ts';
import type { ApplicationInstance, ApplicationInstanceSpec } from '../../src/resources/application-instance.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';

export const CLUSTER_ID = 'c-0123456789abcdef';
export const CHART_URL = 'oci://registry.test/charts/podinfo';

export function aPolicy(change: Partial<ClusterPolicy> = {}): ClusterPolicy {
  return {
    clusterId: CLUSTER_ID,
    mode: 'gitops',
    deliveryEpoch: 1,
    allowedNamespaces: ['shop'],
    catalogEntries: [
      { entry: 'podinfo', chart: { type: 'oci', url: CHART_URL, name: 'podinfo' }, versions: '>=6.5.0 <7' },
    ],
    operationTemplates: [],
    signingKeys: [],
    requireSignedPayloads: false,
    requireEncryptedSecretPayloads: false,
    paused: false,
    ...change,
  };
}

export interface InstanceOptions {
  readonly name?: string;
  readonly namespace?: string;
  readonly source?: string;
  readonly intentId?: string;
  readonly version?: string;
  readonly spec?: Partial<ApplicationInstanceSpec>;
}

/** A manifest as it is rendered from an intent. */
export function anInstance(options: InstanceOptions = {}): ApplicationInstance {
  const { name = 'podinfo', namespace = 'shop', source = '1.1', intentId = 'int-1', version = '6.5.0', spec } = options;
  return {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    metadata: {
      name,
      namespace,
      labels: { 'app.service.io/managed-by': 'control-plane', 'app.service.io/cluster-id': CLUSTER_ID },
      annotations: { 'app.service.io/source': source, 'app.service.io/intent-id': intentId },
    },
    spec: {
      catalogEntry: 'podinfo',
      chart: { type: 'oci', url: CHART_URL, name: 'podinfo', version },
      ...spec,
    },
  };
}

/** The same, as it stands in the cluster. */
export function live(object: KubeObject, change: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { ...object, metadata: { ...object.metadata, uid: 'uid-1', resourceVersion: '7', generation: 1, ...change } };
}

export function aNamespace(name = 'shop', metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'managed-by': 'service' }, ...metadata } };
}

export function aTombstone(change: Partial<Tombstone> = {}): Tombstone {
  return {
    apiVersion: 'apps.service.io/v1alpha1',
    kind: 'ApplicationInstance',
    namespace: 'shop',
    name: 'podinfo',
    intentId: 'int-9',
    epoch: 1,
    generation: 9,
    time: '2026-01-01T00:00:00Z',
    ...change,
  };
}

/** An instance in the file where its intent puts it. */
export function file(options: InstanceOptions = {}): DesiredItem {
  const object = anInstance(options);
  return { key: `apps/${object.metadata.namespace}/${object.metadata.name}.yaml`, object };
}

/** A tombstone in its file. */
export function stone(change: Partial<Tombstone> = {}): Removal {
  const tombstone = aTombstone(change);
  return { key: `tombstones/${tombstone.namespace}/${tombstone.name}.json`, tombstone };
}
