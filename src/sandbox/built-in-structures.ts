import { atomic, keyed, metadataStructure, object, set, untyped, type Structure } from './structure.ts';

const conditions = keyed(['type']);
const status = object({ conditions });
const selector = atomic;

const container = object({
  name: untyped,
  image: untyped,
  command: atomic,
  args: atomic,
  env: keyed(
    ['name'],
    object({ valueFrom: object({ fieldRef: atomic, secretKeyRef: atomic, configMapKeyRef: atomic }) }),
  ),
  ports: keyed(['containerPort', 'protocol'], untyped, { protocol: 'TCP' }),
  volumeMounts: keyed(['mountPath']),
  resources: object({ limits: object({}), requests: object({}) }),
});

const podSpec = object({
  containers: keyed(['name'], container),
  initContainers: keyed(['name'], container),
  volumes: keyed(['name']),
  imagePullSecrets: keyed(['name'], atomic),
  nodeSelector: atomic,
  tolerations: atomic,
  hostAliases: keyed(['ip']),
  topologySpreadConstraints: keyed(['topologyKey', 'whenUnsatisfiable']),
});

const podTemplate = object({ metadata: metadataStructure, spec: podSpec });

const workload = { spec: object({ selector, template: podTemplate }), status };

const webhooks = { webhooks: keyed(['name'], object({ namespaceSelector: atomic, objectSelector: atomic })) };

const rules = { rules: atomic, aggregationRule: untyped };
const binding = { roleRef: atomic, subjects: atomic };

/** The list types that the real server's own types declare, as far as anything here applies them. */
const sections: Readonly<Record<string, Readonly<Record<string, Structure>>>> = {
  namespaces: { spec: object({ finalizers: atomic }), status },
  configmaps: { data: object({}), binaryData: object({}), immutable: untyped },
  secrets: { data: object({}), stringData: object({}), type: untyped, immutable: untyped },
  events: { involvedObject: atomic },
  serviceaccounts: { secrets: keyed(['name']), imagePullSecrets: atomic },
  services: {
    spec: object({ ports: keyed(['port', 'protocol'], untyped, { protocol: 'TCP' }), selector: atomic }),
    status,
  },
  endpoints: { subsets: atomic },
  pods: { spec: podSpec, status },
  nodes: { spec: object({ podCIDRs: set, taints: atomic }), status },
  persistentvolumeclaims: { spec: object({ selector: atomic, accessModes: atomic }), status },
  'deployments.apps': workload,
  'replicasets.apps': workload,
  'statefulsets.apps': workload,
  'daemonsets.apps': workload,
  'jobs.batch': workload,
  'cronjobs.batch': {
    spec: object({
      jobTemplate: object({ metadata: metadataStructure, spec: object({ selector, template: podTemplate }) }),
    }),
    status,
  },
  'networkpolicies.networking.k8s.io': { spec: object({ podSelector: atomic }) },
  'poddisruptionbudgets.policy': { spec: object({ selector }), status },
  'roles.rbac.authorization.k8s.io': rules,
  'clusterroles.rbac.authorization.k8s.io': rules,
  'rolebindings.rbac.authorization.k8s.io': binding,
  'clusterrolebindings.rbac.authorization.k8s.io': binding,
  'customresourcedefinitions.apiextensions.k8s.io': {
    spec: object({ names: object({ shortNames: atomic, categories: atomic }), versions: atomic }),
    status: object({ conditions, storedVersions: atomic }),
  },
  'validatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': webhooks,
};

export function builtInStructure(resource: string): Structure {
  return object({
    apiVersion: untyped,
    kind: untyped,
    metadata: metadataStructure,
    spec: object({}),
    status,
    ...sections[resource],
  });
}
