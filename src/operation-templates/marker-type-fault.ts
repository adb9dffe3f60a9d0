import type { Fault } from '../protocol/app-error.ts';
import type { SchemaNode } from '../protocol/schema-faults.ts';
import type { Marker } from './skeleton-markers.ts';

/** That a parameter is of a type which the place that it stands at never takes, however deep in what is run that is. */
export function markerTypeFault(
  { path, parameter }: Pick<Marker, 'path' | 'parameter'>,
  root: SchemaNode,
  given: SchemaNode,
): Fault | undefined {
  const wanted = path.split('/').slice(1).map(unescape).reduce<SchemaNode | undefined>(memberOf, root);
  if (wanted === undefined || isTaken(wanted, given)) return undefined;
  const message = `takes ${describe(wanted)}, and the parameter ${parameter} is of type ${describe(given)}`;
  return { path, message, allowed: wanted.type };
}

/** Where nothing is said of a type, any may be. */
function isTaken(wanted: SchemaNode, given: SchemaNode): boolean {
  if (wanted.type === undefined || given.type === undefined) return true;
  if (wanted.type === 'array' && given.type === 'array') return areTaken(valueOf(wanted), [given.items]);
  if (wanted.type === 'object' && given.type === 'object') {
    return areTaken(valueOf(wanted), [valueOf(given), ...Object.values(given.properties ?? {})]);
  }
  return wanted.type === given.type || (wanted.type === 'number' && given.type === 'integer');
}

function areTaken(wanted: SchemaNode | undefined, given: readonly (SchemaNode | undefined)[]): boolean {
  return wanted === undefined || given.every((node) => node === undefined || isTaken(wanted, node));
}

function memberOf(node: SchemaNode | undefined, name: string): SchemaNode | undefined {
  const { properties } = node ?? {};
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return node && valueOf(node);
}

/** Of each item of a list, or each member of a mapping that has no names of its own. */
function valueOf({ items, patternProperties, additionalProperties }: SchemaNode): SchemaNode | undefined {
  if (items !== undefined) return items;
  const [first] = Object.values(patternProperties ?? {});
  if (first !== undefined) return first;
  return typeof additionalProperties === 'object' && additionalProperties !== null ? additionalProperties : undefined;
}

function describe(node: SchemaNode): string {
  const value = valueOf(node);
  return value?.type === undefined ? String(node.type) : `${node.type} of ${value.type}`;
}

function unescape(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}
