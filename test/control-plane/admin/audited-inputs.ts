export const CLUSTER = {
  slug: 'prod-us',
  displayName: 'prod-us',
  allowedNamespaces: ['shop'],
  allowedCatalogEntries: ['podinfo'],
  allowedOperationTemplates: [],
  connectivityMode: 'gitops',
};

export const ANNA = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea anna@laptop';

/** Of an API server that does not answer: taken all the same, as its cluster has not registered. */
export const KUBECONFIG = JSON.stringify({
  clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'u', user: { token: 'a-token-of-nobody' } }],
  contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
});

/** A repository of a host that does not answer. */
export const OTHER = {
  url: 'https://127.0.0.1:1/acme/fleet.git',
  host: 'git',
  write: { kind: 'token', token: 'a-token-of-nobody' },
};
