import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { KubeHttp } from '../support/cluster-contract/kube-http.ts';
import { describeRealCluster, START_TIMEOUT_MS, type RealCluster } from '../support/real-cluster/real-cluster.ts';

const TEMPLATES = join(import.meta.dirname, '..', '..', 'templates', 'install', 'push');
const ACCOUNT = 'system:serviceaccount:service-system:service-control-plane';
const VERBS = ['create', 'get', 'list', 'watch', 'patch', 'update', 'delete', 'deletecollection', '*'] as const;

interface Place {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace: string;
  readonly name?: string;
}

/** The specification's list ("Push and GitOps credentials"), and nothing else. */
const ALLOWED: readonly { readonly place: Place; readonly verbs: readonly string[] }[] = [
  {
    place: { group: 'apps.service.io', resource: 'applicationinstances', namespace: 'shop' },
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'update', 'delete'],
  },
  {
    place: { group: 'ops.service.io', resource: 'operations', namespace: 'shop' },
    verbs: ['create', 'get', 'list', 'watch', 'patch', 'update', 'delete'],
  },
  {
    place: { group: 'ops.service.io', resource: 'clusters', namespace: 'service-system' },
    verbs: ['get', 'list', 'watch'],
  },
];

const DENIED: readonly Place[] = [
  { group: 'apps.service.io', resource: 'applicationinstances', namespace: '' },
  { group: 'apps.service.io', resource: 'applicationinstances', namespace: 'unlabelled' },
  { group: 'apps.service.io', resource: 'applicationinstances', namespace: 'service-system' },
  { group: 'apps.service.io', resource: 'applicationinstances', subresource: 'status', namespace: 'shop' },
  { group: 'ops.service.io', resource: 'operations', namespace: 'unlabelled' },
  { group: 'ops.service.io', resource: 'operations', subresource: 'status', namespace: 'shop' },
  { group: 'ops.service.io', resource: 'clusters', namespace: 'shop' },
  { group: 'ops.service.io', resource: 'clusters', subresource: 'status', namespace: 'service-system' },
  { group: '', resource: 'secrets', namespace: 'service-system' },
  { group: '', resource: 'secrets', namespace: 'shop' },
  { group: '', resource: 'configmaps', namespace: 'service-system' },
  { group: '', resource: 'pods', namespace: 'shop' },
  { group: '', resource: 'events', namespace: 'shop' },
  { group: '', resource: 'namespaces', namespace: '' },
  {
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace: 'service-system',
    name: 'service-operator',
  },
  { group: 'helm.toolkit.fluxcd.io', resource: 'helmreleases', namespace: 'shop' },
  { group: 'source.toolkit.fluxcd.io', resource: 'ocirepositories', namespace: 'shop' },
  { group: 'coordination.k8s.io', resource: 'leases', namespace: 'service-system' },
  { group: 'apps', resource: 'deployments', namespace: 'service-system' },
  { group: 'rbac.authorization.k8s.io', resource: 'rolebindings', namespace: 'shop' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', namespace: '' },
  { group: 'admissionregistration.k8s.io', resource: 'validatingwebhookconfigurations', namespace: '' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', namespace: '' },
];

describeRealCluster("push mode's account", (start) => {
  let cluster: RealCluster;
  let http: KubeHttp;

  const may = async (place: Place, verb: string): Promise<boolean> => {
    const spec = { user: ACCOUNT, resourceAttributes: { ...place, verb } };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const { status, body } = await http.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    expect(status).toBe(201);
    return (body['status'] as { allowed: boolean }).allowed;
  };
  const create = async (object: KubeObject): Promise<void> => {
    const group = object.apiVersion.includes('/') ? `/apis/${object.apiVersion}` : `/api/${object.apiVersion}`;
    const { namespace } = object.metadata;
    const path = `${group}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${object.kind.toLowerCase()}s`;
    expect((await http.post(path, object)).status).toBe(201);
  };

  beforeAll(async () => {
    cluster = await start();
    http = new KubeHttp(cluster.kubeconfig);
    for (const name of ['service-system', 'shop', 'unlabelled']) {
      const labels = name === 'shop' ? { labels: { 'managed-by': 'service' } } : {};
      await create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...labels } });
    }
    for (const file of readdirSync(TEMPLATES)) {
      if (file === 'kustomization.yaml') continue;
      const object = parse(readFileSync(join(TEMPLATES, file), 'utf8')) as KubeObject;
      const isGrant = file === 'namespace-role-binding.yaml';
      await create(isGrant ? { ...object, metadata: { ...object.metadata, namespace: 'shop' } } : object);
    }
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await http?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  it("has exactly the verbs of the specification's list where a namespace is labelled and bound", async () => {
    for (const { place, verbs } of ALLOWED) {
      const allowed: string[] = [];
      for (const verb of VERBS) if (await may(place, verb)) allowed.push(verb);
      expect({ place, allowed }).toEqual({ place, allowed: verbs });
    }
  });

  it.each(DENIED)('may do nothing with $group/$resource/$subresource in "$namespace"', async (place) => {
    const allowed: string[] = [];
    for (const verb of VERBS) if (await may(place, verb)) allowed.push(verb);
    expect(allowed).toEqual([]);
  });
});
