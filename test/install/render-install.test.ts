import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { InstallOptionError, type OperatorOptions } from '../../src/install/install-options.ts';
import { renderCrds, renderNamespaceGrant, renderOperator } from '../../src/install/render-install.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';

const files = readInstallFiles();
const CLUSTER = { slug: 'prod-eu', baseUrl: 'https://control.example.com' };

const id = ({ kind, metadata: { name, namespace } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
const read = (text: string): unknown[] => parseAllDocuments(text).map((document) => document.toJS() as unknown);
const one = <T>(objects: readonly KubeObject[], kind: string): T =>
  objects.find((object) => object.kind === kind) as unknown as T;

describe('the manifest of the operator', () => {
  it('holds the account, the roles, the Deployment, the webhook and the network policy', () => {
    expect(renderOperator(files).objects.map(id)).toEqual([
      'ServiceAccount service-system/service-operator',
      'ClusterRole service-operator',
      'ClusterRoleBinding service-operator',
      'ClusterRole service-operator-namespace',
      'Role service-system/service-operator',
      'RoleBinding service-system/service-operator',
      'Deployment service-system/service-operator',
      'Service service-system/service-operator',
      'ValidatingWebhookConfiguration service-operator',
      'NetworkPolicy service-system/service-operator',
    ]);
  });

  it('holds what the options ask for, and each namespace once', () => {
    const plain = renderOperator(files).objects.map(id);
    const all = renderOperator(files, {
      cluster: CLUSTER,
      namespaceGrants: ['shop', 'blog', 'shop'],
      podDisruptionBudget: 'v1',
      allowUpgrade: true,
    });
    expect(all.objects.map(id)).toEqual([
      ...plain,
      'RoleBinding shop/service-operator',
      'RoleBinding blog/service-operator',
      'Role service-system/service-operator-upgrade',
      'RoleBinding service-system/service-operator-upgrade',
      'PodDisruptionBudget service-system/service-operator',
      'Cluster service-system/prod-eu',
    ]);
  });

  it('is text that reads as exactly the objects, with comments and the same bytes each time', () => {
    const options: OperatorOptions = { cluster: CLUSTER, namespaceGrants: ['shop'], image: 'example.com/operator:9' };
    const { text, objects } = renderOperator(files, options);
    expect(read(text)).toEqual(objects);
    expect(text).toContain('# In: the webhook and the probes, one port.');
    expect(text).toMatch(/^# The operator of cluster prod-eu; apply crds.yaml first.\n/);
    expect(renderOperator(readInstallFiles(), options).text).toBe(text);
  });

  it('sets image, replicas, the address of the control plane and the ports that it needs', () => {
    const { objects } = renderOperator(files, {
      cluster: { slug: 'prod-eu', baseUrl: 'http://10.0.0.7:8080/service' },
      image: 'registry.example.com:5000/service-operator@sha256:0123',
      replicas: 1,
      apiServerPort: 16443,
    });
    const deployment = one<{ spec: { replicas: number; template: { spec: { containers: { image: string }[] } } } }>(
      objects,
      'Deployment',
    );
    expect(deployment.spec.replicas).toBe(1);
    expect(deployment.spec.template.spec.containers.map(({ image }) => image)).toEqual([
      'registry.example.com:5000/service-operator@sha256:0123',
    ]);
    expect(one<KubeObject>(objects, 'Cluster')['spec']).toEqual({
      controlPlaneBaseUrl: 'http://10.0.0.7:8080/service',
    });
    const policy = one<{ spec: { egress: { ports: { port: number }[] }[] } }>(objects, 'NetworkPolicy');
    expect(policy.spec.egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      [53, 53],
      [443, 6443, 16443, 8080],
    ]);
  });

  it.each(['on', 'no', '1e3', '0123', 'null'])(
    'writes the name %s so that a reader of YAML 1.1 takes it for a text',
    (slug) => {
      const { text } = renderOperator(files, { cluster: { ...CLUSTER, slug }, namespaceGrants: [slug] });
      const read11 = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as KubeObject);
      expect(one<KubeObject>(read11, 'Cluster').metadata.name).toBe(slug);
      expect(read11.filter(({ metadata }) => metadata.namespace === slug)).toHaveLength(1);
    },
  );

  it.each<[string, OperatorOptions]>([
    ['--cluster', { cluster: { ...CLUSTER, slug: 'Prod EU' } }],
    ['--cluster', { cluster: { ...CLUSTER, slug: 'a\n---\nkind: Secret' } }],
    ['--base-url', { cluster: { ...CLUSTER, baseUrl: 'control.example.com' } }],
    ['--base-url', { cluster: { ...CLUSTER, baseUrl: 'https://user:password@control.example.com' } }],
    ['--base-url', { cluster: { ...CLUSTER, baseUrl: 'https://control.example.com/?token=x' } }],
    ['--image', { image: 'two words' }],
    ['--image', { image: '' }],
    ['--replicas', { replicas: 1.5 }],
    ['--api-server-port', { apiServerPort: 70_000 }],
    ['--namespace-grants', { namespaceGrants: ['shop', 'Shop'] }],
    ['--namespace-grants', { namespaceGrants: ['shop', 'kube-system'] }],
  ])('refuses %s %j, naming it', (option, options) => {
    expect(() => renderOperator(files, options)).toThrow(InstallOptionError);
    expect(() => renderOperator(files, options)).toThrow(new RegExp(`^${option}: .+, not "?`));
  });

  it('names the image by the version of this project', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    const deployment = one<{ spec: { template: { spec: { containers: { image: string }[] } } } }>(
      renderOperator(files).objects,
      'Deployment',
    );
    expect(deployment.spec.template.spec.containers[0]?.image).toBe(`service-operator:${version}`);
  });
});

describe('the manifest of the definitions', () => {
  it('holds the namespace first and then every generated definition, as it is in crds/', () => {
    const { text, objects } = renderCrds(files);
    expect(objects.map(id)).toEqual([
      'Namespace service-system',
      'CustomResourceDefinition applicationinstances.apps.service.io',
      'CustomResourceDefinition clusters.ops.service.io',
      'CustomResourceDefinition operations.ops.service.io',
    ]);
    expect(read(text)).toEqual(objects);
    expect(objects[0]?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    expect(text).not.toContain('x-kubernetes-validations');
  });

  it('holds the same objects with rules where they are asked for', () => {
    const { text, objects } = renderCrds(files, { cel: true });
    expect(objects.map(id)).toEqual(renderCrds(files).objects.map(id));
    expect(text.match(/x-kubernetes-validations/g)?.length).toBeGreaterThan(3);
  });
});

describe('what is removed with what', () => {
  it('gives nothing an owner, so that removing one thing never takes another with it', () => {
    const all = [
      ...renderCrds(files).objects,
      ...renderOperator(files, {
        cluster: CLUSTER,
        namespaceGrants: ['shop'],
        podDisruptionBudget: 'v1',
        allowUpgrade: true,
      }).objects,
    ];
    expect(all.filter(({ metadata }) => metadata.ownerReferences !== undefined)).toEqual([]);
  });

  it('keeps the namespace and the definitions out of the file of the operator', () => {
    const kinds = renderOperator(files, { cluster: CLUSTER, namespaceGrants: ['shop'] }).objects.map(
      ({ kind }) => kind,
    );
    expect(kinds).not.toContain('Namespace');
    expect(kinds).not.toContain('CustomResourceDefinition');
  });

  it('holds no Secret and no token', () => {
    const { text, objects } = renderOperator(files, { cluster: CLUSTER });
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    expect(text).not.toMatch(/svc(reg|agt|adm|git)_/);
    expect(one<KubeObject>(objects, 'Cluster')['spec']).not.toHaveProperty('registration');
  });
});

describe('the grant of a namespace', () => {
  it('is the label, an account for releases without rights, and the RoleBinding', () => {
    const { text, objects } = renderNamespaceGrant(files, { namespace: 'shop' });
    expect(objects.map(id)).toEqual([
      'Namespace shop',
      'ServiceAccount shop/service-applications',
      'RoleBinding shop/service-operator',
    ]);
    expect(objects[0]).toEqual({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop', labels: { 'managed-by': 'service' } },
    });
    expect(objects[2]).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'service-operator-namespace' },
      subjects: [{ kind: 'ServiceAccount', name: 'service-operator', namespace: 'service-system' }],
    });
    expect(read(text)).toEqual(objects);
    expect(text).toContain('#   kubectl label namespace shop managed-by=service\n');
  });

  it('names another account for releases by the annotation, and leaves that account alone', () => {
    const { objects } = renderNamespaceGrant(files, { namespace: 'shop', serviceAccount: 'deployer' });
    expect(objects.map(id)).toEqual(['Namespace shop', 'RoleBinding shop/service-operator']);
    expect(objects[0]?.metadata.annotations).toEqual({ 'ops.service.io/service-account': 'deployer' });
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease', 'service-system'])('refuses %s', (namespace) => {
    expect(() => renderNamespaceGrant(files, { namespace })).toThrow(
      `NAMESPACE: a namespace for applications (kube-… is Kubernetes' own, service-system the operator's), not "${namespace}"`,
    );
  });

  it.each(['default', 'kubernetes', 'my-kube-system'])('takes %s', (namespace) => {
    expect(renderNamespaceGrant(files, { namespace }).objects[0]?.metadata.name).toBe(namespace);
  });

  it('refuses names that are none', () => {
    expect(() => renderNamespaceGrant(files, { namespace: 'kube system' })).toThrow(/^NAMESPACE: a namespace/);
    expect(() => renderNamespaceGrant(files, { namespace: 'shop', serviceAccount: '-x' })).toThrow(
      /^--service-account: a service account's name/,
    );
  });
});
