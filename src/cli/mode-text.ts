import { printable } from './git-views.ts';
import { probeRows, type ShownProbe } from './probe-text.ts';
import { toneOf } from './colours.ts';
import type { Column } from './output.ts';
import { textTable } from './text-table.ts';

interface NamedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

interface ShownCredential {
  readonly kind: string;
  readonly name: string;
  readonly change: string;
  readonly at?: string;
  readonly message: string;
}

/** A switch of mode as the admin API shows it. */
export interface ShownSwitch {
  readonly id: string;
  readonly clusterId: string;
  readonly clusterSlug: string;
  readonly from: string;
  readonly to: string;
  readonly state: string;
  readonly phase: string;
  readonly phaseSince: string;
  readonly waitingFor?: string;
  readonly epoch?: number;
  readonly reason?: string;
  readonly steps: readonly { readonly state: string; readonly at: string; readonly message: string }[];
  readonly probes: readonly ShownProbe[];
  readonly credentials: readonly ShownCredential[];
  readonly objects: {
    readonly total: number;
    readonly delivered: number;
    readonly confirmed: number;
    readonly refused: readonly (NamedObject & { readonly reason: string })[];
    readonly left: readonly (NamedObject & { readonly reason: string })[];
  };
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly finishedAt?: string;
}

/** What a dry run answers. */
export interface PlannedSwitch extends Pick<ShownSwitch, 'clusterSlug' | 'from' | 'to' | 'probes' | 'credentials'> {
  readonly plan: {
    readonly wouldStart: boolean;
    readonly blockers: readonly string[];
    readonly epoch: number;
    readonly objects: {
      readonly total: number;
      readonly items: readonly (NamedObject & { readonly action: string; readonly generation: number })[];
      readonly left: readonly (NamedObject & { readonly reason: string })[];
    };
    readonly waitingIntents: number;
    readonly jobs: { readonly open: number; readonly acknowledged: number };
    readonly proposals: { readonly open: number; readonly ids: readonly string[] };
    readonly staleFiles: readonly NamedObject[];
    readonly config: readonly { readonly field: string; readonly from: string; readonly to: string }[];
    readonly operator: string;
    readonly toDo: readonly string[];
  };
}

const WIDTH = 13;
/** Of a reason in a table; all of it is with the one switch. */
const MAX_WHY = 80;

/** The switches of a cluster, a line each. */
export const SWITCH_COLUMNS: readonly Column<ShownSwitch>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'MODE', value: ({ from, to }) => `${from} → ${to}` },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'CONFIRMED', value: ({ objects }) => `${objects.confirmed}/${objects.total}` },
  { header: 'BY', value: ({ requestedBy }) => requestedBy },
  { header: 'REQUESTED', value: ({ requestedAt }) => requestedAt },
  { header: 'FINISHED', value: ({ finishedAt }) => finishedAt },
  { header: 'EPOCH', value: ({ epoch }) => epoch, isWide: true },
  {
    header: 'WHY',
    value: ({ reason, waitingFor }) => short(reason ?? (waitingFor === undefined ? '-' : `waiting for ${waitingFor}`)),
  },
];

function short(text: string): string {
  return text.length > MAX_WHY ? `${text.slice(0, MAX_WHY - 1)}…` : text;
}

/** All of one switch. */
export function switchText(one: ShownSwitch): string {
  const { total, delivered, confirmed, refused, left } = one.objects;
  const facts = [
    ['switch', one.id],
    ['cluster', one.clusterSlug],
    ['mode', `${one.from} → ${one.to}`],
    ['state', one.state === one.phase || one.phase === 'over' ? one.state : `${one.state}, ${one.phase}`],
    ...(one.waitingFor === undefined ? [] : [['waiting for', one.waitingFor]]),
    ['since', one.phaseSince],
    ...(one.epoch === undefined ? [] : [['epoch', String(one.epoch)]]),
    ...(one.reason === undefined ? [] : [['why', one.reason]]),
    ['objects', `${total} handed over, ${delivered} delivered, ${confirmed} confirmed`],
    ['requested', `${one.requestedAt} by ${one.requestedBy}`],
    ...(one.finishedAt === undefined ? [] : [['finished', one.finishedAt]]),
  ];
  const steps = one.steps.map(({ at, state, message }) => [at, state, message]);
  return printable(
    [
      lines(facts),
      section('STEPS', steps),
      probesText(one.probes),
      credentialsText(one.credentials),
      section('REFUSED', refused.map(objectAndWhy)),
      section('LEFT', left.map(objectAndWhy)),
    ].join(''),
  );
}

/** What a switch would do, for the person who has to decide. */
export function planText({ clusterSlug, from, to, probes, credentials, plan }: PlannedSwitch): string {
  const { objects, jobs, proposals, staleFiles, config, operator, toDo, blockers } = plan;
  const facts = [
    ['cluster', clusterSlug],
    ['mode', `${from} → ${to}`],
    ['epoch', String(plan.epoch)],
    ['operator', operator],
    ['objects', `${objects.total} handed over, ${objects.left.length} left as they are`],
    ['jobs', `${jobs.open} open; those that the operator works on are waited for: ${jobs.acknowledged}`],
    ['waiting', `${plan.waitingIntents} intents that were not delivered yet go by the new way`],
    ['proposals', proposals.open === 0 ? 'none open' : `${proposals.open} open: ${proposals.ids.join(', ')}`],
  ];
  const more = objects.total - objects.items.length;
  return printable(
    [
      lines(facts),
      probesText(probes),
      credentialsText(credentials),
      section('HANDED OVER', [
        ...objects.items.map(({ action, generation, ...named }) => [
          objectName(named),
          action,
          `generation ${generation}`,
        ]),
        ...(more > 0 ? [[`and ${more} more`]] : []),
      ]),
      section('LEFT', objects.left.map(objectAndWhy)),
      section(
        'REMOVED FROM GIT, WHERE AN EARLIER STAY LEFT IT',
        staleFiles.map((named) => [objectName(named)]),
      ),
      section(
        'CONFIGURATION',
        config.map(({ field, from: before, to: after }) => [field, `${before} → ${after}`]),
      ),
      section(
        'TO DO',
        toDo.map((text) => [text]),
      ),
      section(
        'IN THE WAY',
        blockers.map((text) => [text]),
      ),
      `\n${verdict(plan)}\n`,
    ].join(''),
  );
}

function verdict({ blockers, operator }: PlannedSwitch['plan']): string {
  if (blockers.length > 0) return 'It would not be done as things are.';
  return operator.startsWith('in contact') ? 'Nothing is in the way.' : 'It can start, and will wait for the operator.';
}

function probesText(probes: readonly ShownProbe[]): string {
  return section('PROBES', probeRows(probes));
}

function credentialsText(credentials: readonly ShownCredential[]): string {
  return section(
    'CREDENTIALS',
    credentials.map(({ kind, name, change, at, message }) => [
      kind,
      name,
      at === undefined ? change : `${change} ${at}`,
      message,
    ]),
  );
}

function objectAndWhy({ reason, ...named }: NamedObject & { readonly reason: string }): string[] {
  return [objectName(named), reason];
}

function objectName({ kind, namespace, name }: NamedObject): string {
  return `${kind} ${namespace}/${name}`;
}

function lines(facts: readonly (readonly string[])[]): string {
  return facts.map(([label = '', value = '']) => `${label.padEnd(WIDTH)} ${value}\n`).join('');
}

/** Nothing where there is nothing to say. */
function section(title: string, rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `\n${title}\n${textTable(rows)}`;
}
