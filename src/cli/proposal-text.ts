import { styleText } from 'node:util';
import { printable } from './git-views.ts';
import { textTable } from './text-table.ts';

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

export function proposalTable(items: readonly ListedProposal[]): string {
  const table = textTable([
    ['ID', 'CLUSTER', 'STATE', 'REV', 'APPROVALS', 'AUTHOR', 'TITLE'],
    ...items.map(({ id, clusterSlug, state, revision, approvals, author, title }) => [
      id,
      clusterSlug,
      state,
      String(revision),
      `${approvals.given.length}/${approvals.required.count}`,
      author,
      title,
    ]),
  ]);
  return printable(table);
}

export function proposalText(proposal: ListedProposal): string {
  const { given, required, missing } = proposal.approvals;
  const roles = Object.entries(missing.roles).map(([role, count]) => `${count} of role ${role}`);
  const missingText = [...(missing.count === 0 ? [] : [String(missing.count)]), ...roles].join(', ');
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['title', proposal.title],
    ['state', proposal.closeReason === undefined ? proposal.state : `${proposal.state}: ${proposal.closeReason}`],
    ['revision', String(proposal.revision)],
    ['cluster', proposal.clusterSlug],
    ['author', proposal.author],
    ['intent', proposal.intentId],
    ['approvals', `${given.length} of ${required.count}${given.length === 0 ? '' : ` (${given.join(', ')})`}`],
    ['missing', missingText === '' ? undefined : missingText],
    ['branch', `${proposal.branch} of ${proposal.repository}`],
    ['request', proposal.hostUrl],
    ['merged as', proposal.mergedCommit],
  ];
  const head = lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)} ${value}\n`]));
  const files = proposal.blobs.map(({ path, before, after }) => {
    return `  ${before === undefined ? 'adds   ' : after === undefined ? 'deletes' : 'changes'} ${path}\n`;
  });
  const reviews = proposal.reviews.map(({ at, actor, kind, comment, revision, droppedAt }) => {
    const counts = droppedAt === undefined ? '' : ', which no longer counts';
    return `  ${at} ${actor}: ${kind} of revision ${revision}${counts}${comment === undefined ? '' : `: ${comment}`}\n`;
  });
  return printable([...head, ...files, ...reviews].join(''));
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
