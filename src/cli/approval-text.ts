import { toneOf, type Paint } from './colours.ts';
import { printable } from './git-views.ts';
import { factsText, type Column } from './output.ts';

/** An approval as the admin API shows it, as far as it is printed. */
export interface ShownApproval {
  readonly id: string;
  readonly intentId: string;
  readonly clusterSlug: string;
  readonly action: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly template?: string;
  readonly catalogEntry?: string;
  readonly chartVersion?: string;
  readonly specHash: string;
  readonly state: string;
  readonly required: { readonly count: number };
  readonly given: readonly { readonly by: string; readonly at: string; readonly comment?: string }[];
  readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly requestReason?: string;
  readonly expiresAt: string;
  readonly proposalId?: string;
  readonly statementExpiresAt?: string;
  readonly reason?: string;
  readonly manifest?: string;
}

export const APPROVAL_COLUMNS: readonly Column<ShownApproval>[] = [
  { header: 'INTENT', value: ({ intentId }) => intentId },
  { header: 'CLUSTER', value: ({ clusterSlug }) => clusterSlug },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'APPROVALS', value: ({ given, required }) => `${given.length}/${required.count}` },
  { header: 'ASKED BY', value: ({ requestedBy }) => requestedBy },
  { header: 'ASKED', value: ({ requestedAt }) => requestedAt, isWide: true },
  { header: 'EXPIRES', value: ({ state, expiresAt }) => (state === 'pending' ? expiresAt : '-'), isWide: true },
  { header: 'APPROVAL', value: ({ id }) => id, isWide: true },
  { header: 'WHAT', value: whatText },
];

export function approvalText(one: ShownApproval, { paint }: { readonly paint?: Paint } = {}): string {
  const lacks = missingText(one);
  const head = factsText(
    [
      ['what', whatText(one)],
      ['state', one.reason === undefined ? one.state : `${one.state}: ${one.reason}`, toneOf(one.state)],
      ['cluster', one.clusterSlug],
      ['intent', one.intentId],
      ['approval', one.id],
      ['asked by', `${one.requestedBy} at ${one.requestedAt}`],
      ['because', one.requestReason],
      ['missing', lacks === '' ? undefined : lacks],
      ['expires', one.state === 'pending' ? one.expiresAt : undefined],
      ['good until', one.statementExpiresAt],
      ['proposal', one.proposalId],
      ['spec', one.specHash],
    ],
    paint,
  );
  const given = one.given.map(({ by, at, comment }) => {
    return `  ${at}  approved by ${by}${comment === undefined ? '' : `: ${comment}`}\n`;
  });
  const manifest = one.manifest === undefined ? '' : `\n${one.manifest}`;
  return `${head}${printable(`${given.length === 0 ? '' : `\n${given.join('')}`}${manifest}`)}`;
}

/** Of an act: what became of it. */
export function outcomeText(one: ShownApproval): string {
  const lacks = missingText(one);
  const waits = one.state === 'pending' && lacks !== '' ? `, lacks ${lacks}` : '';
  return printable(`${one.intentId}: ${whatText(one)} is ${one.state}${waits}\n`);
}

function whatText({ action, template, namespace, name, chartVersion }: ShownApproval): string {
  const version = chartVersion === undefined ? '' : ` ${chartVersion}`;
  return `${template ?? action} ${namespace}/${name}${version}`;
}

function missingText({ state, missing: { count, roles } }: ShownApproval): string {
  if (state !== 'pending') return '';
  const people = count === 0 ? [] : [`${count} ${count === 1 ? 'approval' : 'approvals'}`];
  return [...people, ...Object.entries(roles).map(([role, wanted]) => `${wanted} of role ${role}`)].join(', ');
}
