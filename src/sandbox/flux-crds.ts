import type { KubeObject } from '../resources/kube-object.ts';

interface Row {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  /** Columns that stand before Ready, Status and Age. */
  readonly columns: readonly { readonly name: string; readonly jsonPath: string }[];
}

const url = { name: 'URL', jsonPath: '.spec.url' };
const rows: readonly Row[] = [
  {
    group: 'source.toolkit.fluxcd.io',
    version: 'v1',
    kind: 'OCIRepository',
    plural: 'ocirepositories',
    shortNames: ['ocirepo'],
    columns: [url],
  },
  {
    group: 'source.toolkit.fluxcd.io',
    version: 'v1',
    kind: 'HelmRepository',
    plural: 'helmrepositories',
    shortNames: ['helmrepo'],
    columns: [url],
  },
  {
    group: 'helm.toolkit.fluxcd.io',
    version: 'v2',
    kind: 'HelmRelease',
    plural: 'helmreleases',
    shortNames: ['hr'],
    columns: [],
  },
];

/**
 * CustomResourceDefinitions for the three Flux kinds that are used here: names, columns and subresources as Flux has
 * them, with a schema that takes any spec. On a real API server Flux's own are to be installed instead.
 */
export function fluxCrds(): KubeObject[] {
  return rows.map((row) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${row.plural}.${row.group}` },
    spec: {
      group: row.group,
      scope: 'Namespaced',
      names: {
        kind: row.kind,
        listKind: `${row.kind}List`,
        plural: row.plural,
        singular: row.kind.toLowerCase(),
        shortNames: row.shortNames,
      },
      versions: [
        {
          name: row.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
          additionalPrinterColumns: [
            ...row.columns.map((column) => ({ ...column, type: 'string' })),
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
            { name: 'Status', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
          ],
        },
      ],
    },
  }));
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const schema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: anything,
    status: { ...anything, default: { observedGeneration: -1 } },
  },
};
