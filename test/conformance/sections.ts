/** Headings that checks rest on: of the specification, and of the decisions that settle what it leaves open. */
export const SPEC = {
  flow: 'Specification, Pull-mode end-to-end flow',
  job: 'Specification, Job',
  status: 'Specification, Job status body',
  result: 'Specification, Job result body',
  event: 'Specification, Event',
  jobStates: 'Specification, States and transitions (job)',
  identityStates: 'Specification, States and transitions (identity record)',
  endpoints: 'Specification, Endpoints',
  rule: (number: number) => `Specification, Endpoints, rule ${number}`,
  headers: 'Specification, Request headers',
  registration: 'Specification, Registration',
  scope: 'Specification, Scope',
  writes: 'Specification, Writes from the operator',
  signing: 'Specification, Optional payload signing and encryption',
  rotation: 'Specification, Credential rotation',
  events: 'Specification, Events',
  errors: 'Specification, Errors',
  limits: 'Specification, Limits',
  versioning: 'Specification, Versioning',
} as const;

export const DECISIONS = {
  names: 'Decisions, Names',
  register: 'Decisions, Register, rotate, config',
  hmac: 'Decisions, HMAC on writes',
  errors: 'Decisions, Errors',
  jobs: 'Decisions, Jobs',
  events: 'Decisions, Events',
} as const;
