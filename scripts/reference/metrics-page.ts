import { METRICS, type MetricDefinition } from '../../src/control-plane/metrics/metrics.ts';
import { OPERATOR_METRICS } from '../../src/operator/metrics.ts';
import { code, parts, prose, table } from './markdown.ts';

export function metricsPage(): string {
  return parts(
    '# Metrics',
    'How they are scraped and what to watch says [metrics.md](../metrics.md). Besides these both endpoints of the control plane have those of Node itself (`service_process_…`, `service_nodejs_…`).',
    '## Control plane',
    metricTable(METRICS),
    '## Operator',
    'At `/metrics` of `SERVICE_OPERATOR_LISTEN`; those of admission where the webhook is on.',
    metricTable(OPERATOR_METRICS),
  );
}

function metricTable(metrics: Readonly<Record<string, MetricDefinition>>): string {
  return table(
    ['Name', 'Kind', 'Labels', 'What it says'],
    Object.entries(metrics).map(([name, { kind, labels, help, isOfDatabase, buckets }]) => [
      code(name),
      kind,
      labels.map(code).join(', '),
      [
        prose(help),
        isOfDatabase === true ? 'Of the whole installation.' : '',
        buckets === undefined ? '' : `Buckets: ${buckets.join(', ')}.`,
      ]
        .filter((text) => text !== '')
        .join(' '),
    ]),
  );
}
