/** An act of the admin API, and the entry of the audit that there is of it. */
export interface Act {
  readonly route: string;
  readonly audited: string;
  readonly path?: () => string;
  readonly body?: () => unknown;
}

/** What is done about those who may come in. */
export const PEOPLE_ACTS: readonly Act[] = [
  { route: 'POST /admin-tokens', body: () => ({ name: 'anna' }), audited: 'AdminTokenCreated' },
  { route: 'DELETE /admin-tokens/:token', path: () => '/admin-tokens/anna', audited: 'AdminTokenDeleted' },
  { route: 'POST /members', body: () => ({ name: 'berta', access: ['viewer'] }), audited: 'MemberAdded' },
  {
    route: 'PATCH /members/:member',
    path: () => '/members/berta',
    body: () => ({ access: ['deployer'] }),
    audited: 'MemberChanged',
  },
  { route: 'DELETE /members/:member', path: () => '/members/berta', audited: 'MemberRemoved' },
  {
    route: 'POST /organizations',
    body: () => ({ name: 'team-b', adminName: 'berta' }),
    audited: 'OrganizationCreated',
  },
  {
    route: 'POST /organizations/:organization/admin-token',
    path: () => '/organizations/team-b/admin-token',
    audited: 'AdminTokenRecovered',
  },
  {
    route: 'DELETE /organizations/:organization',
    path: () => '/organizations/team-b',
    audited: 'OrganizationDeleted',
  },
  {
    route: 'PUT /saved-filters/:name',
    path: () => '/saved-filters/bad-prod',
    body: () => ({ list: 'clusters', query: 'health=degraded' }),
    audited: 'SavedFilterUpdated',
  },
  { route: 'DELETE /saved-filters/:name', path: () => '/saved-filters/bad-prod', audited: 'SavedFilterDeleted' },
];
