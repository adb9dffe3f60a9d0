import { describe, expect, it } from 'vitest';
import { readInstallFiles } from '../../src/install/install-files.ts';
import { renderOperator } from '../../src/install/render-install.ts';
import type { KubeObject } from '../../src/resources/kube-object.ts';
import { JOURNAL_SLOTS, slotName } from '../../src/operator/jobs/job-journal.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
type Role = KubeObject & { readonly rules: readonly Rule[] };
type Binding = KubeObject & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
};

const { objects } = renderOperator(readInstallFiles(), { namespaceGrants: ['shop'], allowUpgrade: true });
const roles = objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole') as Role[];
const bindings = objects.filter(({ kind }) => kind.endsWith('Binding')) as Binding[];

/** One line per resource: `group/resource[names]: verbs`. */
function linesOf(name: string, kind: string): string[] {
  const role = roles.find((candidate) => candidate.metadata.name === name && candidate.kind === kind);
  return (role?.rules ?? []).flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => {
        const names = resourceNames === undefined ? '' : `[${resourceNames.join(' ')}]`;
        return `${group === '' ? 'core' : group}/${resource}${names}: ${verbs.join(' ')}`;
      }),
    ),
  );
}

describe('the rights of the operator', () => {
  it('cluster-wide are to watch its own kinds and namespaces, and to write into its own webhook', () => {
    expect(linesOf('service-operator', 'ClusterRole')).toEqual([
      'apps.service.io/applicationinstances: get list watch',
      'ops.service.io/operations: get list watch',
      'core/namespaces: get list watch',
      'admissionregistration.k8s.io/validatingwebhookconfigurations[service-operator]: get patch',
    ]);
  });

  it('in its own namespace are to its Cluster, its own Secrets by name, its records, its Lease and Events', () => {
    const journal = Array.from({ length: JOURNAL_SLOTS }, (_, slot) => slotName(slot));
    expect(linesOf('service-operator', 'Role')).toEqual([
      'ops.service.io/clusters: list watch',
      'ops.service.io/clusters/status: patch',
      'core/secrets[service-operator-credentials service-operator-keypair service-operator-webhook]: get patch',
      'core/secrets[service-operator-registration]: get delete',
      `core/secrets[${journal.join(' ')}]: get patch delete`,
      'core/secrets: create',
      'core/configmaps: get create patch',
      'coordination.k8s.io/leases[service-operator]: get patch',
      'coordination.k8s.io/leases: create',
      'core/events: create patch',
    ]);
  });

  it('in a granted namespace are to its own kinds, to what Flux makes releases of and to what operations work on', () => {
    expect(linesOf('service-operator-namespace', 'ClusterRole')).toEqual([
      'apps.service.io/applicationinstances: create patch delete',
      'apps.service.io/applicationinstances/status: patch',
      'ops.service.io/operations: create patch delete',
      'ops.service.io/operations/status: patch',
      'helm.toolkit.fluxcd.io/helmreleases: list watch create patch delete',
      'source.toolkit.fluxcd.io/ocirepositories: list watch create patch delete',
      'source.toolkit.fluxcd.io/helmrepositories: list watch create patch delete',
      'core/secrets: create patch delete',
      'core/events: list create patch',
      'apps/deployments: get list patch',
      'apps/statefulsets: get list patch',
      'apps/daemonsets: get list patch',
      'batch/jobs: get create delete',
      'batch/cronjobs: get list',
      'core/pods: list',
      'core/pods/log: get',
      'core/configmaps: get create patch',
    ]);
  });

  it('for its upgrade are to its own Deployment', () => {
    expect(linesOf('service-operator-upgrade', 'Role')).toEqual(['apps/deployments[service-operator]: get patch']);
  });

  it('are those four roles, each bound to its account alone, the third in the granted namespace only', () => {
    expect(roles).toHaveLength(4);
    const lines = bindings.map(
      ({ kind, metadata, roleRef, subjects }) =>
        `${kind} ${metadata.namespace ?? '*'}: ${roleRef.kind} ${roleRef.name} to ` +
        subjects.map((subject) => `${subject.kind} ${subject.namespace}/${subject.name}`).join(', '),
    );
    expect(lines).toEqual([
      'ClusterRoleBinding *: ClusterRole service-operator to ServiceAccount service-system/service-operator',
      'RoleBinding service-system: Role service-operator to ServiceAccount service-system/service-operator',
      'RoleBinding shop: ClusterRole service-operator-namespace to ServiceAccount service-system/service-operator',
      'RoleBinding service-system: Role service-operator-upgrade to ServiceAccount service-system/service-operator',
    ]);
  });

  it('hold no wildcard and no RBAC object, and let it read no Secret outside its own namespace', () => {
    const all = roles.flatMap(({ rules }) => rules);
    expect(all.filter(({ apiGroups }) => apiGroups.includes('rbac.authorization.k8s.io'))).toEqual([]);
    expect(all.filter((rule) => JSON.stringify(rule).includes('"*"'))).toEqual([]);
    // A ClusterRole holds in the namespaces too where it is bound to by name.
    const outside = roles.filter(({ kind }) => kind === 'ClusterRole').flatMap(({ rules }) => rules);
    const verbs = outside.filter(({ resources }) => resources.includes('secrets')).flatMap((rule) => rule.verbs);
    expect(verbs).toEqual(['create', 'patch', 'delete']);
  });
});

describe('the Pod of the operator', () => {
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: {
      readonly template: {
        readonly spec: Readonly<Record<string, unknown>> & {
          readonly containers: readonly Readonly<Record<string, unknown>>[];
          readonly securityContext: unknown;
          readonly volumes: readonly Readonly<Record<string, unknown>>[];
        };
      };
    };
  };
  const pod = deployment.spec.template.spec;

  it('passes the restricted Pod Security profile, with nothing to write on but two volumes', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.containers).toHaveLength(1);
    expect(pod.containers[0]?.['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      privileged: false,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.volumes.map((volume) => Object.keys(volume))).toEqual([
      ['name', 'emptyDir'],
      ['name', 'emptyDir'],
    ]);
    expect(pod['hostNetwork'] ?? pod['hostPID'] ?? pod['hostIPC']).toBeUndefined();
  });

  it('is given no links to Services, and has limits and three probes', () => {
    expect(pod['enableServiceLinks']).toBe(false);
    expect(pod.containers[0]).toMatchObject({
      resources: { requests: { cpu: '50m' }, limits: { memory: '256Mi' } },
      startupProbe: { httpGet: { path: '/healthz' } },
      livenessProbe: { httpGet: { path: '/healthz' } },
      readinessProbe: { httpGet: { path: '/readyz' } },
    });
  });
});
