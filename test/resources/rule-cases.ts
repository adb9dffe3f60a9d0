import type { KubeObject } from '../../src/resources/kube-object.ts';
import { APPS_API_VERSION, OPERATOR_NAMESPACE, OPS_API_VERSION } from '../../src/resources/labels.ts';

export interface RuleCase {
  readonly title: string;
  readonly before?: KubeObject;
  readonly after: KubeObject;
  /** Name of the rule that is broken; absent: all hold. */
  readonly broken?: string;
  /** CEL cannot see what is wrong, so no API server refuses it. */
  readonly onlyOurs?: true;
}

function instance(spec: Readonly<Record<string, unknown>> = {}): KubeObject {
  const chart = { type: 'oci', url: 'oci://registry.test/charts/podinfo', name: 'podinfo', version: '6.5.0' };
  return {
    apiVersion: APPS_API_VERSION,
    kind: 'ApplicationInstance',
    metadata: { name: 'ruled', namespace: 'shop' },
    spec: { catalogEntry: 'podinfo', chart, ...spec },
  };
}

function operation(spec: Readonly<Record<string, unknown>> = {}): KubeObject {
  return {
    apiVersion: OPS_API_VERSION,
    kind: 'Operation',
    metadata: { name: 'ruled', namespace: 'shop' },
    spec: { template: 'scale', parameters: { replicas: 2 }, ...spec },
  };
}

function cluster(controlPlaneBaseUrl: string, spec: Readonly<Record<string, unknown>> = {}): KubeObject {
  return {
    apiVersion: OPS_API_VERSION,
    kind: 'Cluster',
    metadata: { name: 'ruled', namespace: OPERATOR_NAMESPACE },
    spec: { controlPlaneBaseUrl, ...spec },
  };
}

const helm = { type: 'helm', url: 'https://charts.test', name: 'podinfo', version: '6.5.0' };
const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' };
const mtls = { security: { mtls: { enabled: true } } };

export const RULE_CASES: readonly RuleCase[] = [
  { title: 'an oci chart at an oci:// address', after: instance() },
  { title: 'a helm chart at an https:// address', after: instance({ chart: helm }) },
  {
    title: 'an oci chart at an https:// address',
    after: instance({ chart: { ...helm, type: 'oci' } }),
    broken: 'chartUrlDoesNotFitType',
  },
  {
    title: 'a helm chart at an oci:// address',
    after: instance({ chart: { ...helm, url: 'oci://registry.test/charts/podinfo' } }),
    broken: 'chartUrlDoesNotFitType',
  },
  {
    title: 'a new version',
    before: instance({ chart: helm }),
    after: instance({ chart: { ...helm, version: '6.6.1' } }),
  },
  { title: 'a release name that stays', before: instance({ releaseName: 'a' }), after: instance({ releaseName: 'a' }) },
  {
    title: 'another release name',
    before: instance({ releaseName: 'a' }),
    after: instance({ releaseName: 'b' }),
    broken: 'releaseNameIsChanged',
  },
  {
    title: 'a release name where there was none',
    before: instance(),
    after: instance({ releaseName: 'b' }),
    broken: 'releaseNameIsChanged',
  },
  {
    title: 'a release name that is taken out',
    before: instance({ releaseName: 'a' }),
    after: instance(),
    broken: 'releaseNameIsChanged',
  },
  {
    title: 'another target namespace',
    before: instance({ targetNamespace: 'shop' }),
    after: instance({ targetNamespace: 'bank' }),
    broken: 'targetNamespaceIsChanged',
  },
  {
    title: 'a target namespace that is taken out',
    before: instance({ targetNamespace: 'shop' }),
    after: instance(),
    broken: 'targetNamespaceIsChanged',
  },
  {
    title: 'a dependency of the same name elsewhere',
    after: instance({ dependsOn: [{ name: 'ruled', namespace: 'bank' }, { name: 'db' }] }),
  },
  {
    title: 'a dependency on itself',
    after: instance({ dependsOn: [{ name: 'db' }, { name: 'ruled' }] }),
    broken: 'instanceDependsOnItself',
  },
  {
    title: 'a dependency on itself with its namespace spelled out',
    after: instance({ dependsOn: [{ name: 'ruled', namespace: 'shop' }] }),
    broken: 'instanceDependsOnItself',
    onlyOurs: true,
  },
  {
    title: 'fields that drift detection leaves alone, where it looks',
    after: instance({ driftDetection: 'warn', driftIgnore: [{ paths: ['/spec/replicas'] }] }),
  },
  {
    title: 'no fields to leave alone, where nothing looks',
    after: instance({ driftIgnore: [] }),
  },
  {
    title: 'fields to leave alone where nothing looks',
    after: instance({ driftIgnore: [{ paths: ['/spec/replicas'] }] }),
    broken: 'driftIgnoreHasNoEffect',
  },
  {
    title: 'fields to leave alone where detection is switched off',
    after: instance({ driftDetection: 'disabled', driftIgnore: [{ paths: ['/spec/replicas'] }] }),
    broken: 'driftIgnoreHasNoEffect',
  },
  {
    title: 'a deadline, a cancellation and a required approval that come later',
    before: operation(),
    after: operation({ deadlineSeconds: 60, cancel: true, approval: { required: true } }),
  },
  {
    title: 'another template',
    before: operation(),
    after: operation({ template: 'run-job' }),
    broken: 'templateIsChanged',
  },
  {
    title: 'other parameters',
    before: operation(),
    after: operation({ parameters: { replicas: 3 } }),
    broken: 'parametersAreChanged',
    onlyOurs: true,
  },
  {
    title: 'parameters that are taken out',
    before: operation(),
    after: operation({ parameters: undefined }),
    broken: 'parametersAreChanged',
    onlyOurs: true,
  },
  {
    title: 'another target',
    before: operation({ targetRef: target }),
    after: operation({ targetRef: { ...target, name: 'other' } }),
    broken: 'targetIsChanged',
  },
  {
    title: 'a target where there was none',
    before: operation(),
    after: operation({ targetRef: target }),
    broken: 'targetIsChanged',
  },
  {
    title: 'the same target',
    before: operation({ targetRef: target }),
    after: operation({ targetRef: { ...target } }),
  },
  {
    title: 'another hash of the template',
    before: operation({ templateHash: `sha256-${'a'.repeat(43)}` }),
    after: operation({ templateHash: `sha256-${'b'.repeat(43)}` }),
    broken: 'templateHashIsChanged',
  },
  {
    title: 'a cancellation that is taken back',
    before: operation({ cancel: true }),
    after: operation({ cancel: false }),
    broken: 'cancelIsTakenBack',
  },
  {
    title: 'a required approval that is dropped',
    before: operation({ approval: { required: true } }),
    after: operation(),
    broken: 'approvalIsNoLongerRequired',
  },
  { title: 'plain http without a client certificate', after: cluster('http://127.0.0.1:8080') },
  { title: 'a client certificate over https', after: cluster('https://service.test', mtls) },
  {
    title: 'a client certificate over plain http',
    after: cluster('http://service.test', mtls),
    broken: 'mtlsWithoutTls',
  },
];
