import type { KubeObject } from '../resources/kube-object.ts';
import type { CustomSchema } from './schema/custom-schema.ts';
import type { Structure } from './structure.ts';

/** A printer column. Built-in kinds compute the cell, custom ones read it by JSONPath. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  /** Above 0: shown with `-o wide` only. */
  readonly priority: number;
  readonly value: (object: KubeObject, now: Date) => unknown;
}

/** One version of a kind: all that the handlers need to know about it. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Served for a CustomResourceDefinition. */
  readonly custom: boolean;
  readonly hasStatus: boolean;
  /** `metadata.generation` counts the changes of the desired state. */
  readonly hasGeneration: boolean;
  readonly nameRule: 'subdomain' | 'label' | 'label-1035' | 'path';
  readonly structure: Structure;
  /** Of a custom kind: what its objects must look like. */
  readonly schema?: CustomSchema;
  readonly columns: readonly Column[];
}

export function groupVersion(kind: { readonly group: string; readonly version: string }): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}

/** `configmaps` or `widgets.example.com`: names the stored set, whatever the version. */
export function resourceOf(kind: { readonly group: string; readonly plural: string }): string {
  return kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
}
