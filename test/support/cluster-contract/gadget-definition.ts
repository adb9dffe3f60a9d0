import type { Json } from './kube-http.ts';

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const text = { type: 'string' };

const spec: Json = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1, maximum: 10 },
    ratio: { type: 'number', maximum: 2.5, exclusiveMaximum: true, multipleOf: 0.5 },
    color: { type: 'string', enum: ['red', 'green'] },
    code: { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
    when: { type: 'string', format: 'date-time' },
    address: { type: 'string', format: 'ipv4' },
    list: { type: 'array', items: text, minItems: 1, maxItems: 2 },
    tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    ports: {
      type: 'array',
      items: {
        type: 'object',
        required: ['port'],
        properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
    },
    map: { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1 },
    either: { 'x-kubernetes-int-or-string': true },
    word: { type: 'string', not: { enum: ['bad'] } },
    any: {
      type: 'object',
      properties: { a: text, b: text },
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    one: {
      type: 'object',
      properties: { a: text, b: text },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    open: {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { inner: { type: 'object', properties: { a: text } } },
    },
    settings: { type: 'object', default: {}, properties: { level: { type: 'integer', default: 5 } } },
    maybe: { type: 'string', nullable: true },
    template: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
  },
};

/** A kind whose schema uses everything that a structural schema can say. */
export function gadgetDefinition(group: string): Json {
  const status = { type: 'object', properties: { phase: { type: 'string', enum: ['up', 'down'] } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'gadgets', kind: 'Gadget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', required: ['spec'], properties: { spec, status } } },
        },
      ],
    },
  };
}
