import {
  namedNamespaces,
  type NamedNamespace,
  type NamespaceParameters,
} from '../operation-templates/built-in/velero-namespaces.ts';
import { builtInParameters, resolveTemplate, type ResolvedTemplate } from '../operation-templates/resolve-template.ts';
import type { Operation } from '../resources/operation.ts';
import type { ClusterPolicy } from './cluster-policy.ts';

/**
 * The namespaces that an operation names to Velero by one of the two templates, or by a template of an admin's that runs it.
 * As far as they can be read: what else is wrong with the parameters is told elsewhere, and at the same time.
 */
export function veleroNamespaces(
  runs: 'velero-backup' | 'velero-restore',
  { spec }: Pick<Operation, 'spec'>,
  { policy }: { readonly policy: Pick<ClusterPolicy, 'templateDefinitions'> },
): readonly NamedNamespace[] {
  const resolved = resolveTemplate(spec.template, policy.templateDefinitions ?? []);
  return resolved?.runs === runs ? namedNamespaces(readable(resolved, spec.parameters ?? {})) : [];
}

function readable(resolved: ResolvedTemplate, given: Readonly<Record<string, unknown>>): NamespaceParameters {
  const { includedNamespaces, namespaceMapping } = filled(resolved, given);
  const mapping = typeof namespaceMapping === 'object' && namespaceMapping !== null ? namespaceMapping : {};
  return {
    includedNamespaces: Array.isArray(includedNamespaces) ? includedNamespaces.filter(isName) : [],
    namespaceMapping: Object.fromEntries(
      Object.entries(mapping).filter((entry): entry is [string, string] => isName(entry[1])),
    ),
  };
}

function filled(resolved: ResolvedTemplate, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    return builtInParameters(resolved, given);
  } catch (error) {
    // A required one is absent.
    if (error instanceof TypeError) return {};
    throw error;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string';
}
