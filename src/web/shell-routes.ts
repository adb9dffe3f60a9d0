import type { Route } from './routes.ts';

/** The fleet, its clusters and what runs on them. */
export const SHELL_ROUTES: readonly Route[] = [
  {
    pattern: /^\/$/,
    load: async () => (await import('./views/fleet.tsx')).FleetView,
    nav: { group: 'Run', label: 'Fleet', path: '/' },
  },
  {
    pattern: /^\/clusters$/,
    load: async () => (await import('./views/clusters.tsx')).ClustersView,
    nav: { group: 'Run', label: 'Clusters', path: '/clusters' },
  },
  {
    pattern: /^\/clusters\/([^/]+)(?:\/(applications|operations|intents|credentials|conditions|events|install))?$/,
    load: async () => (await import('./views/cluster.tsx')).ClusterView,
    under: '/clusters',
  },
  {
    pattern: /^\/applications$/,
    load: async () => (await import('./views/applications.tsx')).ApplicationsView,
    nav: { group: 'Run', label: 'Applications', path: '/applications' },
  },
];

/** Who may come in, and what holds for all. */
export const PEOPLE_ROUTES: readonly Route[] = [
  {
    pattern: /^\/members$/,
    load: async () => (await import('./views/members.tsx')).MembersView,
    nav: { group: 'Set up', label: 'Members', path: '/members' },
  },
  {
    pattern: /^\/tokens$/,
    load: async () => (await import('./views/tokens.tsx')).TokensView,
    nav: { group: 'Set up', label: 'Tokens', path: '/tokens' },
  },
  {
    pattern: /^\/settings$/,
    load: async () => (await import('./views/settings.tsx')).SettingsView,
    nav: { group: 'Set up', label: 'Settings', path: '/settings' },
  },
  { pattern: /^\/search$/, load: async () => (await import('./views/search.tsx')).SearchView },
];
