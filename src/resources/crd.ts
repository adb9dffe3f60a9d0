import type { KubeObject } from './kube-object.ts';
import { structuralSchema, type JsonSchema, type StructuralSchema } from './structural-schema.ts';

/** A column of `kubectl get`. `priority` above 0 shows it only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

/** What a CRD says besides the schema. */
export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly description: string;
  readonly spec: object;
  readonly status: object;
  readonly columns: readonly PrinterColumn[];
}

/** The `apiextensions.k8s.io/v1` object of a namespaced resource with a status subresource. */
export function customResourceDefinition(definition: ResourceDefinition): KubeObject {
  const { group, version, kind, plural, singular, shortNames, categories } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [...shortNames],
        categories: [...categories],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(definition) },
          subresources: { status: {} },
          additionalPrinterColumns: definition.columns.map((column) => ({ ...column })),
        },
      ],
    },
  };
}

function rootSchema({ description, spec, status }: ResourceDefinition): StructuralSchema {
  return {
    description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { description: 'Group and version of this representation.', type: 'string' },
      kind: { description: 'Kind of this object.', type: 'string' },
      metadata: { type: 'object' },
      spec: structuralSchema(spec as JsonSchema, 'spec'),
      status: structuralSchema(status as JsonSchema, 'status'),
    },
  };
}
