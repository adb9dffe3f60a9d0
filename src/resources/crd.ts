import type { KubeObject } from './kube-object.ts';
import type { ObjectRule } from './object-rule.ts';
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
  readonly rules: readonly CelRule[];
}

/** The part of a rule that goes into a CRD. */
export type CelRule = Pick<ObjectRule<unknown>, 'at' | 'cel' | 'message'>;

/**
 * The `apiextensions.k8s.io/v1` object of a namespaced resource with a status subresource.
 *
 * @param options.cel with the rules in CEL, which Kubernetes honours from 1.25 on; kubectl's validation against an older
 *   server calls them an unknown field, so they are not in the plain one
 */
export function customResourceDefinition(
  definition: ResourceDefinition,
  options: { readonly cel?: boolean } = {},
): KubeObject {
  const { group, version, kind, plural, singular, shortNames, categories } = definition;
  const schema = rootSchema(definition);
  if (options.cel === true) for (const rule of definition.rules) addRule(schema, rule);
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
          schema: { openAPIV3Schema: schema },
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

function addRule(root: StructuralSchema, { at, cel, message }: CelRule): void {
  if (cel === undefined) return;
  let node = root;
  for (const member of at === '' ? [] : at.split('.')) {
    const next = (node['properties'] as Record<string, StructuralSchema> | undefined)?.[member];
    if (next === undefined) throw new TypeError(`a rule stands at ${at}, which the schema does not have`);
    node = next;
  }
  const rules = (node['x-kubernetes-validations'] ?? []) as readonly unknown[];
  node['x-kubernetes-validations'] = [...rules, { rule: cel, message }];
}
