import { Option, type Command } from 'commander';
import type { CliDeps } from './cli-deps.ts';
import { toneOf, type Paint } from './colours.ts';
import { callControlPlane, withConnection, type ConnectionOptions } from './connection.ts';
import { limitOption, listSome } from './list-some.ts';
import { addOutput, factsText, print, sectionText, type Column, type OutputOptions } from './output.ts';
import { queryOf } from './query.ts';

const JOB_STATES = ['pending', 'delivered', 'acknowledged', 'closed'];

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface Job {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug?: string;
  readonly intentId: string;
  readonly kind: string;
  readonly state: string;
  readonly resource: { readonly kind: string; readonly namespace: string; readonly name: string };
  readonly generation: number;
  readonly phase?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly outcome?: string;
  readonly error?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly deliveredAt?: string;
  readonly acknowledgedAt?: string;
  readonly closedAt?: string;
}

interface ListOptions extends ConnectionOptions, OutputOptions {
  readonly cluster?: string;
  readonly state?: string;
  readonly limit: number;
}

const COLUMNS: readonly Column<Job>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'CLUSTER', value: ({ clusterSlug, clusterId }) => clusterSlug ?? clusterId },
  { header: 'KIND', value: ({ kind }) => kind },
  { header: 'RESOURCE', value: resourceText },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'OUTCOME', value: ({ outcome }) => outcome, tone: ({ outcome }) => toneOf(outcome ?? '-') },
  { header: 'CREATED', value: ({ createdAt }) => createdAt },
  { header: 'INTENT', value: ({ intentId }) => intentId, isWide: true },
  { header: 'PHASE', value: ({ phase }) => phase, isWide: true },
  { header: 'DELIVERED', value: ({ deliveredAt }) => deliveredAt, isWide: true },
  { header: 'CLOSED', value: ({ closedAt }) => closedAt, isWide: true },
  { header: 'SAYS', value: ({ error, message }) => error ?? message, isWide: true },
];

const CONDITION_COLUMNS: readonly Column<Condition>[] = [
  { header: 'CONDITION', value: ({ type }) => type },
  { header: 'STATUS', value: ({ status }) => status },
  { header: 'REASON', value: ({ reason }) => reason },
  { header: 'MESSAGE', value: ({ message }) => message },
];

/** `servicectl jobs list|show` */
export function addJobCommands(program: Command, deps: CliDeps): void {
  const jobs = program.command('jobs').description('what operators in pull mode are given to do');

  addOutput(withConnection(jobs.command('list')))
    .description('prints the jobs, the newest first')
    .option('--cluster <cluster>', 'of one cluster alone: slug or id')
    .addOption(new Option('--state <state>', 'in one state').choices(JOB_STATES))
    .addOption(limitOption())
    .action(async (options: ListOptions) => {
      const { cluster, state } = options;
      const items = await listSome<Job>(options, deps, { path: '/jobs', query: queryOf({ cluster, state }) });
      const empty = 'There is none. Only clusters in pull mode have jobs.';
      print(deps, options, { items, columns: COLUMNS, nameOf: ({ id }) => id, empty });
    });

  addOutput(withConnection(jobs.command('show')))
    .argument('<job>', 'id; see servicectl jobs list')
    .description('prints a job with what its operator told of it')
    .action(async (id: string, options: ConnectionOptions & OutputOptions) => {
      const item = await callControlPlane<Job>(options, deps, 'GET', `/jobs/${encodeURIComponent(id)}`);
      print(deps, options, { item, text: jobText, nameOf: () => id });
    });
}

function jobText(job: Job, how: { readonly paint?: Paint } = {}): string {
  const { error, message, conditions = [] } = job;
  const facts = factsText(
    [
      ['job', job.id],
      ['does', `${job.kind} of ${resourceText(job)}, generation ${job.generation}`],
      ['cluster', job.clusterSlug ?? job.clusterId],
      ['intent', job.intentId],
      ['state', job.state, toneOf(job.state)],
      ['outcome', job.outcome, toneOf(job.outcome ?? '-')],
      ['phase', job.phase],
      ['says', error ?? message],
      ['created', job.createdAt],
      ['delivered', job.deliveredAt],
      ['taken', job.acknowledgedAt],
      ['closed', job.closedAt],
      ['expires', job.closedAt === undefined ? job.expiresAt : undefined],
    ],
    how.paint,
  );
  return `${facts}${sectionText(conditions, CONDITION_COLUMNS, how)}`;
}

function resourceText({ resource: { kind, namespace, name } }: Job): string {
  return `${kind}/${namespace}/${name}`;
}
