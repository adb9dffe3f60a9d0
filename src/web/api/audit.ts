export interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly source: 'agent' | 'user';
  readonly kind: string;
  readonly clusterId?: string;
  /** Absent once the cluster is deleted. */
  readonly clusterSlug?: string;
  readonly actor?: string;
  readonly summary: string;
  readonly reason?: string;
  readonly resourceRef?: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly intentId?: string;
}

/** Filters of the audit, which the API and the address of the page share. */
export const AUDIT_FILTERS = [
  'q',
  'cluster',
  'source',
  'kind',
  'actor',
  'intent',
  'resource',
  'since',
  'until',
] as const;

/**
 * Entries of which none is shown twice, the newest first: what came since in front of what is shown.
 *
 * @param most of them that are kept
 */
export function withNewer(
  shown: readonly AuditEntry[],
  newer: readonly AuditEntry[],
  most: number,
): readonly AuditEntry[] {
  const known = new Set(shown.map(({ id }) => id));
  const added = newer.filter(({ id }) => !known.has(id));
  return added.length === 0 ? shown : [...added, ...shown].toSorted((a, b) => b.id - a.id).slice(0, most);
}
