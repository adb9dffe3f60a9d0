interface OperatorMetric {
  readonly kind: 'gauge' | 'counter';
  readonly help: string;
  readonly labels: readonly string[];
}

/** Every metric of the operator. docs/reference/metrics.md is made from it. */
export const OPERATOR_METRICS = {
  service_operator_leader: { kind: 'gauge', help: 'Whether this replica leads; the others stand by.', labels: [] },
  service_operator_connectivity: {
    kind: 'gauge',
    help: 'Whether the control plane answers: 1 for the state that holds.',
    labels: ['mode', 'state'],
  },
  service_operator_events_dropped_total: {
    kind: 'counter',
    help: 'Events that were dropped before they reached the control plane.',
    labels: [],
  },
  service_operator_credential_end_seconds: {
    kind: 'gauge',
    help: 'When the credential for the control plane ends, in seconds since 1970.',
    labels: [],
  },
  service_operator_admission_reviews_total: {
    kind: 'counter',
    help: 'Reviews by answer; unanswered ones are admitted by the API server.',
    labels: ['answer'],
  },
  service_operator_webhook_certificate_end_seconds: {
    kind: 'gauge',
    help: 'When the served certificate ends, in seconds since 1970.',
    labels: [],
  },
} as const satisfies Readonly<Record<`service_operator_${string}`, OperatorMetric>>;

type OperatorMetricName = keyof typeof OPERATOR_METRICS;
type MetricLabels<Name extends OperatorMetricName> = Readonly<
  Record<(typeof OPERATOR_METRICS)[Name]['labels'][number], string>
>;

/** One metric in the Prometheus text format 0.0.4, with a value for each set of labels. */
export function metricLines<Name extends OperatorMetricName>(
  name: Name,
  series: readonly (readonly [labels: MetricLabels<Name>, value: number])[],
): string {
  const { kind, help } = OPERATOR_METRICS[name];
  const lines = series.map(([labels, value]) => {
    const pairs = Object.entries<string>(labels).map(([label, text]) => `${label}="${text}"`);
    return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines, ''].join('\n');
}
