import { KubeHttp, type Json } from './kube-http.ts';

/** A running API server to hold to the contract. */
export interface ContractCluster extends AsyncDisposable {
  readonly url: string;
  /** YAML. */
  readonly kubeconfig: string;
  /** Managed fields name their subresource (since 1.22). Default true. */
  readonly namesSubresource?: boolean;
  /** Makes older revisions and continue tokens expire; tests that need it are skipped without. */
  readonly forgetHistory?: () => void | Promise<void>;
}

export const GROUP = 'contract.example.com';
export const WIDGETS = `/apis/${GROUP}/v1/widgets`;

const text = { type: 'string' };

/** Covers each kind of list and map that server-side apply tells apart. */
export const widgetDefinition: Json = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList', shortNames: ['wd'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: 'Color', type: 'string', jsonPath: '.spec.color', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  color: text,
                  labels: { type: 'object', additionalProperties: text },
                  list: { type: 'array', items: text },
                  tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
                  ports: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['port'],
                      properties: { port: { type: 'integer' }, name: text, target: text },
                    },
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['port'],
                  },
                  values: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: {
                type: 'object',
                properties: {
                  phase: text,
                  conditions: {
                    type: 'array',
                    items: { type: 'object', required: ['type'], properties: { type: text, status: text } },
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** What the tests of one suite share: a namespace of their own and the Widget kind. */
export interface ContractContext extends AsyncDisposable {
  readonly http: KubeHttp;
  readonly cluster: ContractCluster;
  readonly namespace: string;
  /** `/apis/…/namespaces/<ns>/widgets[/name[/status]]` */
  readonly widgets: (name?: string, subresource?: 'status') => string;
  readonly configMaps: (name?: string) => string;
  readonly widget: (name: string, more?: Json) => Json;
}

export async function createContext(start: () => Promise<ContractCluster>): Promise<ContractContext> {
  const cluster = await start();
  const http = new KubeHttp(cluster.kubeconfig);
  const created = await http.post('/api/v1/namespaces', { metadata: { generateName: 'contract-' } });
  const namespace = String(created.body['metadata']['name']);
  await http.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
  await http.eventually(WIDGETS, (answer) => answer.status === 200);
  const path = (collection: string, name?: string, subresource?: string): string =>
    [collection, name, subresource].filter((part) => part !== undefined).join('/');
  return {
    http,
    cluster,
    namespace,
    widgets: (name, subresource) => path(`/apis/${GROUP}/v1/namespaces/${namespace}/widgets`, name, subresource),
    configMaps: (name) => path(`/api/v1/namespaces/${namespace}/configmaps`, name),
    widget: (name, more = {}) => ({
      apiVersion: `${GROUP}/v1`,
      kind: 'Widget',
      metadata: { name, ...more['metadata'] },
      ...Object.fromEntries(Object.entries(more).filter(([field]) => field !== 'metadata')),
    }),
    [Symbol.asyncDispose]: async () => {
      await http.delete(`/api/v1/namespaces/${namespace}`);
      await http[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
