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
    pattern: /^\/approvals$/,
    load: async () => (await import('./views/approvals.tsx')).ApprovalsView,
    nav: { group: 'Review', label: 'Approvals', path: '/approvals' },
  },
  {
    pattern: /^\/approvals\/([^/]+)$/,
    load: async () => (await import('./views/approval.tsx')).ApprovalView,
    under: '/approvals',
  },
  {
    pattern: /^\/intents$/,
    load: async () => (await import('./views/intents.tsx')).IntentsView,
    nav: { group: 'Run', label: 'Intents', path: '/intents' },
  },
  {
    pattern: /^\/intents\/([^/]+)$/,
    load: async () => (await import('./views/intent.tsx')).IntentView,
    under: '/intents',
  },
  {
    pattern: /^\/clusters\/([^/]+)\/applications\/([^/]+)\/([^/]+)$/,
    load: async () => (await import('./views/application.tsx')).ApplicationView,
    under: '/applications',
  },
  {
    pattern: /^\/clusters\/([^/]+)\/applications\/([^/]+)\/([^/]+)\/change$/,
    load: async () => (await import('./views/change-application.tsx')).ChangeApplicationView,
    under: '/applications',
  },
  {
    pattern: /^\/clusters\/([^/]+)\/mode$/,
    load: async () => (await import('./views/mode-wizard.tsx')).ModeWizardView,
    under: '/clusters',
  },
  {
    pattern: /^\/clusters\/([^/]+)\/mode\/([^/]+)$/,
    load: async () => (await import('./views/mode-switch.tsx')).ModeSwitchView,
    under: '/clusters',
  },
  {
    pattern: /^\/operations$/,
    load: async () => (await import('./views/operations.tsx')).OperationsView,
    nav: { group: 'Run', label: 'Operations', path: '/operations' },
  },
  {
    pattern: /^\/operations\/([^/]+)$/,
    load: async () => (await import('./views/operation.tsx')).OperationView,
    under: '/operations',
  },
  {
    pattern: /^\/audit$/,
    load: async () => (await import('./views/audit.tsx')).AuditView,
    nav: { group: 'Record', label: 'Audit', path: '/audit' },
  },
  {
    pattern: /^\/catalog$/,
    load: async () => (await import('./views/catalog.tsx')).CatalogView,
    nav: { group: 'Set up', label: 'Catalog', path: '/catalog' },
  },
  {
    pattern: /^\/catalog\/([^/]+)$/,
    load: async () => (await import('./views/catalog-entry.tsx')).CatalogEntryView,
    under: '/catalog',
  },
  {
    pattern: /^\/catalog\/([^/]+)\/install$/,
    load: async () => (await import('./views/install.tsx')).InstallView,
    under: '/catalog',
  },
  {
    pattern: /^\/templates$/,
    load: async () => (await import('./views/templates.tsx')).TemplatesView,
    nav: { group: 'Set up', label: 'Templates', path: '/templates' },
  },
  {
    pattern: /^\/templates\/([^/]+)(?:\/run)?$/,
    load: async () => (await import('./views/run-operation.tsx')).RunOperationView,
    under: '/templates',
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
