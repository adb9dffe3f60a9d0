import type { ClusterPolicy } from './cluster-policy.ts';
import { veleroNamespaces } from './velero-namespaces.ts';

/** What of a spec says where it has its effect, be it that of an operation or of an instance. */
export interface Placed {
  readonly metadata: { readonly namespace?: string };
  readonly spec: object;
}

interface PlacedSpec {
  readonly targetNamespace?: string;
  readonly targetRef?: { readonly namespace?: string };
  readonly template?: string;
  readonly parameters?: Record<string, unknown>;
}

/**
 * The namespaces that the object says it writes to or reads from, besides the one that it is in; each once. Where an
 * application goes that an operation works on, only that says.
 */
export function otherNamespacesOf(
  { metadata, spec }: Placed,
  policy: Pick<ClusterPolicy, 'templateDefinitions'>,
): readonly string[] {
  const { targetNamespace, targetRef, template, parameters } = spec as PlacedSpec;
  const velero =
    template === undefined
      ? []
      : (['velero-backup', 'velero-restore'] as const).flatMap((runs) =>
          veleroNamespaces(runs, { spec: { template, ...(parameters && { parameters }) } }, { policy }),
        );
  const names = [targetNamespace, targetRef?.namespace, ...velero.map(({ name }) => name)];
  return [...new Set(names.filter((name) => name !== undefined && name !== metadata.namespace))] as string[];
}
