import type { Static } from 'typebox';
import type { VeleroBackupParameters, VeleroRestoreParameters } from './velero.ts';

export type BackupParameters = Static<typeof VeleroBackupParameters>;
export type RestoreParameters = Static<typeof VeleroRestoreParameters>;

/** The parameters that say which namespaces Velero is let at. */
export type NamespaceParameters = Pick<RestoreParameters, 'includedNamespaces' | 'namespaceMapping'>;

/** A namespace that an operation names, and where. */
export interface NamedNamespace {
  readonly path: string;
  readonly name: string;
}

/** Every namespace that the parameters name, both sides of a mapping included. That of the operation is judged without them. */
export function namedNamespaces(parameters: NamespaceParameters): readonly NamedNamespace[] {
  const { includedNamespaces = [], namespaceMapping = {} } = parameters;
  return [
    ...includedNamespaces.map((name, index) => ({ path: `parameters.includedNamespaces[${index}]`, name })),
    ...Object.entries(namespaceMapping).flatMap(([from, to]) => [
      { path: 'parameters.namespaceMapping, source', name: from },
      { path: `parameters.namespaceMapping.${from}`, name: to },
    ]),
  ];
}

/** What a backup holds, or a restore takes out of one: what is named, else what is mapped, else the operation's own. */
export function includedNamespaces(parameters: NamespaceParameters, own: string): readonly string[] {
  const mapped = Object.keys(parameters.namespaceMapping ?? {});
  return parameters.includedNamespaces ?? (mapped.length > 0 ? mapped : [own]);
}

/** Where a restore writes to. */
export function restoreTargets(parameters: NamespaceParameters, own: string): readonly string[] {
  const mapping = new Map(Object.entries(parameters.namespaceMapping ?? {}));
  return [...new Set(includedNamespaces(parameters, own).map((name) => mapping.get(name) ?? name))];
}

/** What a restore takes out of the backup, and where it writes to. */
export function restoredNamespaces(parameters: NamespaceParameters, own: string): readonly string[] {
  return [...new Set([...restoreTargets(parameters, own), ...includedNamespaces(parameters, own)])];
}
