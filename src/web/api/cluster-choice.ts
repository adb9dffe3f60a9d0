/** What the form of an intent, and that of a switch of mode, need of a cluster. */
export interface ClusterChoice {
  readonly id: string;
  readonly slug: string;
  readonly displayName: string;
  readonly connectivityMode: 'pull' | 'gitops' | 'push';
  readonly allowedNamespaces: readonly string[];
  readonly allowedCatalogEntries: readonly string[];
  readonly allowedOperationTemplates: readonly string[];
  readonly git?: { readonly repository: string; readonly review?: string };
  readonly modeSwitch?: { readonly id: string; readonly state: string; readonly to: string };
}
