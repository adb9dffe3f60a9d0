import { toneOf, type Paint } from './colours.ts';
import { durationText } from './duration-text.ts';
import { printable } from './git-views.ts';
import { factsText, type Column, type Fact } from './output.ts';
import { textTable } from './text-table.ts';

/** An operation as the admin API shows it. */
export interface ShownOperation {
  readonly id: string;
  readonly clusterSlug: string;
  readonly namespace: string;
  readonly name: string;
  readonly template: string;
  readonly phase: string;
  readonly targetRef?: { readonly kind: string; readonly name: string; readonly namespace?: string };
  readonly deadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
    readonly lastTransitionTime?: string;
  }[];
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly requestReason?: string;
  readonly intents: readonly {
    readonly id: string;
    readonly generation: number;
    readonly state: string;
    readonly reason?: string;
    readonly cancel?: true;
    readonly requestedBy: string;
  }[];
}

export const ENDED: readonly string[] = ['Succeeded', 'Failed', 'Cancelled'];

export const OPERATION_COLUMNS: readonly Column<ShownOperation>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'CLUSTER', value: ({ clusterSlug }) => clusterSlug },
  { header: 'NAME', value: ({ namespace, name }) => `${namespace}/${name}` },
  { header: 'TEMPLATE', value: ({ template }) => template },
  { header: 'PHASE', value: ({ phase }) => phase, tone: ({ phase }) => toneOf(phase) },
  { header: 'BY', value: ({ requestedBy }) => requestedBy },
  { header: 'AT', value: ({ requestedAt }) => requestedAt },
  { header: 'STARTED', value: ({ startedAt }) => startedAt, isWide: true },
  { header: 'FINISHED', value: ({ finishedAt }) => finishedAt, isWide: true },
  { header: 'BECAUSE', value: ({ requestReason }) => requestReason, isWide: true },
];

export function operationText(operation: ShownOperation, { paint }: { readonly paint?: Paint } = {}): string {
  const { targetRef, deadlineSeconds, ttlSecondsAfterFinished, parameters, conditions, intents } = operation;
  const facts: readonly Fact[] = [
    ['name', `${operation.namespace}/${operation.name}`],
    ['cluster', operation.clusterSlug],
    ['template', operation.template],
    ['phase', operation.phase, toneOf(operation.phase)],
    ['target', targetRef === undefined ? undefined : `${targetRef.kind}/${targetRef.name}`],
    ['parameters', parameters === undefined ? undefined : JSON.stringify(parameters)],
    ['deadline', deadlineSeconds === undefined ? undefined : durationText(deadlineSeconds)],
    ['ttl', ttlSecondsAfterFinished === undefined ? undefined : durationText(ttlSecondsAfterFinished)],
    ['asked by', `${operation.requestedBy}, ${operation.requestedAt}`],
    ['because', operation.requestReason],
    ['started', operation.startedAt],
    ['finished', operation.finishedAt],
  ];
  const told = conditions.map(({ type, status, reason = '', message = '', lastTransitionTime = '' }) => [
    `  ${type}=${status}`,
    reason,
    lastTransitionTime,
    message,
  ]);
  const asked = intents.map(({ id, generation, state, reason = '', cancel, requestedBy }) => [
    `  ${id}`,
    `generation ${generation}`,
    `${cancel === true ? 'cancels' : 'asks'}, ${requestedBy}`,
    state,
    reason,
  ]);
  const rest = printable(
    ['conditions\n', told.length === 0 ? '  none told yet\n' : textTable(told), 'intents\n', textTable(asked)].join(''),
  );
  return `${factsText(facts, paint)}${rest}`;
}

/** Where it stands, as one line; another line means that it moved. */
export function progressLine({ phase, conditions, intents }: ShownOperation): string {
  const condition = conditions.find(({ type, status }) => type === phase && status === 'True');
  const [asked] = intents;
  const why =
    condition === undefined
      ? [asked?.state, asked?.reason].filter((part) => part !== undefined).join(', ')
      : [condition.reason, condition.message].filter((part) => part !== undefined && part !== '').join(': ');
  return printable(`${phase}${why === '' ? '' : `: ${why}`}`);
}
