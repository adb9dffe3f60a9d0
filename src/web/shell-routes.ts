import type { Route } from './routes.ts';

/** The fleet, its clusters, and who may do what. */
export const SHELL_ROUTES: readonly Route[] = [
  { pattern: /^\/$/, load: async () => (await import('./views/proposals.tsx')).ProposalsView, under: '/proposals' },
];
