import type { Route } from './routes.ts';

/** What is asked for, reviewed and recorded. */
export const WORK_ROUTES: readonly Route[] = [
  {
    pattern: /^\/proposals$/,
    load: async () => (await import('./views/proposals.tsx')).ProposalsView,
    nav: { group: 'Review', label: 'Proposals', path: '/proposals' },
  },
  {
    pattern: /^\/proposals\/([^/]+)$/,
    load: async () => (await import('./views/proposal.tsx')).ProposalView,
    under: '/proposals',
  },
  {
    pattern: /^\/intents\/([^/]+)$/,
    load: async () => (await import('./views/intent.tsx')).IntentView,
    under: '/intents',
  },
  {
    pattern: /^\/history$/,
    load: async () => (await import('./views/repositories.tsx')).RepositoriesView,
    nav: { group: 'Record', label: 'History', path: '/history' },
  },
  {
    pattern: /^\/history\/([^/]+)$/,
    load: async () => (await import('./views/history.tsx')).HistoryView,
    under: '/history',
  },
  {
    pattern: /^\/history\/([^/]+)\/commits\/([^/]+)$/,
    load: async () => (await import('./views/commit.tsx')).CommitView,
    under: '/history',
  },
];
