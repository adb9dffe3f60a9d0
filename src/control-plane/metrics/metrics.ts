/** Seconds, from a commit that takes none to an intent that waited for an hour. */
const WAITS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
const CALLS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface MetricDefinition {
  readonly kind: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** Counted in the database: the same at every replica. */
  readonly isOfDatabase?: true;
}

/** Every metric of the control plane but those of Node itself. docs/reference/metrics.md is made from it. */
export const METRICS = {
  service_build_info: { kind: 'gauge', help: 'Always 1; the version is in its label.', labels: ['version'] },
  service_database_up: {
    kind: 'gauge',
    help: '1 when what is counted in the database could be counted, 0 when what is shown of it is missing.',
    labels: [],
  },
  service_clusters: {
    kind: 'gauge',
    help: 'Clusters by mode, by health (healthy, progressing, degraded, unreachable, unknown) and by whether they are heard of.',
    labels: ['mode', 'health', 'connected'],
    isOfDatabase: true,
  },
  service_intents: { kind: 'gauge', help: 'Intents by state.', labels: ['state'], isOfDatabase: true },
  service_oldest_waiting_intent_seconds: {
    kind: 'gauge',
    help: 'How long the oldest intent waits that is accepted and needs nobody to approve it; 0 when none waits.',
    labels: [],
    isOfDatabase: true,
  },
  service_approvals_pending: {
    kind: 'gauge',
    help: 'Intents that wait for an approval.',
    labels: [],
    isOfDatabase: true,
  },
  service_credential_expiry_seconds: {
    kind: 'gauge',
    help: 'Until the soonest end of what the control plane uses itself, by kind (push-credential, repository, client-authority); negative: it has ended.',
    labels: ['kind'],
    isOfDatabase: true,
  },
  service_tls_certificate_expiry_seconds: {
    kind: 'gauge',
    help: "Until the end of the server's certificate (SERVICE_TLS_CERT).",
    labels: [],
  },
  service_delivery_duration_seconds: {
    kind: 'histogram',
    help: 'From the acceptance of an intent to the receipt of its delivery, by mode; waiting for approval included.',
    labels: ['mode'],
    buckets: WAITS,
  },
  service_receipts_total: {
    kind: 'counter',
    help: 'Receipts that were stored, by mode and by what they say (delivered, refused, proposed, moved).',
    labels: ['mode', 'state'],
  },
  service_git_push_duration_seconds: {
    kind: 'histogram',
    help: 'Bringing one batch of intents to a repository: fetch, commit and push, by outcome (done, failed).',
    labels: ['outcome'],
    buckets: CALLS,
  },
  service_agent_requests_total: {
    kind: 'counter',
    help: 'Requests of operators, by method, route and class of status (2xx, 4xx, 5xx).',
    labels: ['method', 'route', 'status'],
  },
  service_admin_requests_total: {
    kind: 'counter',
    help: 'Requests of people and their programs, by method, route and class of status.',
    labels: ['method', 'route', 'status'],
  },
  service_held_polls: { kind: 'gauge', help: 'Polls for jobs that this process holds.', labels: [] },
  service_change_streams: { kind: 'gauge', help: 'Open streams of GET /changes at this process.', labels: [] },
  service_events_total: {
    kind: 'counter',
    help: 'Events of operators, by what became of them: recorded, or duplicate.',
    labels: ['outcome'],
  },
  service_database_writes_waiting: {
    kind: 'gauge',
    help: 'Writes of this process that wait for the database; at 4096 callers are told to come back.',
    labels: [],
  },
  service_webhook_posts_total: {
    kind: 'counter',
    help: "Posts to webhooks of discussion channels, by the receiver's answer (taken, refused, gone, retry).",
    labels: ['outcome'],
  },
} as const satisfies Readonly<Record<`service_${string}`, MetricDefinition>>;

export type MetricName = keyof typeof METRICS;
export type MetricLabels<Name extends MetricName> = Readonly<Record<(typeof METRICS)[Name]['labels'][number], string>>;
