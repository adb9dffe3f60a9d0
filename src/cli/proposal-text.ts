import { styleText } from 'node:util';
import { toneOf, type Paint } from './colours.ts';
import { printable } from './git-views.ts';
import { factsText, type Column } from './output.ts';

/** A proposal as the admin API shows it, as far as it is printed. */
export interface ListedProposal {
  readonly id: string;
  readonly clusterSlug: string;
  readonly intentId: string;
  readonly repository: string;
  readonly hostUrl?: string;
  readonly branch: string;
  readonly title: string;
  readonly state: string;
  readonly revision: number;
  readonly author: string;
  readonly mergedCommit?: string;
  readonly blobs: readonly { readonly path: string; readonly before?: string; readonly after?: string }[];
  readonly approvals: {
    readonly required: { readonly count: number };
    readonly given: readonly string[];
    readonly missing: { readonly count: number; readonly roles: Readonly<Record<string, number>> };
  };
  readonly reviews: readonly {
    readonly kind: string;
    readonly actor: string;
    readonly comment?: string;
    readonly revision: number;
    readonly at: string;
    readonly droppedAt?: string;
  }[];
  readonly createdAt: string;
  readonly closeReason?: string;
}

export interface ShownDiff {
  readonly files: readonly {
    readonly path: string;
    readonly status: string;
    readonly patch: string;
    readonly truncated?: true;
  }[];
}

export const PROPOSAL_COLUMNS: readonly Column<ListedProposal>[] = [
  { header: 'ID', value: ({ id }) => id },
  { header: 'CLUSTER', value: ({ clusterSlug }) => clusterSlug },
  { header: 'STATE', value: ({ state }) => state, tone: ({ state }) => toneOf(state) },
  { header: 'REV', value: ({ revision }) => revision },
  { header: 'APPROVALS', value: ({ approvals: { given, required } }) => `${given.length}/${required.count}` },
  { header: 'AUTHOR', value: ({ author }) => author },
  { header: 'CREATED', value: ({ createdAt }) => createdAt, isWide: true },
  { header: 'INTENT', value: ({ intentId }) => intentId, isWide: true },
  { header: 'REPOSITORY', value: ({ repository }) => repository, isWide: true },
  { header: 'TITLE', value: ({ title }) => title },
];

export function proposalText(proposal: ListedProposal, { paint }: { readonly paint?: Paint } = {}): string {
  const { given, required, missing } = proposal.approvals;
  const roles = Object.entries(missing.roles).map(([role, count]) => `${count} of role ${role}`);
  const missingText = [...(missing.count === 0 ? [] : [String(missing.count)]), ...roles].join(', ');
  const { state, closeReason } = proposal;
  const head = factsText(
    [
      ['title', proposal.title],
      ['state', closeReason === undefined ? state : `${state}: ${closeReason}`, toneOf(state)],
      ['revision', proposal.revision],
      ['cluster', proposal.clusterSlug],
      ['author', proposal.author],
      ['intent', proposal.intentId],
      ['approvals', `${given.length} of ${required.count}${given.length === 0 ? '' : ` (${given.join(', ')})`}`],
      ['missing', missingText === '' ? undefined : missingText],
      ['branch', `${proposal.branch} of ${proposal.repository}`],
      ['request', proposal.hostUrl],
      ['merged as', proposal.mergedCommit],
    ],
    paint,
  );
  const files = proposal.blobs.map(({ path, before, after }) => {
    return `  ${before === undefined ? 'adds   ' : after === undefined ? 'deletes' : 'changes'} ${path}\n`;
  });
  const reviews = proposal.reviews.map(({ at, actor, kind, comment, revision, droppedAt }) => {
    const counts = droppedAt === undefined ? '' : ', which no longer counts';
    return `  ${at} ${actor}: ${kind} of revision ${revision}${counts}${comment === undefined ? '' : `: ${comment}`}\n`;
  });
  return `${head}${printable([...files, ...reviews].join(''))}`;
}

/** @param colours for a terminal, which gets nothing to act on; what a program reads is as it is */
export function diffText({ files }: ShownDiff, colours: boolean): string {
  const paint = (raw: string): string => {
    const line = printable(raw);
    const format = line.startsWith('@@')
      ? 'cyan'
      : line.startsWith('+')
        ? 'green'
        : line.startsWith('-')
          ? 'red'
          : undefined;
    return format === undefined ? line : styleText(format, line, { validateStream: false });
  };
  return files
    .map(({ path, status, patch, truncated }) => {
      const head = `diff --git a/${path} b/${path}\n`;
      const mode =
        status === 'added' ? 'new file mode 100644\n' : status === 'deleted' ? 'deleted file mode 100644\n' : '';
      const body = colours ? patch.split('\n').map(paint).join('\n') : patch;
      return `${head}${mode}${body}${truncated === true ? '# the rest of this file is not shown\n' : ''}`;
    })
    .join('');
}
