/** What is searched for, in the order in which equally good results are listed. */
export const SEARCH_KINDS = [
  'cluster',
  'application',
  'intent',
  'proposal',
  'operation',
  'catalog',
  'template',
  'repository',
  'member',
  'commit',
] as const;
export type SearchKind = (typeof SEARCH_KINDS)[number];

export interface SearchRow {
  readonly kind: SearchKind;
  readonly id: string;
  readonly title: string;
  readonly subtitle?: string;
  readonly clusterSlug?: string;
  /** Address in the page, from `#` on. */
  readonly href: string;
}
