import type { ProposalText } from './proposal-host.ts';

/** What a pull or merge request says of a proposal. Nothing of it is secret: the branch shows the same. */
export interface RequestSubject {
  /** Subject of its commit. */
  readonly title: string;
  readonly reason: string | undefined;
  readonly intentId: string;
  readonly author: string;
  readonly cluster: string;
  /** Counts how often it was rendered. */
  readonly revision: number;
  /** The proposal on our own page. */
  readonly pageUrl: string;
}

const MAX_TITLE = 240;
const MAX_NAME = 200;
const MAX_LINES = 200;
const MAX_REASON = 20_000;

export function requestText(subject: RequestSubject): ProposalText {
  const { reason, intentId, author, cluster, revision, pageUrl } = subject;
  const lines = [
    `Asked for by ${codeSpan(author)} for the cluster ${codeSpan(cluster)}, intent ${codeSpan(intentId)}, rendered ${revision === 1 ? 'once' : `${revision} times`}.`,
    '',
    ...(reason === undefined || reason.trim() === '' ? [] : ['The reason that was given:', '', quoted(reason), '']),
    `[Diff, approvals and history](${pageUrl})`,
    '',
    'Merge it as it is: by a merge commit, squashed or rebased. A file that is changed here is not what was asked for, and the intent then ends as failed.',
  ];
  return { title: titleOf(subject), body: lines.join('\n') };
}

/** A comment of one sentence of ours and, where there are, words of a person. */
export function noteText(sentence: string, words?: string): string {
  return words === undefined || words.trim() === '' ? sentence : `${sentence}\n\n${quoted(words)}`;
}

/**
 * One line that neither mentions nor closes anything (hosts read titles, and a squashed commit takes it as its subject) and
 * that no host takes for a draft (`Draft:`, `WIP:` in GitLab and Gitea): a cluster may be called so.
 */
function titleOf({ title }: Pick<RequestSubject, 'title'>): string {
  const line = title.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const named = /^\W*(draft|wip)\b/i.test(line) ? `cluster ${line}` : line;
  // A space of no width after a sign that hosts read as a reference.
  return named.replace(/([@#!&$%~])(?=[\w"{])/g, '$1\u200b').slice(0, MAX_TITLE);
}

/** A name in a code span, in which no host looks for mentions and references. */
export function codeSpan(text: string): string {
  const plain = text.replace(/[`\s\p{Cc}]+/gu, ' ').trim();
  return `\`${plain === '' ? '?' : plain.slice(0, MAX_NAME)}\``;
}

/**
 * A person's text as a block of code, in which no host looks for mentions, references, closing words or pictures. Each line
 * begins with a bar, so that none can end the block, and none begins with the `/` that GitLab takes for a command.
 */
function quoted(text: string): string {
  const lines = text
    .slice(0, MAX_REASON)
    .replace(/\r\n?/g, '\n')
    .replace(/(?!\n)\p{Cc}/gu, ' ')
    .trimEnd()
    .split('\n');
  const shown = lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), '…'] : lines;
  return ['```text', ...shown.map((line) => `| ${line}`), '```'].join('\n');
}
